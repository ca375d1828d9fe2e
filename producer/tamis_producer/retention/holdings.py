"""The rows of a batch or a review, told from the ledger's own tables: a new one cannot be forgotten."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, ForeignKeyConstraint, Table, select, tuple_

from tamis_schemas.ledger import batches, metadata, reviews

ARCHIVED = "archived"  # in a table's `info`: False where its rows follow from those of other tables


@dataclass(frozen=True)
class Holding:
    """A table, and which of its rows belong to somebody."""

    table: Table
    condition: ColumnElement[bool]

    @property
    def archived(self) -> bool:
        """True where its rows are kept in an archive; those that follow from other rows come back with these."""
        return bool(self.table.info.get(ARCHIVED, True))


def holdings(batch_ids: Collection[UUID], review_id: UUID | None) -> list[Holding]:
    """Every table that can hold rows of these batches and of this review, each before those that refer to it."""
    conditions = ((table, _condition(table, batch_ids, review_id)) for table in metadata.sorted_tables)
    return [Holding(table, condition) for table, condition in conditions if condition is not None]


def sliced_tables() -> list[Table]:
    """The tables with a row or more an item, each after those that refer to it; what goes by cascade is not named."""
    by_item = [table for table in metadata.sorted_tables if {"batch_id", "idx"} <= set(table.c.keys())]
    return [table for table in reversed(by_item) if not any(_cascades(key) for key in _keys(table, by_item))]


def loose_tables() -> list[Table]:
    """The tables with a row or more a batch that do not go with the batch by cascade."""
    of_batch = [table for table in metadata.sorted_tables if "batch_id" in table.c]
    return [table for table in of_batch if not any(_cascades(key) for key in table.foreign_key_constraints)]


def _condition(table: Table, batch_ids: Collection[UUID], review_id: UUID | None) -> ColumnElement[bool] | None:
    if table is reviews:
        return None if review_id is None else table.c.id == review_id
    if table is batches:
        return table.c.id.in_(batch_ids)
    if "batch_id" in table.c:
        return table.c.batch_id.in_(batch_ids)
    for key in table.foreign_key_constraints:  # of an audit, which is of a batch
        condition = _condition(key.referred_table, batch_ids, review_id)
        if condition is not None:
            referred = select(*(element.column for element in key.elements)).where(condition)
            columns = [*key.columns]
            return tuple_(*columns).in_(referred) if len(columns) > 1 else columns[0].in_(referred)
    return None


def _keys(table: Table, referred: Collection[Table]) -> list[ForeignKeyConstraint]:
    return [key for key in table.foreign_key_constraints if key.referred_table in referred]


def _cascades(key: ForeignKeyConstraint) -> bool:
    return key.ondelete == "CASCADE"
