"""The leases of workers, and the repair of the ledger after dead workers and lost messages.

Redis delivers each queue in order. If an item is pending and its queue is empty, the item's message is lost, or a dead
worker has the message. The same is true if an item further back in the queue was claimed more than a lease ago.

A worker's claims are valid while it renews its lease. Each renewal reports the worker's state. A worker whose lease has
expired counts as dead. But while the ledger is unreachable, no worker can renew a lease. The first worker to come back
would then consider all other workers dead, and pay for their items again. So a worker may judge others only after it
has renewed its own lease regularly for as long as one lease lasts. No two renewals may be more than two thirds of a
lease apart.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas.batches import wire

from .connection import transaction

SWEEP_LOCK = 7_264_948  # a Postgres advisory lock: one worker sweeps at a time

# Ages become times by the database's clock.
_RENEW = text("""
INSERT INTO workers (id, lease_until, host, pid, concurrency, in_flight, version, state, state_since, reason,
                     progress_at, judges_from, judges_until)
VALUES (:id, now() + make_interval(secs => :lease), :host, :pid, :concurrency, :in_flight, :version, :state,
        now() - make_interval(secs => :state_for), :reason, now() - make_interval(secs => :idle_for),
        now() + make_interval(secs => :lease), now() + make_interval(secs => :gap))
ON CONFLICT (id) DO UPDATE SET
    lease_until = EXCLUDED.lease_until, in_flight = EXCLUDED.in_flight, state = EXCLUDED.state,
    state_since = EXCLUDED.state_since, reason = EXCLUDED.reason, progress_at = EXCLUDED.progress_at,
    judges_from = CASE WHEN workers.judges_until > now() THEN workers.judges_from ELSE EXCLUDED.judges_from END,
    judges_until = EXCLUDED.judges_until
""")
GAP = 2 / 3  # of a lease; a living worker renews three times per lease, so at least this share of it is always left

_END = text("DELETE FROM workers WHERE id = :worker")


async def renew_lease(engine: AsyncEngine, report: WorkerReport, *, lease: float) -> None:
    """Renew the worker's lease for `lease` seconds from now, by the database's clock, and store the worker's report.

    Raise `LedgerUnavailable` if Postgres does not answer.
    """
    async with transaction(engine) as connection:
        await connection.execute(
            _RENEW, report.model_dump(exclude={"running_for"}) | {"lease": lease, "gap": GAP * lease}
        )


async def end_lease(engine: AsyncEngine, *, worker: str) -> None:
    """End the lease, so that other workers can claim the worker's items at once."""
    async with transaction(engine) as connection:
        await connection.execute(_END, {"worker": worker})


@dataclass(frozen=True)
class LostItem:
    """A pending item that needs a new message in its queue."""

    batch_id: UUID
    operation: str
    index: int
    item_id: str


@dataclass(frozen=True)
class OpenShard:
    """A dispatched shard (range of a batch's items) that is not closed, although all its items have ended."""

    batch_id: UUID
    round: int
    shard: int
    traceparent: str | None = None  # of the trace of the batch's submission


_MAY_JUDGE = text("""
SELECT EXISTS (SELECT FROM workers me WHERE me.id = :worker AND now() BETWEEN me.judges_from AND me.judges_until)
""")


async def may_judge(connection: AsyncConnection, worker: str) -> bool:
    """Return True if this worker may treat workers with expired leases as dead.

    The worker may do so if it has renewed its own lease regularly for as long as one lease lasts.
    """
    return bool((await connection.execute(_MAY_JUDGE, {"worker": worker})).scalar_one())


_COUNT = text("""
INSERT INTO repairs (kind, total) SELECT * FROM unnest(CAST(:kinds AS text[]), CAST(:counts AS bigint[]))
ON CONFLICT (kind) DO UPDATE SET total = repairs.total + EXCLUDED.total, last_at = now()
""")


async def count(connection: AsyncConnection, repaired: Mapping[str, int]) -> None:
    """Add repairs to the totals in the ledger. `repaired`: the number of repairs by kind."""
    kinds = sorted(kind for kind, n in repaired.items() if n)
    await connection.execute(_COUNT, {"kinds": kinds, "counts": [repaired[kind] for kind in kinds]})


async def try_lock(connection: AsyncConnection) -> bool:
    """Take the lock for repairs until the transaction ends. Return False if another transaction has the lock."""
    statement = text("SELECT pg_try_advisory_xact_lock(:lock)")
    return bool((await connection.execute(statement, {"lock": SWEEP_LOCK})).scalar_one())


_FORGET_WORKERS = text("""
DELETE FROM workers k WHERE k.lease_until < now() - interval '1 hour'
""")

