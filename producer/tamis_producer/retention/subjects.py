"""Subjects of a purge: a finished batch outside of reviews, or a finished review with all its stages."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection, Row, Select, Text, and_, cast, func, or_, select
from sqlalchemy.dialects.postgresql import aggregate_order_by

from tamis_schemas import BatchStatus, IllegalTransition, InvalidRequest
from tamis_schemas.ledger import batches, reviews

from ..ledger import find_either
from .holdings import holdings

ENDED = tuple(status.value for status in BatchStatus if status.terminal)


@dataclass(frozen=True)
class Subject:
    """A batch outside of reviews, or a review with its stages. It is archived, deleted and restored as a whole."""

    review_id: UUID | None
    batch_ids: tuple[UUID, ...]  # in stage order
    label: str | None
    items: int
    ended_at: datetime | None  # end of its last batch, or its restoration if later. None: not ended

    @property
    def id(self) -> UUID:
        return self.batch_ids[0] if self.review_id is None else self.review_id

    @property
    def noun(self) -> str:
        return "batch" if self.review_id is None else "review"


def find_subjects(
    connection: Connection,
    *,
    ids: Sequence[str] = (),
    older_than: timedelta | None = None,
    label: str | None = None,
    limit: int | None = None,
) -> list[Subject]:
    """Return the matching subjects (batches or reviews) that may be purged, in the order in which they ended.

    Args:
        connection: to the ledger.
        ids: beginnings of the ids of finished reviews, and of finished batches outside of reviews.
        older_than: shortest time since the end.
        label: only subjects with this label.
        limit: largest number of subjects.

    Raises:
        UnknownBatch: there is no batch or review with such an id.
        InvalidRequest: a batch is a stage of a review, or an id is ambiguous.
        IllegalTransition: a subject named by its id is not finished.
    """
    query = _subjects()
    if ids:
        chosen = {_subject_id(connection, prefix) for prefix in ids}
        query = query.where(func.coalesce(batches.c.review_id, batches.c.id).in_(chosen))
    if label is not None:
        query = query.where(func.coalesce(reviews.c.label, batches.c.label) == label)
    if older_than is not None:
        before = func.now() - older_than
        # Later batches are not read; a review needs all its stages.
        query = query.where(or_(batches.c.review_id.is_not(None), batches.c.created_at < before))
        query = query.having(before > _ENDED_AT)
    if not ids:
        query = query.having(_MAY_GO)
    subjects = [_subject(row) for row in connection.execute(query.limit(limit))]
    for match in subjects:
        if match.ended_at is None:
            raise IllegalTransition(
                f"{match.noun} {match.id} is not finished: `tamis cancel {match.id}` ends it, then it can be purged"
            )
    return subjects


def find_again(connection: Connection, subject: Subject) -> Subject | None:
    """Return the batch or review in its present state; None if it is deleted, being deleted, or not finished."""
    query = _subjects().where(batches.c.id.in_(subject.batch_ids)).having(_MAY_GO)
    row = connection.execute(query).one_or_none()
    return None if row is None else _subject(row)


def measure(connection: Connection, subject: Subject) -> int:
    """Return the bytes of all rows of a batch or review, as Postgres stores them, without indexes and free space.

    The query reads every one of these rows.
    """
    return sum(
        connection.execute(
            select(func.coalesce(func.sum(func.pg_column_size(held.table.table_valued())), 0)).where(held.condition)
        ).scalar_one()
        for held in holdings(subject.batch_ids, subject.review_id)
    )


_BATCH_ENDED = and_(batches.c.state.in_(ENDED), batches.c.finished_at.is_not(None))
_ENDED_AT = func.max(func.greatest(batches.c.finished_at, batches.c.restored_at, reviews.c.finished_at))
# A review continues from stage to stage, unless it is finished or a stage was cancelled.
_GOES_ON = and_(
    batches.c.review_id.is_not(None),
    func.max(reviews.c.finished_at).is_(None),
    ~func.bool_or(batches.c.state == BatchStatus.CANCELLED.value),
)
_MAY_GO = and_(func.bool_and(_BATCH_ENDED), ~_GOES_ON)


def _subjects() -> Select[tuple[object, ...]]:
    subject_id = func.coalesce(batches.c.review_id, batches.c.id)
    return (
        select(
            batches.c.review_id,
            func.array_agg(aggregate_order_by(batches.c.id, batches.c.stage)).label("batch_ids"),
            func.coalesce(func.max(reviews.c.label), func.max(batches.c.label)).label("label"),
            func.sum(batches.c.n_items).label("items"),
            _MAY_GO.label("may_go"),
            _ENDED_AT.label("ended_at"),
        )
        .outerjoin(reviews, reviews.c.id == batches.c.review_id)
        .where(batches.c.purging_at.is_(None))
        .group_by(subject_id, batches.c.review_id)
        .order_by(_ENDED_AT, cast(subject_id, Text))
    )


def _subject(row: Row[tuple[object, ...]]) -> Subject:
    return Subject(
        review_id=row.review_id,
        batch_ids=tuple(row.batch_ids),
        label=row.label,
        items=int(row.items),
        ended_at=row.ended_at if row.may_go else None,
    )


def _subject_id(connection: Connection, prefix: str) -> UUID:
    match = find_either(connection, prefix)
    if match.batch_id is None:
        assert match.review_id is not None  # noqa: S101 - one of the two is set
        return match.review_id
    review = connection.execute(select(batches.c.review_id).where(batches.c.id == match.batch_id)).scalar_one()
    if review is not None:
        raise InvalidRequest(
            f"batch {match.batch_id} is a stage of a review, which is purged as a whole: `tamis purge {review}`"
        )
    return match.batch_id
