"""The seam to SQLAlchemy and psycopg on this floor.

What they raise comes out as `LedgerUnavailable` or `ConfigurationError`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import psycopg
from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from tamis_schemas import (
    ConfigurationError,
)
from tamis_schemas.ledger.outages import outage, unusable
from tamis_schemas.ledger.pooler import address, session, set_in_transactions

UNDEFINED_TABLE = "42P01"
# A server whose machine or network is gone says nothing: without these, a statement waits for hours. (ms and s)
NOTICE_A_LOST_NETWORK: Mapping[str, Any] = MappingProxyType(
    {
        "connect_timeout": 5,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 4,
        "tcp_user_timeout": 30_000,
    }
)


def connect(database_url: str, *, idle_within: int | None = None) -> Engine:
    """An engine for the ledger; connects on first use. Raises `ConfigurationError` where the URL is none.

    `idle_within`: seconds between two statements of a transaction, after which the server ends it, so that a process
    that is stopped in the middle of one does not keep its locks. None: no bound, for readers take their time.
    """
    settings = {} if idle_within is None else {"idle_in_transaction_session_timeout": f"{idle_within}s"}
    try:
        where = address(database_url)
        engine = create_engine(
            where.url,
            hide_parameters=True,  # records and answers, in the messages of errors
            pool_pre_ping=True,
            connect_args={**NOTICE_A_LOST_NETWORK, **session(where, settings)},
        )
    except (ArgumentError, NoSuchModuleError) as error:
        raise ConfigurationError(
            "TAMIS_DATABASE_URL cannot be used: it looks like postgresql+psycopg://user:password@host:5432/tamis"
        ) from error
    set_in_transactions(engine, where, settings)
    return engine


@contextmanager
def ledger_errors() -> Iterator[None]:
    """The seam: database errors become Tamis's own, without statements or passwords in them."""
    try:
        yield
    except (SQLAlchemyError, psycopg.Error, OSError) as error:
        if (away := outage(error)) is not None:
            raise away from error
        if (wrong := unusable(error)) is not None:
            raise wrong from error
        if isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) == UNDEFINED_TABLE:
            raise ConfigurationError("the ledger has no tables yet: run `tamis migrate`") from error
        raise
