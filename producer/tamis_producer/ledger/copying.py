"""COPY into the ledger, over the connection of a thread or that of an event loop."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import psycopg
from sqlalchemy import Connection
from sqlalchemy.util import await_


class Copy(Protocol):
    """A COPY under way."""

    def write_row(self, row: Sequence[Any], /) -> None:
        """One row, its values in the order of the columns."""


class _AwaitedCopy:
    def __init__(self, copy: psycopg.AsyncCopy) -> None:
        self._copy = copy

    def write_row(self, row: Sequence[Any], /) -> None:
        await_(self._copy.write_row(row))


@contextmanager
def copying(connection: Connection, statement: str) -> Iterator[Copy]:
    """A COPY ... FROM STDIN in the connection's transaction; an exception inside takes all of it back."""
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101 - an open SQLAlchemy connection has one
    cursor = driver.cursor()
    opened = cursor.copy(statement)
    if isinstance(driver, psycopg.Connection):
        with cursor, opened as copy:
            yield copy
        return
    copy = await_(opened.__aenter__())
    try:
        yield _AwaitedCopy(copy)
    except BaseException as error:
        await_(opened.__aexit__(type(error), error, error.__traceback__))
        raise
    await_(opened.__aexit__(None, None, None))
    await_(cursor.close())
