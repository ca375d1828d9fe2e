"""The subject of a report: one batch, or a review with the batches of its stages."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, select

from tamis_producer.ledger import find_either
from tamis_schemas import ReviewPlan, UnknownBatch
from tamis_schemas.ledger import batches, reviews


class SubjectKind(StrEnum):
    """The kind of a subject."""

    BATCH = "batch"
    REVIEW = "review"


@dataclass(frozen=True)
class ReportSubject:
    """The batches of a report, in the order of their stages."""

    kind: SubjectKind
    id: UUID
    label: str | None
    batches: tuple[Any, ...]  # rows of `batches`
    read_at: datetime  # by the database's clock
    planned: tuple[str, ...]  # the operations of all stages
    ended: bool  # no further stage will begin


def find_subject(connection: Connection, prefix: str) -> ReportSubject:
    """The batch or the review whose id is, or begins with, `prefix`.

    Raises:
        UnknownBatch: no id begins so, or the review has no batch yet.
        InvalidRequest: several begin so.
    """
    match = find_either(connection, prefix)
    if match.review_id is not None:
        return _review(connection, match.review_id)
    statement = select(batches, func.now().label("read_at")).where(batches.c.id == match.batch_id)
    row = connection.execute(statement).one()
    return ReportSubject(SubjectKind.BATCH, row.id, row.label, (row,), row.read_at, (row.operation,), ended=True)


def _review(connection: Connection, review_id: UUID) -> ReportSubject:
    review = connection.execute(select(reviews, func.now().label("read_at")).where(reviews.c.id == review_id)).one()
    stages = select(batches).where(batches.c.review_id == review_id).order_by(batches.c.stage)
    rows = tuple(connection.execute(stages))
    if not rows:
        raise UnknownBatch(f"review {review_id} has no batch yet: there is nothing to report")
    return ReportSubject(
        kind=SubjectKind.REVIEW,
        id=review.id,
        label=review.label,
        batches=rows,
        read_at=review.read_at,
        planned=tuple(stage.name for stage in ReviewPlan.model_validate(review.plan).stages),
        ended=review.finished_at is not None,
    )
