"""The seam to SQLAlchemy on the worker: an asynchronous engine, and its errors translated."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from tamis_schemas import LedgerUnavailable

CONNECTIONS = 6  # claims, results, heartbeat, aggregates, reconciler, one spare
ANSWER_WITHIN = 30  # s; a statement that takes longer is the server's trouble, not ours to wait for


def connect(database_url: str, *, single_statements: bool = False) -> AsyncEngine:
    """An engine for the worker's loop; connects on first use.

    With `single_statements` every statement is a transaction of its own, in one round trip instead of four; a
    connection that was lost is noticed by the first statement over it, which raises `LedgerUnavailable`.
    """
    if single_statements:
        return create_async_engine(
            database_url,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=ANSWER_WITHIN,
            isolation_level="AUTOCOMMIT",
            connect_args={"connect_timeout": 5, "options": f"-c statement_timeout={ANSWER_WITHIN}s"},
        )
    return create_async_engine(
        database_url,
        pool_size=CONNECTIONS,
        max_overflow=2,
        pool_timeout=ANSWER_WITHIN,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 5, "options": f"-c statement_timeout={ANSWER_WITHIN}s"},
    )


@asynccontextmanager
async def transaction(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """One transaction. Raises `LedgerUnavailable` where Postgres is away; the transaction may then have happened."""
    try:
        async with engine.begin() as connection:
            yield connection
    except (OperationalError, InterfaceError, PoolTimeout, OSError) as error:
        raise LedgerUnavailable(_reason(error)) from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise LedgerUnavailable("the connection was lost") from error
        raise


def _reason(error: BaseException) -> str:
    cause = getattr(error, "orig", None) or error
    return next(iter(str(cause).strip().splitlines()), type(cause).__name__)
