"""COPY: many rows into a table, through a connection of either colour."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any

from psycopg import AsyncConnection
from sqlalchemy import AdaptedConnection, Connection

from ..process.waiting import TURN


def copy_rows(connection: Connection, statement: str, rows: Iterable[Sequence[Any]]) -> None:
    """Write rows by a `COPY ... FROM STDIN`, in the connection's transaction.

    The connection may be that of an `AsyncConnection`, inside its `run_sync`.
    """
    opened = connection.connection
    if isinstance(opened.dbapi_connection, AdaptedConnection):
        opened.dbapi_connection.run_async(lambda driver: _copy_rows(driver, statement, rows))
        return
    driver = opened.driver_connection
    assert driver is not None  # noqa: S101 - an open SQLAlchemy connection has one
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


async def _copy_rows(driver: AsyncConnection[Any], statement: Any, rows: Iterable[Sequence[Any]]) -> None:
    async with driver.cursor() as cursor, cursor.copy(statement) as copy:
        until = time.perf_counter() + TURN
        for row in rows:
            await copy.write_row(row)  # which waits only where the server is slow
            if time.perf_counter() >= until:
                await asyncio.sleep(0)
                until = time.perf_counter() + TURN
