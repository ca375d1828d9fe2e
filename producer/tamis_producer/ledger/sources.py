"""Sources in the ledger: the origin of a batch's records, and the earlier batches that a batch updates."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Integer, Row, Text, case, cast, select

from tamis_schemas import Source
from tamis_schemas.ledger import batches, payloads


def read_sources(batch: Row[Any]) -> tuple[Source, ...]:
    """Return the sources of a row of `batches`, in their order; empty if the batch was submitted without a source.

    Pairs of records that may be copies (`doubts`) are omitted: the view `copy_pairs` has them.
    """
    return tuple(Source.model_validate({**source, "doubts": ()}) for source in batch.source or ())


def source_name() -> ColumnElement[str | None]:
    """Return the SQL expression for the name of an item's source. The statement must join `batches` and `payloads`.

    The name is NULL if the item names no source, as in a batch with at most one source. In a later stage of a review, a
    record has the source that it has in the first stage.
    """
    first, origin = batches.alias("first_stage"), payloads.alias("origin")
    of_first = (
        select(_name(first.c.source, origin.c.source))
        .join(origin, origin.c.batch_id == first.c.id)
        .where(first.c.review_id == batches.c.review_id, first.c.stage == 0, origin.c.idx == payloads.c.origin)
    )
    return case((batches.c.stage > 0, of_first.scalar_subquery()), else_=_name(batches.c.source, payloads.c.source))


def _name(sources: ColumnElement[Any], place: ColumnElement[int]) -> ColumnElement[str]:
    return cast(sources.op("->")(cast(place, Integer)).op("->>")("name"), Text)


def earlier_batches(connection: Connection, batch_id: UUID) -> list[UUID]:
    """Return the ids of a batch and the batches that it updates, latest first. The list ends before a purged batch."""
    chain: list[UUID] = []
    following: UUID | None = batch_id
    while following is not None and following not in chain:
        row = connection.execute(select(batches.c.id, batches.c.updates).where(batches.c.id == following)).first()
        if row is None:
            break
        chain.append(row.id)
        following = row.updates
    return chain


def read_known_records(connection: Connection, batch_id: UUID) -> Sequence[dict[str, Any]]:
    """Return all records of a batch and of the batches that it updates, including duplicates."""
    of_chain = select(payloads.c.payload).where(payloads.c.batch_id.in_(earlier_batches(connection, batch_id)))
    return connection.execute(of_chain.order_by(payloads.c.batch_id, payloads.c.idx)).scalars().all()
