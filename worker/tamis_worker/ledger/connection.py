"""The seam to SQLAlchemy on the worker: an asynchronous engine, and its errors translated."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

import psycopg
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from tamis_producer.ledger import NOTICE_A_LOST_NETWORK
from tamis_schemas.ledger.outages import outage
from tamis_schemas.ledger.pooler import address, session, set_in_transactions

NAME = "tamis worker"  # in `pg_stat_activity`
CONNECTIONS = 6  # claims, results, heartbeat, aggregates, reconciler, one spare
ANSWER_WITHIN = 30  # s; a statement that takes longer is the server's trouble, not ours to wait for
GIVE_UP_AFTER = 40.0  # s for a transaction; a server that did not even end its statement by then is not there
# A process that is stopped as a whole in the middle of a transaction (SIGSTOP, a machine that sleeps) keeps its locks,
# the one of the sweep among them. It loses them before its lease is over, with the usual lease.
IDLE_WITHIN = 10  # s between two statements of a transaction
SETTINGS = {
    "statement_timeout": f"{ANSWER_WITHIN}s",
    "idle_in_transaction_session_timeout": f"{IDLE_WITHIN}s",
}

log = logging.getLogger(__name__)


def connect(database_url: str, *, single_statements: bool = False) -> AsyncEngine:
    """An engine for the worker's loop; connects on first use.

    With `single_statements` every statement is a transaction of its own, in one round trip instead of four; a
    connection that was lost is noticed by the first statement over it, which raises `LedgerUnavailable`.
    """
    where = address(database_url)
    if single_statements:
        return create_async_engine(
            where.url,
            hide_parameters=True,  # records and answers, in the messages of errors
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=ANSWER_WITHIN,
            isolation_level="AUTOCOMMIT",
            connect_args={**NOTICE_A_LOST_NETWORK, "fallback_application_name": NAME, **session(where, SETTINGS)},
        )
    engine = create_async_engine(
        where.url,
        hide_parameters=True,
        pool_size=CONNECTIONS,
        max_overflow=2,
        pool_timeout=ANSWER_WITHIN,
        pool_pre_ping=True,
        connect_args={**NOTICE_A_LOST_NETWORK, "fallback_application_name": NAME, **session(where, SETTINGS)},
    )
    set_in_transactions(engine.sync_engine, where, SETTINGS)
    return engine


@dataclass(frozen=True)
class LedgerEngines:
    """A worker's two pools of connections to the ledger; they connect on first use."""

    transactions: AsyncEngine
    statements: AsyncEngine  # of which each is a transaction of its own

    @classmethod
    def of(cls, database_url: str) -> Self:
        """The pools for a worker's loop."""
        return cls(connect(database_url), connect(database_url, single_statements=True))

    async def dispose(self) -> None:
        """Close the connections."""
        await self.transactions.dispose()
        await self.statements.dispose()


@asynccontextmanager
async def transaction(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """One transaction. Raises `LedgerUnavailable` where Postgres is away; the transaction may then have happened.

    What counts as being away stands in `tamis_schemas.ledger.outages`.
    """
    try:
        async with engine.begin() as connection:
            given_up = asyncio.get_running_loop().call_later(GIVE_UP_AFTER, _hang_up, connection)
            try:
                yield connection
            finally:
                given_up.cancel()
    except (SQLAlchemyError, psycopg.Error, OSError) as error:
        if (away := outage(error)) is None:
            raise
        raise away from error


def _hang_up(connection: AsyncConnection) -> None:
    """End a connection whose server is silent: the driver, which would wait for ever, sees that it is lost.

    To cancel the driver instead would be to wait for the same server.
    """
    driver = connection.sync_connection.connection.driver_connection if connection.sync_connection else None
    if driver is None or driver.closed:
        return
    log.debug("a connection to Postgres is given up: no answer for %.0f s", GIVE_UP_AFTER)
    with socket.socket(fileno=os.dup(driver.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)
