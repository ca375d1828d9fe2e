"""The state of batches and reviews: their pace, their summaries, and the single calls of services."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from tamis_schemas import (
    ItemStatus,
    Steering,
    SteeringView,
    Summary,
    UnknownBatch,
    possibly_unbilled_cost,
)

from .batch_view import BatchView, ReviewView, ServiceTraffic
from .statements import RunsStatements
from .worker_view import WorkerState

WINDOW = 600  # s: only results of this time count for the pace
LOOKED_AT = 500  # results at most: at the highest places, which end last, as places are claimed in order

# A pause stops the shards in flight, and a resumed batch dispatches them again. So the batch may have been paused
# before the first dispatch of these shards; earlier results do not count. A batch that does not run has no pace.
PACE = f"""LEFT JOIN LATERAL (
       SELECT greatest(min(dispatched_at), now() - interval '{WINDOW} seconds') AS since, max(end_idx) AS behind
         FROM shards
        WHERE shards.batch_id = b.id AND shards.round = b.round AND shards.state = 'dispatched' AND b.state = 'running'
       ) AS flight ON true
  LEFT JOIN LATERAL (
       SELECT count(*) AS ended, extract(epoch FROM max(created_at) - min(created_at)) AS spread,
              extract(epoch FROM now() - min(created_at)) AS since_first, min(latency_ms) / 1000.0 AS shortest_call
         FROM (SELECT created_at, latency_ms, round = b.round AS own
                 FROM results
                WHERE results.batch_id = b.id AND results.idx < flight.behind
                ORDER BY results.idx DESC LIMIT {LOOKED_AT}) AS last
        WHERE own AND created_at >= flight.since) AS recent ON true"""  # noqa: S608 - numbers from the code
SUMS = ("prompt_tokens", "completion_tokens", "cost", "unpriced", "unanswered", "lost_claims")  # columns of `tallies`
# One statement is one snapshot, so the accounting identity holds in every read. It reads the counters of items and
# results, and a few results for the pace, so its cost does not grow with the batch. It is text, so that commands run it
# without importing SQLAlchemy. The condition on batches comes between the two parts.
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
  FROM (SELECT * FROM batches WHERE """  # noqa: S608 - states from the code
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
"""  # noqa: S608 - columns and states from the code
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
TRAFFIC_COLUMNS = tuple(ServiceTraffic.model_fields)
TRAFFIC = """
SELECT service, date_trunc('hour', created_at) AS hour, sum(n_items) AS calls,
       coalesce(sum(tallied.failed), 0) AS failed, coalesce(sum(tallied.open), 0) AS open,
       coalesce(sum(tallied.cost), 0) AS cost, coalesce(sum(tallied.unpriced), 0) AS unpriced
  FROM batches
  JOIN LATERAL (
       SELECT sum(failed) AS failed, sum(pending + running) AS open, sum(cost) AS cost, sum(unpriced) AS unpriced
         FROM tallies WHERE tallies.batch_id = batches.id) AS tallied ON true
 WHERE service IS NOT NULL AND purging_at IS NULL
   AND created_at >= date_trunc('hour', now()) - make_interval(hours => %(before)s)
 GROUP BY service, hour
 ORDER BY hour DESC, service
