"""How batches and reviews stand."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, func, select, true

from tamis_schemas import (
    BatchStatus,
    Counts,
    ItemStatus,
    Pause,
    Priority,
    ReviewPlan,
    Steering,
    SteeringView,
    UnknownBatch,
    possibly_unbilled_cost,
)
from tamis_schemas.ledger import api_keys, batches, reviews, spending, tallies, workers
from tamis_schemas.ledger.costs import TALLIED_MEAN_PAID

from .batch_view import BatchView, Budget, ReviewView
from .worker_view import NotWorking, WorkerState

SUMS = ("prompt_tokens", "completion_tokens", "cost", "unpriced", "unanswered", "lost_claims")  # columns of `tallies`


def read_reviews(connection: Connection, *, review_id: UUID | None = None, limit: int = 20) -> list[ReviewView]:
    """How reviews stand, newest first: the one asked for, or the last `limit`.

    Raises `UnknownBatch` where the one asked for is not there, or is being purged.
    """
    kept = reviews.c.purging_at.is_(None)
    wanted = select(reviews).where(kept).order_by(reviews.c.created_at.desc()).limit(limit)
    if review_id is not None:
        wanted = select(reviews).where(reviews.c.id == review_id, kept)
    found = [
        ReviewView(
            id=str(row.id),
            label=row.label,
            created_at=row.created_at,
            finished_at=row.finished_at,
            planned=tuple(stage.name for stage in ReviewPlan.model_validate(row.plan).stages),
            stages=tuple(sorted(read_views(connection, review_id=row.id), key=lambda view: view.stage or 0)),
        )
        for row in connection.execute(wanted).all()
    ]
    if review_id is not None and not found:
        raise UnknownBatch(f"there is no review {review_id}")
    return found


def read_views(
    connection: Connection,
    *,
    batch_id: UUID | None = None,
    batch_ids: Collection[UUID] | None = None,
    review_id: UUID | None = None,
    limit: int = 20,
) -> list[BatchView]:
    """How batches stand, newest first: the one or those asked for, those of a review, or the last `limit` of no
    service.

    Raises `UnknownBatch` where the one asked for is not there, or is being purged.
    """
    kept = batches.c.purging_at.is_(None)
    wanted = select(batches).where(kept).order_by(batches.c.created_at.desc()).limit(limit)
    if batch_id is not None:
        wanted = select(batches).where(batches.c.id == batch_id, kept)
    elif batch_ids is not None:
        wanted = select(batches).where(batches.c.id.in_(batch_ids), kept)
    elif review_id is not None:
        wanted = select(batches).where(batches.c.review_id == review_id)
    else:
        wanted = wanted.where(batches.c.service.is_(None))  # the others are shown together, by `read_service_traffic`
    b = wanted.subquery("b")
    # One statement, so that all of it is one snapshot and the accounting identity holds in every read. Neither items
    # nor results are read, but their counters: that costs the same however many there are.
    c = tallies.c
    tallied = (
        select(
            *(func.coalesce(func.sum(c[status.value]), 0).label(f"n_{status.value}") for status in ItemStatus),
            *(func.coalesce(func.sum(c[name]), 0).label(name) for name in SUMS),
            TALLIED_MEAN_PAID.label("mean_paid"),
            func.coalesce(func.sum(c.ended).filter(c.round == b.c.round), 0).label("in_round"),
        )
        .where(c.batch_id == b.c.id)
        .lateral("tallied")
    )
    live = select(func.count()).where(workers.c.lease_until > func.now()).scalar_subquery()
    holding = (
        select(
            func.jsonb_agg(
                func.jsonb_build_object(
                    *("state", workers.c.state, "reason", workers.c.reason),
                    *("seconds", func.coalesce(func.extract("epoch", func.now() - workers.c.state_since), 0)),
                )
            )
        )
        .where(workers.c.lease_until > func.now(), workers.c.state != WorkerState.WORKING.value)
        .scalar_subquery()
    )
    statement = (
        select(
            b,
            *tallied.c,
            api_keys.c.label.label("submitted_by"),
            spending.c.reserved,
            spending.c.spent,
            live.label("live_workers"),
            holding.label("not_working"),
            func.extract("epoch", func.coalesce(b.c.finished_at, func.now()) - b.c.started_at).label("elapsed"),
        )
        .select_from(b)
        .join(tallied, true())
        .outerjoin(spending, spending.c.batch_id == b.c.id)
        .outerjoin(api_keys, api_keys.c.id == b.c.api_key_id)
        .order_by(b.c.created_at.desc())
    )
    found = [_view(row) for row in connection.execute(statement)]
    if batch_id is not None and not found:
        raise UnknownBatch(f"there is no batch {batch_id}")
    return found


def _view(row: Row[Any]) -> BatchView:
    unanswered, lost = int(row.unanswered), int(row.lost_claims)
    return BatchView(
        id=str(row.id),
        label=row.label,
        submitted_by=row.submitted_by,
        operation=row.operation,
        model=row.model,
        steering=SteeringView.of(Steering.model_validate(row.steering)) if row.steering else None,
        state=BatchStatus(row.state),
        round=row.round,
        counts=Counts(n_items=row.n_items, **{s.value: row._mapping[f"n_{s.value}"] for s in ItemStatus}),
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        cost=row.cost,
        unpriced=row.unpriced,
        unanswered=unanswered,
        lost_claims=lost,
        possibly_unbilled_cost=possibly_unbilled_cost(unanswered + lost, row.mean_paid),
        budget=None if row.max_cost is None else Budget(max_cost=row.max_cost, spent=row.spent, reserved=row.reserved),
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        elapsed_seconds=None if row.elapsed is None else float(row.elapsed),
        live_workers=row.live_workers,
        not_working=tuple(NotWorking.model_validate(one) for one in row.not_working or ()),
        stage=row.stage,
        pause=None if row.pause is None else Pause.model_validate(row.pause),
        priority=Priority(row.priority),
        ended_in_round=row.in_round,
    )
