"""Copies that people named: records that left the screening because a person calls them copies of another record."""

from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, func, select

from tamis_schemas import ItemStatus
from tamis_schemas.ledger import batches, copy_decisions, exclusions, items


def copies_of(batch_id: UUID) -> Select[tuple[int]]:
    """Return the query for the places of a batch's records that people call copies."""
    return select(exclusions.c.idx).where(exclusions.c.batch_id == batch_id, exclusions.c.copy_of.is_not(None))


def needs_no_reading(batch_id: UUID) -> ColumnElement[bool]:
    """Return the SQL condition that an item was excluded before screening, or that people call the item a copy."""
    return (items.c.state == ItemStatus.EXCLUDED_BY_FILTER.value) | items.c.idx.in_(copies_of(batch_id))


def read_copies(connection: Connection, batch_id: UUID) -> dict[int, str]:
    """Return the reason, in a sentence, for each record that people call a copy, by the record's place."""
    reason = exclusions.c.exclusion.op("->>")("reason")
    return {row[0]: row[1] for row in connection.execute(copies_of(batch_id).add_columns(reason))}


def stages_of(batch_id: UUID) -> Select[tuple[UUID]]:
    """Return the query for the ids of a batch and of the other stages of its review."""
    review = select(batches.c.review_id).where(batches.c.id == batch_id).scalar_subquery()
    return select(batches.c.id).where((batches.c.id == batch_id) | (batches.c.review_id == review))


def last_verdict(batch_id: UUID) -> Select[tuple[int]]:
    """Return the query for a number that grows when people decide about copies in any stage of a batch's review."""
    last = select(func.coalesce(func.max(copy_decisions.c.id), 0))
    return last.where(copy_decisions.c.batch_id.in_(stages_of(batch_id)))