"""


def pace(
    ended: int, spread: float | None, since_first: float | None, shortest_call: float | None, running: int = 0
) -> float | None:
    """Return the pace in items per second: (ended - 1) / max(spread, since_first / 2, shortest_call).

    The pace is None if fewer than two items have ended, or no time has passed. In the first five minutes, it is also
    None while no more items have ended than run at once, because the first of many parallel calls show no pace.

    The divisor counts from the first result, so it omits the wait for a worker and the loading of a model. Parallel
    calls end together, so the divisor is at least the time of the shortest call. Half of `since_first` makes the pace
    fall when no further results come.

    Args:
        ended: number of results in the last minutes of work, none from before a pause.
        spread: seconds from the first to the last result.
        since_first: seconds from the first result to now.
        shortest_call: seconds of the shortest call. None: all results came from the cache.
        running: items in work now.
    """
    if ended < 2 or spread is None or since_first is None or (ended <= running and since_first < WINDOW / 2):
        return None
    seconds = max(float(spread), float(since_first) / 2, float(shortest_call or 0))
    return (ended - 1) / seconds if seconds else None


def read_reviews(
    connection: RunsStatements, *, review_id: UUID | None = None, limit: int = 20, after: UUID | None = None
) -> list[ReviewView]:
    """Return the state of the review `review_id`, or of the latest `limit` reviews, newest first.

    `after`: only reviews older than this review. Raises `UnknownBatch` if the review `review_id` does not exist, or is
    being purged.
    """
    from tamis_schemas import ReviewPlan  # it imports all operations, which commands that read batches do not need

    statement = LATEST_REVIEWS if review_id is None else ONE_REVIEW
    rows = list(connection.exec_driver_sql(statement, {"review_id": review_id, "limit": limit, "after": after}))
    views = [
        ReviewView(
            id=str(row.id),
            label=row.label,
            created_at=row.created_at,
            finished_at=row.finished_at,
            planned=tuple(stage.name for stage in ReviewPlan.model_validate(row.plan).stages),
            stages=tuple(sorted(read_views(connection, review_id=row.id), key=lambda view: view.stage or 0)),
        )
        for row in rows
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
    """Return the state of the batches with these ids, of a review's batches, or of the latest `limit` batches.

    The newest batch comes first. The latest batches omit single calls of services. With `of_no_review`, they omit
    batches of reviews too. `after`: only batches older than this batch. Raises `UnknownBatch` if the batch `batch_id`
    does not exist, or is being purged.
    """
    if batch_id is not None:
        chosen = "id = %(batch_id)s AND purging_at IS NULL"
    elif batch_ids is not None:
        chosen = "id = ANY(%(batch_ids)s) AND purging_at IS NULL"
    elif review_id is not None:
        chosen = "review_id = %(review_id)s"
    else:  # `read_service_traffic` shows the others together
        chosen = LATEST_OF_NO_REVIEW if of_no_review else LATEST
    filters = {"batch_id": batch_id, "batch_ids": list(batch_ids or ()), "review_id": review_id}
    parameters = {**filters, "limit": limit, "after": after}
    views = [_view(row) for row in connection.exec_driver_sql(SEEN + chosen + STANDING, parameters)]
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
        "pace": pace(row.ended, row.spread, row.since_first, row.shortest_call, row.n_running),
    }
    return BatchView.model_validate(row._asdict() | worked_out)


def read_summary(connection: RunsStatements, batch_id: UUID, round_: int | None = None) -> Summary | None:
    """Return the summary of a batch's round (by default the latest finished round); None without a summary."""
    summaries = read_summaries(connection, batch_id)
    matches = [summary for summary in summaries if round_ is None or summary.round == round_]
    return matches[-1] if matches else None


def read_summaries(connection: RunsStatements, batch_id: UUID) -> list[Summary]:
    """Return the summaries of a batch's finished rounds, first round first."""
    statement = "SELECT summary FROM summaries WHERE batch_id = %(batch_id)s ORDER BY round"
    return [
        Summary.model_validate(row.summary) for row in connection.exec_driver_sql(statement, {"batch_id": batch_id})
    ]


def read_service_traffic(connection: RunsStatements, *, hours: int = 24) -> list[ServiceTraffic]:
    """Return the single calls of services in the last `hours` hours, added up for each service and hour.

    The present hour is included. The latest hour comes first; within an hour, services are sorted by name.
    """
    rows = connection.exec_driver_sql(TRAFFIC, {"before": hours - 1})
    return [ServiceTraffic.model_validate({name: getattr(row, name) for name in TRAFFIC_COLUMNS}) for row in rows]
