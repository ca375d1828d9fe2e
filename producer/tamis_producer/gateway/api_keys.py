"""API keys of the HTTP gateway. A key is shown once, and stored as a hash.

A key is `tamis_<id>_<secret>`. The secret has 256 random bits, so a plain SHA-256 protects it. Only passwords that
people choose need slow hashes.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from string import hexdigits
from typing import Any

from sqlalchemy import Engine, Row, and_, insert, null, select, update
from sqlalchemy import func as sql

from tamis_schemas import Callback, Cost, InvalidParameters, InvalidRequest
from tamis_schemas.ledger import api_keys
from tamis_schemas.values.frozen import Frozen

from ..ledger import ledger_errors
from ..submission.budget import amount_of

PREFIX = "tamis"
ID_BYTES = 6
SECRET_BYTES = 32
LONGEST_LABEL = 100
MOST_MODELS = 100


class Scope(StrEnum):
    """A permission of an API key."""

    READ = "read"  # batches, results, decisions
    SUBMIT = "submit"  # new batches, which cost money
    CONTROL = "control"  # pause, resume, cancel, retry
    DECIDE = "decide"  # overrides of decisions


class ApiKey(Frozen):
    """An API key, without its secret."""

    id: str
    label: str  # name of its holder
    scopes: frozenset[Scope]
    created_at: datetime
    revoked_at: datetime | None = None
    models: tuple[str, ...] | None = None  # models of its batches; None: any
    monthly_cost: Cost | None = None  # dollars for its batches in a calendar month (UTC); None: no limit
    callback: Callback | None = None  # for its batches that name none

    @property
    def restricted(self) -> bool:
        """True if the key's models or money are limited."""
        return self.models is not None or self.monthly_cost is not None


class Restrictions(Frozen):
    """The models and the money that a key's batches may use, and the key's callback.

    A field that is not set changes nothing.
    """

    models: tuple[str, ...] | None = None
    monthly_cost: Cost | None = None
    callback: Callback | None = None

    def columns(self) -> Mapping[str, Any]:
        """Return the fields that are set, as values of the ledger's columns. May raise `InvalidParameters`."""
        columns = {
            "models": null() if self.models is None else _models(self.models),
            "monthly_cost": None if self.monthly_cost is None else amount_of(self.monthly_cost, name="monthly_cost"),
            "callback": null() if self.callback is None else self.callback.model_dump(mode="json"),
        }
        return {name: columns[name] for name in self.model_fields_set}


def create(engine: Engine, label: str, scopes: Collection[Scope], restrictions: Restrictions | None = None) -> str:
    """Create an API key, and return its full text, which cannot be read again.

    Raises `InvalidParameters` for an invalid label or restriction, or without a scope.
    """
    label = label.strip()
    if not 0 < len(label) <= LONGEST_LABEL or not label.isprintable():
        raise InvalidParameters(f"a key's label must name its holder in 1 to {LONGEST_LABEL} printable characters")
    if not scopes:
        raise InvalidParameters(f"a key needs a scope: {', '.join(Scope)}")
    key_id, secret = secrets.token_hex(ID_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    row = {"id": key_id, "secret_sha256": _hashed(secret), "label": label, "scopes": sorted({*scopes})}
    row |= (restrictions or Restrictions()).columns()
    with ledger_errors(), engine.begin() as connection:
        connection.execute(insert(api_keys).values(row))
    return f"{PREFIX}_{key_id}_{secret}"


def find(engine: Engine, key: str) -> ApiKey | None:
    """Return the API key whose full text is `key`; None if the key is invalid or revoked.

    A look-up of a wrong id takes as long as a look-up of a wrong secret.
    """
    prefix, _, rest = key.partition("_")
    key_id, _, secret = rest.partition("_")
    if prefix != PREFIX or not secret or not set(key_id) <= set(hexdigits):
        return None
    with ledger_errors(), engine.connect() as connection:
        row = connection.execute(select(api_keys).where(api_keys.c.id == key_id)).one_or_none()
    digest = row.secret_sha256 if row is not None else _hashed("")
    if not hmac.compare_digest(digest, _hashed(secret)) or row is None or row.revoked_at is not None:
        return None
    return _key(row)


def read_all(engine: Engine) -> list[ApiKey]:
    """Return all keys, revoked ones included, oldest first."""
    with ledger_errors(), engine.connect() as connection:
        return [_key(row) for row in connection.execute(select(api_keys).order_by(api_keys.c.created_at))]


def change(engine: Engine, key_id: str, restrictions: Restrictions) -> ApiKey:
    """Change a key's restrictions for later submissions, and return the key.

    Raises `InvalidRequest` if no valid key has this id, and `InvalidParameters` for an invalid restriction.
    """
    columns = restrictions.columns()
    if not columns:
        raise InvalidParameters("name a restriction to change")
    return _updated(engine, key_id, columns)


def revoke(engine: Engine, key_id: str) -> None:
    """Revoke a key. Raises `InvalidRequest` if no key has this id, or if the key is already revoked."""
    _updated(engine, key_id, {"revoked_at": sql.now()})


def _updated(engine: Engine, key_id: str, columns: Mapping[str, Any]) -> ApiKey:
    """Change the row of a valid key, and return the key. Raises `InvalidRequest` if no valid key has this id."""
    alive = and_(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
    with ledger_errors(), engine.begin() as connection:
        row = connection.execute(update(api_keys).where(alive).values(columns).returning(api_keys)).one_or_none()
    if row is None:
        raise InvalidRequest(f"there is no valid key {key_id!r}: `tamis keys list` lists the keys")
    return _key(row)


def _models(names: Collection[str]) -> list[str]:
    """Return the names without repetitions. Raises `InvalidParameters` for an invalid or empty list."""
    models = list(dict.fromkeys(name.strip() for name in names))
    if not 0 < len(models) <= MOST_MODELS or not all(name and name.isprintable() for name in models):
        raise InvalidParameters(f"models: 1 to {MOST_MODELS} names, each of printable characters")
    return models


def _key(row: Row[tuple[object, ...]]) -> ApiKey:
    return ApiKey.model_validate(row._asdict())


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
