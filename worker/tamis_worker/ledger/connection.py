"""The worker's connections to Postgres, with translated errors.

The module also makes a model's texts storable in Postgres, and describes why Postgres refused a statement.
"""

import asyncio
import logging
import os
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import psycopg
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tamis_producer.ledger.connection import connect_on_loop, connect_without_transactions
from tamis_producer.ledger.pool_kinds import PoolKind
from tamis_schemas import LedgerUnavailable
from tamis_schemas.ledger.outages import outage
from tamis_schemas.values.unstorable import UNSTORABLE

GIVE_UP_AFTER = 40.0  # s for a transaction; a server that has not even ended its statement by then is unreachable
# A process that is stopped during a transaction (SIGSTOP, a sleeping machine) keeps its locks, such as the lock for
# repairs. Postgres ends the transaction after this time, before a lease of the usual length expires.
IDLE_WITHIN = 10  # s between two statements of a transaction
# Six connections: claims, results, heartbeat, aggregates, reconciler, one spare. A slower statement means trouble in
# the server; waiting does not help.
WORKER = PoolKind("tamis worker", statement_within=30, idle_within=IDLE_WITHIN, kept=6, most=8)

# SQL states of missing tables, columns or databases. The schema was complete when the worker began, so an operator is
# restoring a dump.
RESTORING = frozenset({"3D000", "3F000", "42703", "42883", "42P01", "42P10", "55000", "57P04"})

log = logging.getLogger(__name__)

_WORDS = re.compile(r"(?<!^)(?=[A-Z])")


def connect(database_url: str, *, single_statements: bool = False) -> AsyncEngine:
    """Return an engine for the worker's event loop. The engine connects on first use.

    If `single_statements` is True, every statement is its own transaction.
    """
    if single_statements:
        return connect_without_transactions(database_url, replace(WORKER, most=WORKER.kept))
    return connect_on_loop(database_url, WORKER)


@dataclass(frozen=True)
class LedgerEngines:
    """A worker's two pools of connections to the ledger. The pools connect on first use."""

    transactions: AsyncEngine
    statements: AsyncEngine  # each statement is its own transaction

    @classmethod
    def of(cls, database_url: str) -> Self:
        """Return the pools for a worker's event loop."""
        return cls(connect(database_url), connect(database_url, single_statements=True))

    async def dispose(self) -> None:
        """Close the connections."""
        await self.transactions.dispose()
        await self.statements.dispose()


@asynccontextmanager
async def transaction(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Run one transaction. Raise `LedgerUnavailable` if Postgres does not answer.

    The transaction may be committed nevertheless. `tamis_schemas.ledger.outages` lists the errors that become
    `LedgerUnavailable`.
    """
    try:
        async with engine.begin() as connection:
            given_up = asyncio.get_running_loop().call_later(GIVE_UP_AFTER, _hang_up, connection)
            try:
                yield connection
            finally:
                given_up.cancel()
    except (SQLAlchemyError, psycopg.Error, OSError) as error:
        if (away := outage(error) or _restoring(error)) is None:
            raise
        raise away from error


def _restoring(error: BaseException) -> LedgerUnavailable | None:
    """Return `LedgerUnavailable` if the ledger is incomplete, for example while a dump is restored; otherwise None."""
    driver = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(driver, psycopg.Error) or driver.sqlstate not in RESTORING:
        return None
    return LedgerUnavailable(f"the ledger is incomplete: {refusal_words(error)}. Is a dump being restored?")


def _hang_up(connection: AsyncConnection) -> None:
    """End the connection to a silent server, so that the driver notices and stops waiting.

    Cancelling the driver's statement would not help: the driver would still wait for the silent server.
    """
    driver = connection.sync_connection.connection.driver_connection if connection.sync_connection else None
    if driver is None or driver.closed:
        return
    log.debug("a connection to Postgres is closed: no answer for %.0f s", GIVE_UP_AFTER)
    with socket.socket(fileno=os.dup(driver.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)


def storable(value: Any) -> Any:
    """Return a JSON value in which U+FFFD replaces each NUL and each half of a surrogate pair."""
    match value:
        case str():
            return value if _can_be_stored(value) else UNSTORABLE.sub("\ufffd", value)
        case dict():
            return {storable(name): storable(part) for name, part in value.items()}
        case list():
            return [storable(part) for part in value]
    return value


def refusal_words(error: BaseException) -> str:
    """Return why Postgres refused a statement, in a few words, such as `numeric value out of range`.

    The words come from the type of the error. Postgres's own message may quote data, such as the text of an answer.
    """
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    name = type(cause).__name__
    return _WORDS.sub(" ", name).lower() if isinstance(cause, psycopg.Error) else name


def _can_be_stored(text: str) -> bool:
    """Return True if Postgres can store a text. A pattern search would take eight times as long."""
    if "\0" in text:
        return False
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True
