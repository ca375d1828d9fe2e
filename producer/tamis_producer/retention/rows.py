"""Rows of an archive: every value as Postgres writes it, so that nothing is lost between two ledgers."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, TypeAlias

from psycopg import sql
from sqlalchemy import Boolean, Column, Connection, Float, Integer, Text, cast, func, select

from .holdings import Holding

Value: TypeAlias = int | bool | float | str | None
Row: TypeAlias = tuple[Value, ...]

PORTION = 2_000  # rows that are fetched, or written by one COPY, at once


def archived_columns(holding: Holding) -> list[Column[Any]]:
    """The columns that are kept; numbers which a ledger gives by itself are given anew, in the same order."""
    return [column for column in holding.table.c if column.identity is None]


def read_rows(connection: Connection, holding: Holding) -> Iterator[Row]:
    """The rows of a table that belong to somebody, in the order of its primary key; JSON as the text that it is."""
    columns = archived_columns(holding)
    statement = (
        select(*(cast(column, Text) for column in columns))
        .where(holding.condition)
        .order_by(*holding.table.primary_key.columns)
        .execution_options(yield_per=PORTION)
    )
    with closing(connection.execute(statement)) as rows:
        for row in rows:
            yield tuple(_value(column, text) for column, text in zip(columns, row, strict=True))


def write_rows(connection: Connection, table: str, columns: Sequence[str], rows: Iterator[Row]) -> None:
    """Add rows to a table, in portions: triggers see one portion at a time."""
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101 - an open SQLAlchemy connection has one
    while portion := list(islice(rows, PORTION)):  # read first: whoever gives a row may ask this connection too
        with driver.cursor() as cursor, cursor.copy(_copy_into(table, columns)) as copy:
            for row in portion:
                copy.write_row([_text(value) for value in row])


def in_one_notation(connection: Connection) -> None:
    """Have times and numbers written in one way, and a long transaction not ended, to the end of this transaction."""
    settings = {
        "TimeZone": "UTC",
        "DateStyle": "ISO",
        "extra_float_digits": "1",
        "statement_timeout": "0",
        "idle_in_transaction_session_timeout": "0",
    }
    connection.execute(select(*(func.set_config(name, value, True) for name, value in settings.items())))


def _value(column: Column[Any], text: str | None) -> Value:
    if text is None:
        return None
    match column.type:
        case Boolean():
            return text == "true"
        case Integer():
            return int(text)
        case Float():
            return float(text)
        case _:
            return text


def _text(value: Value) -> str | None:
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case _:
            return repr(value)


def _copy_into(table: str, columns: Sequence[str]) -> sql.Composed:
    names = sql.SQL(", ").join(sql.Identifier(column) for column in columns)
    return sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
