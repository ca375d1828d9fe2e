"""API keys of the HTTP gateway: made once, shown once, kept as a hash.

A key is `tamis_<id>_<secret>`. The secret has 256 random bits, so one SHA-256 of it is as hard to turn back as it is to
guess; a slow hash is for words that people choose.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from string import hexdigits

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Engine, Row, insert, select, update
from sqlalchemy import func as sql

from tamis_schemas import InvalidParameters, InvalidRequest
from tamis_schemas.ledger import api_keys

from .ledger import ledger_errors

PREFIX = "tamis"
ID_BYTES = 6
SECRET_BYTES = 32
LONGEST_LABEL = 100


class Scope(StrEnum):
    """What a key allows."""

    READ = "read"  # batches, results, decisions
    SUBMIT = "submit"  # new batches: they cost money
    CONTROL = "control"  # pause, resume, cancel, retry
    DECIDE = "decide"  # to override decisions


class ApiKey(BaseModel):
    """A key as it is known afterwards: without its secret."""

    model_config = ConfigDict(frozen=True)

    id: str
    label: str  # whose it is
    scopes: frozenset[Scope]
    created_at: datetime
    revoked_at: datetime | None = None


def create(engine: Engine, label: str, scopes: Collection[Scope]) -> str:
    """A new key, whole; it cannot be read again. Raises `InvalidParameters` for a label that is none."""
    label = label.strip()
    if not 0 < len(label) <= LONGEST_LABEL or not label.isprintable():
        raise InvalidParameters(f"a key's label says whose it is, in 1 to {LONGEST_LABEL} printable characters")
    if not scopes:
        raise InvalidParameters(f"a key without a scope opens nothing: {', '.join(Scope)}")
    key_id, secret = secrets.token_hex(ID_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    row = {"id": key_id, "secret_sha256": _hashed(secret), "label": label, "scopes": sorted({*scopes})}
    with ledger_errors(), engine.begin() as connection:
        connection.execute(insert(api_keys).values(row))
    return f"{PREFIX}_{key_id}_{secret}"


def find(engine: Engine, key: str) -> ApiKey | None:
    """The key that this text is; None where it is none, or was revoked. Takes as long for one as for the other."""
    prefix, _, rest = key.partition("_")
    key_id, _, secret = rest.partition("_")
    if prefix != PREFIX or not secret or not set(key_id) <= set(hexdigits):
        return None
    with ledger_errors(), engine.connect() as connection:
        row = connection.execute(select(api_keys).where(api_keys.c.id == key_id)).one_or_none()
    known = row.secret_sha256 if row is not None else _hashed("")
    if not hmac.compare_digest(known, _hashed(secret)) or row is None or row.revoked_at is not None:
        return None
    return _key(row)


def read_all(engine: Engine) -> list[ApiKey]:
    """All keys that were ever made, the oldest first."""
    with ledger_errors(), engine.connect() as connection:
        return [_key(row) for row in connection.execute(select(api_keys).order_by(api_keys.c.created_at))]


def revoke(engine: Engine, key_id: str) -> None:
    """Let a key open nothing any more. Raises `InvalidRequest` where there is none with this id, or it was revoked."""
    dead = update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None)).values(revoked_at=sql.now())
    with ledger_errors(), engine.begin() as connection:
        if connection.execute(dead).rowcount == 0:
            raise InvalidRequest(f"no key {key_id!r} is valid: `tamis keys list` lists those that are")


def _key(row: Row[tuple[object, ...]]) -> ApiKey:
    return ApiKey.model_validate(row._asdict())


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
