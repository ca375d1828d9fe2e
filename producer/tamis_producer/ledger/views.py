"""How batches and reviews stand."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, func, select

from tamis_schemas import (
    BatchStatus,
    Counts,
    ItemStatus,
    Pause,
    Priority,
    ReviewPlan,
    Steering,
    SteeringView,
    possibly_unbilled_cost,
)
from tamis_schemas.ledger import api_keys, batches, items, results, reviews, spending, workers
from tamis_schemas.ledger.costs import LOST_CLAIMS, MEAN_PAID, PAID, UNANSWERED, UNPRICED

from ..view import BatchView, Budget, ReviewView
from ..worker_view import NotWorking, WorkerState


def read_reviews(connection: Connection, *, review_id: UUID | None = None, limit: int = 20) -> list[ReviewView]:
    """How reviews stand, newest first: the one asked for, or the last `limit`."""
    wanted = select(reviews).order_by(reviews.c.created_at.desc()).limit(limit)
    if review_id is not None:
        wanted = select(reviews).where(reviews.c.id == review_id)
    return [
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


def read_views(
    connection: Connection, *, batch_id: UUID | None = None, review_id: UUID | None = None, limit: int = 20
) -> list[BatchView]:
    """How batches stand, newest first: the one asked for, those of a review, or the last `limit`."""
    wanted = select(batches).order_by(batches.c.created_at.desc()).limit(limit)
    if batch_id is not None:
        wanted = select(batches).where(batches.c.id == batch_id)
    elif review_id is not None:
        wanted = select(batches).where(batches.c.review_id == review_id)
    b = wanted.subquery("b")
    # One statement, so that all of it is one snapshot and the accounting identity holds in every read.
    counted = (
        select(items.c.batch_id, items.c.state, func.count().label("n"), LOST_CLAIMS.label("lost"))
        .where(items.c.batch_id.in_(select(b.c.id)))
        .group_by(items.c.batch_id, items.c.state)
        .subquery("counted")
    )
    tokens = (
        select(
            results.c.batch_id,
            func.sum(results.c.prompt_tokens).label("prompt"),
            func.sum(results.c.completion_tokens).label("completion"),
            PAID.label("cost"),
            UNPRICED.label("unpriced"),
            UNANSWERED.label("unanswered"),
            MEAN_PAID.label("mean_paid"),
            func.count().filter(results.c.round == b.c.round).label("in_round"),
        )
        .join(b, b.c.id == results.c.batch_id)
        .group_by(results.c.batch_id)
        .subquery("tokens")
    )
    by_state = (
        select(
            counted.c.batch_id,
            func.jsonb_object_agg(counted.c.state, counted.c.n).label("counts"),
            func.sum(counted.c.lost).label("lost"),
        )
        .group_by(counted.c.batch_id)
        .subquery("by_state")
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
            by_state.c.counts,
            by_state.c.lost,
            tokens.c.prompt,
            tokens.c.completion,
            tokens.c.cost,
            tokens.c.unpriced,
            tokens.c.unanswered,
            tokens.c.mean_paid,
            tokens.c.in_round,
            api_keys.c.label.label("submitted_by"),
            spending.c.reserved,
            spending.c.spent,
            live.label("live_workers"),
            holding.label("not_working"),
            func.extract("epoch", func.coalesce(b.c.finished_at, func.now()) - b.c.started_at).label("elapsed"),
        )
        .outerjoin(by_state, by_state.c.batch_id == b.c.id)
        .outerjoin(tokens, tokens.c.batch_id == b.c.id)
        .outerjoin(spending, spending.c.batch_id == b.c.id)
        .outerjoin(api_keys, api_keys.c.id == b.c.api_key_id)
        .order_by(b.c.created_at.desc())
    )
    return [_view(row) for row in connection.execute(statement)]


def _view(row: Row[Any]) -> BatchView:
    unanswered, lost = row.unanswered or 0, int(row.lost or 0)
    counts = dict.fromkeys((status.value for status in ItemStatus), 0) | (row.counts or {})
    return BatchView(
        id=str(row.id),
        label=row.label,
        submitted_by=row.submitted_by,
        operation=row.operation,
        model=row.model,
        steering=SteeringView.of(Steering.model_validate(row.steering)) if row.steering else None,
        state=BatchStatus(row.state),
        round=row.round,
        counts=Counts(n_items=row.n_items, **counts),
        prompt_tokens=row.prompt or 0,
        completion_tokens=row.completion or 0,
        cost=row.cost or Decimal(0),
        unpriced=row.unpriced or 0,
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
        ended_in_round=row.in_round or 0,
    )
