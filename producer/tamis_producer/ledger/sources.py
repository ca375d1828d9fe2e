"""Sources in the ledger: where a batch's records come from, and which record from which."""

from typing import Any

from sqlalchemy import ColumnElement, Integer, Row, Text, case, cast, select

from tamis_schemas import Source
from tamis_schemas.ledger import batches, payloads


def read_sources(batch: Row[Any]) -> tuple[Source, ...]:
    """The sources of a row of `batches`, in their order; none where a program submitted its items.

    Releases before there were several wrote the only one, and no list.
    """
    kept = batch.source
    listed = [] if kept is None else [kept] if isinstance(kept, dict) else kept
    return tuple(Source.model_validate(one) for one in listed)


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
