"""The origin of a record, read from the ledger: its source, and the copies of it that were kept out."""

from typing import Any

from sqlalchemy import Connection, Integer, Row, and_, cast, select

from tamis_producer.ledger.sources import read_sources
from tamis_schemas import ItemResult, Source
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.ledger import batches, exclusions, items, payloads

from .document import ExplainedCopy


def read_origin(
    connection: Connection, batch: Row[Any], result: ItemResult
) -> tuple[Source | None, tuple[ExplainedCopy, ...]]:
    """The source of a batch's record, and its copies; of a review's later stage as they stand in the first one."""
    place = result.index if result.origin is None else result.origin
    first = batch
    if batch.stage:
        statement = select(batches).where(batches.c.review_id == batch.review_id, batches.c.stage == 0)
        first = connection.execute(statement).one()
    sources = read_sources(first)
    own = select(payloads.c.source).where(payloads.c.batch_id == first.id, payloads.c.idx == place)
    source = connection.execute(own).scalar_one() or 0
    copies = (
        select(exclusions.c.idx, exclusions.c.exclusion, items.c.item_id, payloads.c.source)
        .join(items, and_(items.c.batch_id == first.id, items.c.idx == exclusions.c.idx))
        .join(payloads, and_(payloads.c.batch_id == first.id, payloads.c.idx == exclusions.c.idx))
        .where(
            exclusions.c.batch_id == first.id,
            exclusions.c.rule == DUPLICATE,
            cast(exclusions.c.exclusion.op("->>")("duplicate_of"), Integer) == place,
        )
        .order_by(exclusions.c.idx)
    )
    return sources[source] if sources else None, tuple(
        ExplainedCopy(
            index=row.idx,
            item_id=row.item_id,
            source=None if row.source is None else sources[row.source].name,
            reason=row.exclusion["reason"],
        )
        for row in connection.execute(copies)
    )