# Such an item probably kills its workers. After `max_claims` claims it fails, and gets a row in `results`.
_GIVE_UP = text("""
WITH poison AS (
    UPDATE item_states i
    SET state = 'failed', worker = NULL,
        lost_claims = i.lost_claims + CASE WHEN i.state = 'running' THEN 1 ELSE 0 END  -- of a pending one it is counted
    FROM shards s JOIN batches b ON b.id = s.batch_id AND b.round = s.round AND b.state IN ('running', 'paused')
    WHERE s.state <> 'aggregated' AND s.dispatched_at IS NOT NULL  -- also if it waits for another dispatch
      AND i.batch_id = s.batch_id AND i.idx >= s.first_idx AND i.idx < s.end_idx
      AND i.attempts >= :max_claims
      AND (i.state = 'pending' OR (i.state = 'running' AND NOT EXISTS (
              SELECT FROM workers k WHERE k.id = i.worker AND k.lease_until > now())))
    RETURNING i.batch_id, i.idx, i.fence, b.round, i.attempts
)
INSERT INTO results (batch_id, idx, fence, round, error_kind, error, prompt_tokens, completion_tokens, calls)
SELECT batch_id, idx, fence, round, 'attempts_exhausted',
       format('claimed %s times, and each time the worker died before a result', attempts), 0, 0, 0
FROM poison
ON CONFLICT (batch_id, idx) DO UPDATE SET
    fence = EXCLUDED.fence, round = EXCLUDED.round, error_kind = EXCLUDED.error_kind, error = EXCLUDED.error,
    value = NULL, detail = NULL, created_at = now()
RETURNING batch_id, idx
""")

_RELEASE_DEAD = text("""
UPDATE item_states i SET state = 'pending', worker = NULL, republished_at = now(), lost_claims = i.lost_claims + 1
FROM shards s JOIN batches b ON b.id = s.batch_id AND b.round = s.round
WHERE s.state <> 'aggregated' AND s.dispatched_at IS NOT NULL  -- also if it waits for another dispatch
      AND i.batch_id = s.batch_id AND i.idx >= s.first_idx AND i.idx < s.end_idx
  AND i.state = 'running'
  AND NOT EXISTS (SELECT FROM workers k WHERE k.id = i.worker AND k.lease_until > now())
RETURNING i.batch_id, b.operation, b.state AS batch_state, i.idx, i.item_id
""")

# No item of a cancelled batch stays pending, even if a worker held it at the cancellation.
_CANCEL_RELEASED = text("""
UPDATE item_states i SET state = 'cancelled'
FROM batches b
WHERE b.state = 'cancelled' AND b.finished_at IS NULL AND i.batch_id = b.id AND i.state = 'pending'
""")

_UNFINISHED = text("""
SELECT b.id FROM batches b
WHERE b.state = 'cancelled' AND b.finished_at IS NULL
  AND NOT EXISTS (SELECT FROM item_states i WHERE i.batch_id = b.id AND i.state IN ('pending', 'running'))
ORDER BY b.created_at
""")

_LOST = text("""
WITH published AS (
    SELECT i.batch_id, b.operation, b.priority, coalesce(b.lane, 0) AS lane, i.idx, i.item_id, i.state, i.claimed_at,
           greatest(s.dispatched_at, i.republished_at) AS begun_at,
           greatest(s.published_at, i.republished_at) AS published_at  -- null while its shard is being published
    FROM shards s
    JOIN batches b ON b.id = s.batch_id AND b.round = s.round AND b.state = 'running'
    JOIN item_states i ON i.batch_id = s.batch_id AND i.idx >= s.first_idx AND i.idx < s.end_idx
    WHERE s.state = 'dispatched'
), waiting AS (  -- of each queue, the publication that has waited longest
    SELECT priority, lane, min(begun_at) AS since FROM published
    WHERE state = 'pending' AND begun_at < now() - make_interval(secs => :grace)
    GROUP BY priority, lane
), reached AS (  -- of each such queue, the begin of the latest publication of which something was claimed a while ago
    SELECT priority, lane, greatest(
        (SELECT max(p.begun_at) FROM published p
         WHERE p.priority = q.priority AND p.lane = q.lane
           AND p.claimed_at >= p.begun_at AND p.claimed_at < now() - make_interval(secs => :grace)),
        (SELECT s.dispatched_at FROM shards s JOIN batches b ON b.id = s.batch_id
         WHERE s.state = 'aggregated' AND s.dispatched_at > q.since
           AND s.aggregated_at < now() - make_interval(secs => :grace)
           AND s.aggregated_at > now() - interval '1 day'
           AND b.priority = q.priority AND coalesce(b.lane, 0) = q.lane
         ORDER BY s.dispatched_at DESC LIMIT 1)
    ) AS upto FROM waiting q
), lost AS (
    SELECT p.* FROM published p LEFT JOIN reached r USING (priority, lane)
    WHERE p.state = 'pending' AND p.begun_at < now() - make_interval(secs => :grace)
      AND (p.published_at < r.upto  -- its last message was behind the first message of a later publication
           OR (p.priority, p.lane) IN (SELECT * FROM unnest(CAST(:priorities AS text[]), CAST(:lanes AS int[]))))
)
UPDATE item_states i SET republished_at = now() FROM lost
WHERE i.batch_id = lost.batch_id AND i.idx = lost.idx AND i.state = 'pending'
RETURNING i.batch_id, lost.operation, i.idx, i.item_id
""")

