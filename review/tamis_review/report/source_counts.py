"""Counts by source, as PRISMA 2020 asks for them: what each database, register or other search gave."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, select

from tamis_schemas.ledger import payloads

from ..decisions.final_outcome import BEFORE_SCREENING, Outcome, outcomes


@dataclass(frozen=True)
class SourceCount:
    """The records of one source; what was neither a duplicate nor screened was removed otherwise."""

    place: int  # of the source among those of the batch, from 0
    identified: int
    duplicates: int  # of these, kept out as copies, whichever source the copy that stays is from
    screened: int


def count_by_source(connection: Connection, batch: Row[Any]) -> tuple[SourceCount, ...]:
    """The counts of a row of `batches` by the place of the source; a batch with one source, or none, has one place.

    They add up to the batch's: records that a human took back are no duplicates here either.
    """
    each = outcomes(batch.id, batch.operation).subquery("each")
    place = func.coalesce(payloads.c.source, 0)
    statement = (
        select(
            place.label("place"),
            func.count().label("identified"),
            func.count().filter(each.c.outcome == Outcome.DUPLICATE.value).label("duplicates"),
            func.count()
            .filter(each.c.outcome.not_in([outcome.value for outcome in BEFORE_SCREENING]))
            .label("screened"),
        )
        .join(each, each.c.idx == payloads.c.idx)
        .where(payloads.c.batch_id == batch.id)
        .group_by(place)
        .order_by(place)
    )
    return tuple(SourceCount(**row._asdict()) for row in connection.execute(statement))
