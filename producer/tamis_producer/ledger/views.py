"""The state of batches and reviews, read."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from tamis_schemas import (
    ItemStatus,
    Steering,
    SteeringView,
    UnknownBatch,
    possibly_unbilled_cost,
)

from .batch_view import BatchView, ReviewView
from .pace import PACE, pace
from .statements import RunsStatements
from .worker_view import WorkerState

SUMS = ("prompt_tokens", "completion_tokens", "cost", "unpriced", "unanswered", "lost_claims")  # columns of `tallies`
# One statement, so that all of it is one snapshot and the accounting identity holds in every read. Of items and results
# their counters are read, and a few results for the pace: that costs the same however many there are. As text, because
# commands that only look run it without waiting for SQLAlchemy to be imported. Between the two parts stands which
# batches.
SEEN = f"""
SELECT b.id, b.label, b.operation, b.model, b.steering, b.state, b.round, b.n_items, b.max_cost, b.created_at,
       b.started_at, b.finished_at, b.review_id, b.stage, b.pause, b.priority, tallied.*,
       api_keys.label AS submitted_by, spending.reserved, spending.spent,
       (SELECT count(*) FROM workers WHERE lease_until > now()) AS live_workers,
       (SELECT jsonb_agg(jsonb_build_object(
                   'state', state, 'reason', reason,
                   'seconds', coalesce(extract(epoch FROM now() - state_since), 0)))
          FROM workers WHERE lease_until > now() AND state <> '{WorkerState.WORKING.value}') AS not_working,
       extract(epoch FROM coalesce(b.finished_at, now()) - b.started_at) AS elapsed,
       recent.*
  FROM (SELECT * FROM batches WHERE """  # noqa: S608 - of states that stand in the code
STANDING = f""") AS b
  JOIN LATERAL (
       SELECT {", ".join(f"coalesce(sum({status.value}), 0) AS n_{status.value}" for status in ItemStatus)},
              {", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in SUMS)},
              -- Dollars that an item cost which something was paid for; 0 where calls are free. NULL: none is known.
              coalesce(sum(cost) / nullif(sum(priced), 0), CASE WHEN sum(free) > 0 THEN 0 END) AS mean_paid,
              coalesce(sum(ended) FILTER (WHERE tallies.round = b.round), 0) AS in_round
         FROM tallies WHERE tallies.batch_id = b.id) AS tallied ON true
  {PACE}
  LEFT JOIN spending ON spending.batch_id = b.id
  LEFT JOIN api_keys ON api_keys.id = b.api_key_id
 ORDER BY b.created_at DESC, b.id DESC
"""  # noqa: S608 - of columns and states that stand in the code
_BEFORE = """ AND (CAST(%(after)s AS uuid) IS NULL
      OR (created_at, id) < (SELECT created_at, id FROM batches WHERE id = %(after)s))
   ORDER BY created_at DESC, id DESC LIMIT %(limit)s"""
LATEST = "purging_at IS NULL AND service IS NULL" + _BEFORE
LATEST_OF_NO_REVIEW = "purging_at IS NULL AND service IS NULL AND review_id IS NULL" + _BEFORE
ONE_REVIEW = "SELECT * FROM reviews WHERE purging_at IS NULL AND id = %(review_id)s"
LATEST_REVIEWS = """
SELECT * FROM reviews
 WHERE purging_at IS NULL
   AND (CAST(%(after)s AS uuid) IS NULL OR (created_at, id) < (SELECT created_at, id FROM reviews WHERE id = %(after)s))
 ORDER BY created_at DESC, id DESC LIMIT %(limit)s
"""


def read_reviews(
    connection: RunsStatements, *, review_id: UUID | None = None, limit: int = 20, after: UUID | None = None
) -> list[ReviewView]:
    """Return the state of reviews, newest first: of one, or of the last `limit`, those before the review `after`.

    Raises `UnknownBatch` where the one asked for is not there, or is being purged.
    """
    from tamis_schemas import ReviewPlan  # with all operations, of which those who look at batches need none

    statement = LATEST_REVIEWS if review_id is None else ONE_REVIEW
    kept = list(connection.exec_driver_sql(statement, {"review_id": review_id, "limit": limit, "after": after}))
    views = [
        ReviewView(
            id=str(row.id),
            label=row.label,
            created_at=row.created_at,
            finished_at=row.finished_at,
            planned=tuple(stage.name for stage in ReviewPlan.model_validate(row.plan).stages),
            stages=tuple(sorted(read_views(connection, review_id=row.id), key=lambda view: view.stage or 0)),
        )
        for row in kept
    ]
    if review_id is not None and not views:
        raise UnknownBatch(f"there is no review {review_id}")
    return views


def read_views(
    connection: RunsStatements,
    *,
    batch_id: UUID | None = None,
    batch_ids: Collection[UUID] | None = None,
    review_id: UUID | None = None,
    limit: int = 20,
    of_no_review: bool = False,
    after: UUID | None = None,
) -> list[BatchView]:
    """Return the state of batches, newest first: of those named, of a review's, or of the last `limit` without service.

    The last ones may be those that belong `of_no_review`, and those before the batch `after`.
    Raises `UnknownBatch` where the one asked for is not there, or is being purged.
    """
    if batch_id is not None:
        chosen = "id = %(batch_id)s AND purging_at IS NULL"
    elif batch_ids is not None:
        chosen = "id = ANY(%(batch_ids)s) AND purging_at IS NULL"
    elif review_id is not None:
        chosen = "review_id = %(review_id)s"
    else:  # the others are shown together, by `read_service_traffic`
        chosen = LATEST_OF_NO_REVIEW if of_no_review else LATEST
    named = {"batch_id": batch_id, "batch_ids": list(batch_ids or ()), "review_id": review_id}
    wanted = {**named, "limit": limit, "after": after}
    views = [_view(row) for row in connection.exec_driver_sql(SEEN + chosen + STANDING, wanted)]
    if batch_id is not None and not views:
        raise UnknownBatch(f"there is no batch {batch_id}")
    return views


def _view(row: Any) -> BatchView:
    unanswered, lost = int(row.unanswered), int(row.lost_claims)
    counts = {"n_items": row.n_items} | {status.value: getattr(row, f"n_{status.value}") for status in ItemStatus}
    budget = {"max_cost": row.max_cost, "spent": row.spent, "reserved": row.reserved}
    worked_out = {
        "id": str(row.id),
        "review_id": None if row.review_id is None else str(row.review_id),
        "steering": SteeringView.of(Steering.model_validate(row.steering)) if row.steering else None,
        "counts": counts,
        "unanswered": unanswered,
        "lost_claims": lost,
        "possibly_unbilled_cost": possibly_unbilled_cost(unanswered + lost, row.mean_paid),
        "budget": None if row.max_cost is None else budget,
        "elapsed_seconds": row.elapsed,
        "not_working": row.not_working or (),
        "ended_in_round": row.in_round,
        "pace": pace(row.ended, row.spread, row.since_first, row.shortest_call),
    }
    return BatchView.model_validate(row._asdict() | worked_out)