_UNCLOSED = text("""
SELECT s.batch_id, s.round, s.shard, b.traceparent
FROM shards s JOIN batches b ON b.id = s.batch_id AND b.round = s.round AND b.state IN ('running', 'paused')
WHERE s.state = 'dispatched' AND s.dispatched_at < now() - make_interval(secs => :grace)
  AND NOT EXISTS (SELECT FROM item_states i WHERE i.batch_id = s.batch_id
                  AND i.idx >= s.first_idx AND i.idx < s.end_idx AND i.state IN ('pending', 'running'))
ORDER BY s.batch_id, s.shard
""")

_UNDISPATCHED = text("""
SELECT b.id FROM batches b
WHERE b.finished_at IS NULL AND b.state IN ('pending', 'running')
  AND b.created_at < now() - make_interval(secs => :grace)
  AND EXISTS (SELECT FROM shards s WHERE s.batch_id = b.id AND s.round = b.round AND s.state = 'waiting')
  AND (SELECT count(*) FROM shards s WHERE s.batch_id = b.id AND s.round = b.round AND s.state = 'dispatched')
      < b.window_size
ORDER BY b.created_at
""")

_UNADVANCED = text("""
SELECT b.id FROM reviews r JOIN batches b ON b.review_id = r.id
WHERE r.finished_at IS NULL AND b.state = 'completed' AND b.finished_at < now() - make_interval(secs => :grace)
  AND NOT EXISTS (SELECT FROM batches later WHERE later.review_id = r.id AND later.stage > b.stage)
ORDER BY b.finished_at
""")


async def give_up_poison(connection: AsyncConnection, *, max_claims: int) -> int:
    """Fail the items that were claimed `max_claims` times without a result, and return their number.

    Also delete the workers whose leases expired more than an hour ago.
    """
    await connection.execute(_FORGET_WORKERS)
    return len((await connection.execute(_GIVE_UP, {"max_claims": max_claims})).all())


async def release_dead(connection: AsyncConnection) -> Sequence[LostItem]:
    """Release the claims of workers with an expired lease, and return the items that need new messages.

    Only items of running batches need new messages. Released items of paused batches stay pending until the resume.
    Released items of cancelled batches become cancelled.
    """
    rows = (await connection.execute(_RELEASE_DEAD)).all()
    await connection.execute(_CANCEL_RELEASED)
    return [LostItem(r.batch_id, r.operation, r.idx, r.item_id) for r in rows if r.batch_state == "running"]


async def find_lost(
    connection: AsyncConnection, *, grace: float, empty: Collection[wire.ItemQueue]
) -> Sequence[LostItem]:
    """Return the pending items whose messages are lost, and mark the items as published now.

    `empty`: the queues without messages. A message is lost if its queue is empty, or if an item further back in the
    queue was claimed more than `grace` seconds ago. A message younger than `grace` seconds never counts as lost.
    """
    rows = await connection.execute(
        _LOST, {"grace": grace, "priorities": [q.priority.value for q in empty], "lanes": [q.lane for q in empty]}
    )
    return [LostItem(r.batch_id, r.operation, r.idx, r.item_id) for r in rows]


async def find_unclosed(connection: AsyncConnection, *, grace: float) -> Sequence[OpenShard]:
    """Return the shards that are open `grace` seconds after their dispatch, although all their items have ended."""
    rows = await connection.execute(_UNCLOSED, {"grace": grace})
    return [OpenShard(r.batch_id, r.round, r.shard, r.traceparent) for r in rows]


async def find_unfinished(connection: AsyncConnection) -> Sequence[UUID]:
    """Return the cancelled batches that have no summary, although all their items have ended."""
    return (await connection.execute(_UNFINISHED)).scalars().all()


async def find_undispatched(connection: AsyncConnection, *, grace: float) -> Sequence[UUID]:
    """Return the unfinished batches that may dispatch more of their waiting shards.

    The column `window_size` limits the dispatched shards of a batch. `grace`: minimum age of a batch, in seconds.
    """
    return (await connection.execute(_UNDISPATCHED, {"grace": grace})).scalars().all()


async def find_unadvanced(connection: AsyncConnection, *, grace: float) -> Sequence[UUID]:
    """Return the completed batches of unfinished reviews whose next stage has not begun.

    `grace`: minimum time since the batch's end, in seconds.
    """
    return (await connection.execute(_UNADVANCED, {"grace": grace})).scalars().all()
