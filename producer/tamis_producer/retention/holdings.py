"""The tables with rows of a batch or a review.

The list of tables is derived from the ledger's schema, so new tables are included.
"""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, Table, select, tuple_

from tamis_schemas.ledger import batches, metadata, reviews

ARCHIVED = "archived"  # key in a table's `info`: False if its rows can be derived from other tables


@dataclass(frozen=True)
class Holding:
    """A table, and the condition for the rows of a batch or review."""

    table: Table
    condition: ColumnElement[bool]

    @property
    def archived(self) -> bool:
        """True if the table's rows are archived. False if restoring derives them from other tables."""
        return bool(self.table.info.get(ARCHIVED, True))


def holdings(batch_ids: Collection[UUID], review_id: UUID | None) -> list[Holding]:
    """Return every table with rows of these batches and this review, each before the tables that refer to it."""
    conditions = ((table, _condition(table, batch_ids, review_id)) for table in metadata.sorted_tables)
    return [Holding(table, condition) for table, condition in conditions if condition is not None]


def sliced_tables() -> list[Table]:
    """Return the tables whose rows are deleted slice by slice, each after the tables that refer to it.

    These tables have rows by batch and place. A table is omitted if a cascade deletes its rows.
    """
    by_item = [table for table in metadata.sorted_tables if {"batch_id", "idx"} <= set(table.c.keys())]
    return [table for table in reversed(by_item) if not _is_cascaded(table, by_item)]


def loose_tables() -> list[Table]:
    """Return the tables that have rows by batch, unless a cascade deletes their rows."""
    of_batch = [table for table in metadata.sorted_tables if "batch_id" in table.c]
    return [table for table in of_batch if not _is_cascaded(table, metadata.sorted_tables)]


def _condition(table: Table, batch_ids: Collection[UUID], review_id: UUID | None) -> ColumnElement[bool] | None:
    if table is reviews:
        return None if review_id is None else table.c.id == review_id
    if table is batches:
        return table.c.id.in_(batch_ids)
    if "batch_id" in table.c:
        return table.c.batch_id.in_(batch_ids)
    for key in table.foreign_key_constraints:  # of an audit, which belongs to a batch
        condition = _condition(key.referred_table, batch_ids, review_id)
        if condition is not None:
            referred = select(*(element.column for element in key.elements)).where(condition)
            columns = [*key.columns]
            return tuple_(*columns).in_(referred) if len(columns) > 1 else columns[0].in_(referred)
    return None


def _is_cascaded(table: Table, referred: Collection[Table]) -> bool:
    """Return whether deleting rows of the `referred` tables deletes the table's rows."""
    return any(key.ondelete == "CASCADE" and key.referred_table in referred for key in table.foreign_key_constraints)
