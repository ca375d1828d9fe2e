"""Sources in the ledger: where a batch's records come from, and which record from which."""

from typing import Any

from sqlalchemy import ColumnElement, Integer, Row, Text, case, cast, select

from tamis_schemas import Source
from tamis_schemas.ledger import batches, payloads


def read_sources(batch: Row[Any]) -> tuple[Source, ...]:
    """Return the sources of a row of `batches`, in their order; none if a program submitted its items."""
    return tuple(Source.model_validate(source) for source in batch.source or ())


def source_name() -> ColumnElement[str | None]:
    """The name of an item's source, in a statement that joins `batches` and `payloads`.

    NULL where the batch has no more than one source. An item of a review's later stage comes from where its record in
    the first one does.
    """
    first, origin = batches.alias("first_stage"), payloads.alias("origin")
    of_first = (
        select(_name(first.c.source, origin.c.source))
        .join(origin, origin.c.batch_id == first.c.id)
        .where(first.c.review_id == batches.c.review_id, first.c.stage == 0, origin.c.idx == payloads.c.origin)
    )
    own = _name(batches.c.source, payloads.c.source)
    return case((batches.c.stage > 0, of_first.scalar_subquery()), else_=own)


def _name(sources: ColumnElement[Any], place: ColumnElement[int]) -> ColumnElement[str]:
    return cast(sources.op("->")(cast(place, Integer)).op("->>")("name"), Text)
