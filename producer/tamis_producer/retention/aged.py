"""What is deleted by its age alone: rows that no batch needs any more. One entry a table."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Column, ColumnElement, Connection, Engine, Table, delete, func, select, tuple_

from tamis_schemas.ledger import llm_cache

from ..ledger import ledger_errors

SLICE = 2_000  # rows


@dataclass(frozen=True)
class Aged:
    """A table whose rows may go when they are old."""

    table: Table
    condition: Callable[[timedelta], ColumnElement[bool]]  # which rows, by the age that is allowed
    order: Column[object]  # an indexed column: the oldest go first


ANSWERS = Aged(llm_cache, lambda age: llm_cache.c.created_at < func.now() - age, llm_cache.c.created_at)
AGED: tuple[Aged, ...] = (ANSWERS,)


def prune(connection: Connection, aged: Aged, age: timedelta, *, rows: int = SLICE) -> int:
    """Delete some of the rows that are older, and say how many; none: there are no more."""
    key = [*aged.table.primary_key.columns]
    old = select(*key).where(aged.condition(age)).order_by(aged.order).limit(rows).with_for_update(skip_locked=True)
    return connection.execute(delete(aged.table).where(tuple_(*key).in_(old))).rowcount


def prune_all(engine: Engine, aged: Aged, age: timedelta) -> int:
    """Delete all rows that are older, in slices, and say how many. Raises `LedgerUnavailable`."""
    total = 0
    while True:
        with ledger_errors(), engine.begin() as connection:
            deleted = prune(connection, aged, age)
        if deleted == 0:
            return total
        total += deleted
