"""Connections to the ledger by SQLAlchemy and psycopg.

Errors of these two libraries become `LedgerUnavailable` or `ConfigurationError`.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

import psycopg
from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from tamis_schemas import ConfigurationError, InvalidParameters
from tamis_schemas.ledger.driver_outages import READ_ONLY
from tamis_schemas.ledger.outages import interruption, outage, unusable
from tamis_schemas.ledger.pooler import Address, address, session, set_in_transactions
from tamis_schemas.values.unstorable import UNSTORABLE

from .direct import no_tables
from .pool_kinds import CLIENT, ISO_TIMES, NOTICE_A_LOST_NETWORK, PoolKind

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine


def connect(database_url: str, kind: PoolKind = CLIENT) -> Engine:
    """Return an engine for the ledger, which connects on first use. Raises `ConfigurationError` if the URL is invalid.

    Timeouts in the URL's `options` override the defaults of `kind`.
    """
    with _readable():
        server = address(database_url)
        engine = create_engine(server.url, hide_parameters=True, pool_pre_ping=True, **_usual(server, kind))
    _listen(engine)
    set_in_transactions(engine, server, kind.limits)
    return engine


def connect_on_loop(database_url: str, kind: PoolKind = CLIENT) -> "AsyncEngine":
    """Return an engine for one event loop. Raises `ConfigurationError` if the URL is invalid."""
    from sqlalchemy.ext.asyncio import create_async_engine  # so that programs without an event loop need not import it

    with _readable():
        server = address(database_url)
        engine = create_async_engine(server.url, hide_parameters=True, pool_pre_ping=True, **_usual(server, kind))
    _listen(engine.sync_engine)
    set_in_transactions(engine.sync_engine, server, kind.limits)
    return engine


def connect_without_transactions(database_url: str, kind: PoolKind) -> "AsyncEngine":
    """Return an engine for one event loop. Each statement is a transaction: one round trip instead of four.

    Such an engine notices a lost connection only when a statement fails.
    """
    from sqlalchemy.ext.asyncio import create_async_engine

    with _readable():
        place = address(database_url)
        arguments = _usual(place, kind)
        engine = create_async_engine(place.url, hide_parameters=True, isolation_level="AUTOCOMMIT", **arguments)
    _listen(engine.sync_engine)
    return engine


@asynccontextmanager
async def connected(engine: "AsyncEngine") -> "AsyncIterator[AsyncConnection]":
    """Yield a connection, and close it in the caller's task.

    `async with engine.connect()` would close it in another task. If the event loop ended before that task began, the
    connection would never be closed.
    """
    connection = await engine.connect()
    try:
        yield connection
    finally:
        await connection.close()


def _usual(server: Address, kind: PoolKind) -> dict[str, Any]:
    """Return the arguments of `create_engine` that all engines have in common."""
    driver = session(server, kind.limits)
    if "options" in driver:
        driver["options"] = f"{driver['options']} {_options(server.url)}".rstrip()
    if _several_hosts(server.url) and "target_session_attrs" not in server.url.query:
        driver["target_session_attrs"] = "read-write"  # the primary among them
    return {
        "pool_size": kind.kept,
        "max_overflow": kind.most - kind.kept,
        "connect_args": {**NOTICE_A_LOST_NETWORK, "fallback_application_name": kind.name, **driver},
    }


def _several_hosts(url: URL) -> bool:
    hosts = url.query.get("host", ())
    return "," in (hosts if isinstance(hosts, str) else ",".join(hosts)) or "," in (url.host or "")


def _listen(engine: Engine) -> None:
    """Prepare the connections of an engine.

    The connections read times in any date style. A connection ends if the server becomes read-only, because another
    server is then the primary. A text that Postgres cannot store raises `InvalidParameters`.
    """

    @event.listens_for(engine, "connect")
    def _read_times(connection: Any, _: object) -> None:
        driver = getattr(connection, "driver_connection", connection)  # psycopg's, under SQLAlchemy's for event loops
        if not driver.info.parameter_status("DateStyle").startswith("ISO"):
            cursor = connection.cursor()
            cursor.execute(ISO_TIMES)
            cursor.close()
            connection.commit()

    @event.listens_for(engine, "handle_error")
    def _is_disconnect(context: ExceptionContext) -> None:
        if getattr(context.original_exception, "sqlstate", None) == READ_ONLY:
            context.is_disconnect = True

    @event.listens_for(engine, "handle_error")
    def _is_unstorable(context: ExceptionContext) -> None:
        error, texts = context.original_exception, context.parameters
        if isinstance(error, psycopg.DataError | UnicodeEncodeError):
            rows = texts if isinstance(texts, list) else [texts]
            for text in chain.from_iterable(row.values() for row in rows if isinstance(row, dict)):
                if isinstance(text, str) and (UNSTORABLE.search(text) or "\\u0000" in text):
                    raise InvalidParameters(f"{text[:60]!r} has a character that the ledger cannot store") from error


def _options(url: URL) -> str:
    options = url.query.get("options", ())
    return options if isinstance(options, str) else " ".join(options)


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (ArgumentError, NoSuchModuleError) as error:
        raise ConfigurationError(
            "TAMIS_DATABASE_URL is invalid: it must look like postgresql+psycopg://user:password@host:5432/tamis"
        ) from error


@contextmanager
def single_connection(database_url: str, kind: PoolKind = CLIENT) -> Iterator[Connection]:
    """Yield one connection to the ledger, and close its pool afterwards.

    Raises `LedgerUnavailable`, and `ConfigurationError` if the URL is invalid or the ledger has no tables.
    """
    engine = connect(database_url, kind)
    try:
        with ledger_errors(), engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def ledger_errors() -> Iterator[None]:
    """Turn database errors into `LedgerUnavailable` or `ConfigurationError`, without statements or passwords."""
    handled = sys.exception()
    try:
        yield
    except (SQLAlchemyError, psycopg.Error, OSError) as error:
        if (stopped := interruption(error, handled)) is not None:
            raise stopped from None
        if (mapped := outage(error) or unusable(error)) is not None:
            raise mapped from error
        if isinstance(error, DBAPIError) and (missing := no_tables(error.orig)) is not None:
            raise missing from error
        raise
