"""The outbox: the ledger's table of the webhooks to send.

Triggers write the table's rows in the transactions that change batches. This module claims rows for one worker at a
time, and records their delivery or failure. All times are by the database's clock.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, and_, delete, func, null, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tamis_schemas import BatchEvent, Counts, ItemStatus
from tamis_schemas.batches.callback import SCHEME
from tamis_schemas.ledger import batches, summaries, tallies, webhooks
from tamis_schemas.ledger.tables import WebhookState

from ..ledger.connection import transaction
from .schedule import DeliveryDecision

CLAIMED_FOR = 60  # s; longer than one try, so another worker sends the webhook of a dead worker
OF_ONE_RECEIVER = 2  # webhooks at a time, of all workers together: a slow receiver leaves room for the others
TASKS = f"{SCHEME}:%"  # addresses of tasks, sent through the broker
LEAST_ENDED = 20  # finished items before a running batch can count as failing: a failure among two means little
SWEEP_LOCK = 7_264_953  # a Postgres advisory lock: one worker counts failures at a time

# Of two concurrent claims, the second skips rows that the first has locked, and counts its claims.
_CLAIM = text("""
WITH placed AS (
    SELECT id, row_number() OVER (
        PARTITION BY split_part(url, '/', 3) ORDER BY coalesce(claimed_until > now(), false) DESC, next_at, id
    ) AS place
    FROM webhooks WHERE state = 'waiting' AND (next_at <= now() OR claimed_until > now())
      AND (:signed OR url LIKE :tasks)
), due AS MATERIALIZED (
    SELECT w.id FROM webhooks w JOIN placed USING (id)
    WHERE w.state = 'waiting' AND w.next_at <= now() AND coalesce(w.claimed_until <= now(), true)
      AND placed.place <= :of_one_receiver
    ORDER BY w.next_at, w.id LIMIT :most FOR UPDATE OF w SKIP LOCKED
)
UPDATE webhooks w SET claimed_until = now() + make_interval(secs => :claimed_for), tries = w.tries + 1
FROM due WHERE w.id = due.id
RETURNING w.id, w.batch_id, w.round, w.type, w.url, w.data, w.body, w.tries, w.created_at
""")

_TELL_FAILING = text("""
SELECT tell_of_batch(b, :event)
FROM (SELECT DISTINCT batch_id FROM shards WHERE state <> 'aggregated') unfinished
JOIN batches b ON b.id = unfinished.batch_id
JOIN LATERAL (
    SELECT sum(t.failed) AS failed, sum(t.failed + t.decided) AS ended FROM tallies t WHERE t.batch_id = b.id
) c ON c.ended >= :least AND c.failed > (b.callback ->> 'failed_share')::double precision * c.ended
WHERE b.state IN ('running', 'paused') AND webhook_wanted(b.callback, :event)
  AND NOT EXISTS (SELECT FROM webhooks w WHERE w.batch_id = b.id AND w.round = b.round AND w.type = :event)
""")


@dataclass(frozen=True)
class Claimed:
    """A webhook for this worker to send. Other workers cannot send the webhook until the claim expires."""

    id: UUID
    url: str
    body: str
    tries: int  # tries begun so far, including this try


async def claim(engine: AsyncEngine, most: int, *, signed: bool = True) -> list[Claimed]:
    """Claim up to `most` due webhooks, and return them with their bodies.

    Raise `LedgerUnavailable` if Postgres does not answer. All tries of a webhook have the same body. `signed`: False if
    there is no secret for signatures. Then only Celery tasks, which need no signature, are claimed.
    """
    places = {"most": most, "of_one_receiver": OF_ONE_RECEIVER}
    parameters = {**places, "claimed_for": CLAIMED_FOR, "signed": signed, "tasks": TASKS}
    async with transaction(engine) as connection:
        rows = (await connection.execute(_CLAIM, parameters)).all()
        return [Claimed(row.id, row.url, row.body or await _written(connection, row), row.tries) for row in rows]


async def finish(engine: AsyncEngine, sent: Claimed, status: int | None, decision: DeliveryDecision) -> None:
    """Record the result of a try.

    If Postgres does not answer, raise `LedgerUnavailable`. The webhook is then sent once more.

    A success is always recorded. A failure is recorded only if no later try or replay has begun.
    """
    w = webhooks.c
    values: dict[str, Any] = {"last_at": func.now(), "last_status": status, "last_said": decision.said}
    if decision.wait is None:
        state = WebhookState.DELIVERED if decision.delivered else WebhookState.GIVEN_UP
        values |= {"state": state.value, "ended_at": func.now()}
    else:
        values["next_at"] = func.now() + func.make_interval(0, 0, 0, 0, 0, 0, decision.wait)
    latest = and_(w.id == sent.id, w.state == WebhookState.WAITING)
    if not decision.delivered:
        latest = and_(latest, w.tries == sent.tries)
    async with transaction(engine) as connection:
        await connection.execute(update(webhooks).where(latest).values(claimed_until=null(), **values))


async def say_why_they_wait(engine: AsyncEngine, reason: str) -> int:
    """Store `reason` in due webhooks that need a signature.

    Return how many webhooks did not have this reason before. Raise `LedgerUnavailable` if Postgres does not answer.
    """
    w = webhooks.c
    due = and_(w.state == WebhookState.WAITING, w.next_at <= func.now(), w.last_said.is_distinct_from(reason))
    due = and_(due, w.url.not_like(TASKS))
    async with transaction(engine) as connection:
        return (await connection.execute(update(webhooks).where(due).values(last_said=reason))).rowcount


async def tell_failing(engine: AsyncEngine) -> int:
    """Write a webhook for each open batch with too many failures, once for each round. Return the number of webhooks.

    If another worker is doing the same, nothing is written. Raise `LedgerUnavailable` if Postgres does not answer.
    """
    async with transaction(engine) as connection:
        if not (await connection.execute(select(func.pg_try_advisory_xact_lock(SWEEP_LOCK)))).scalar_one():
            return 0
        parameters = {"event": BatchEvent.FAILING.value, "least": LEAST_ENDED}
        return len((await connection.execute(_TELL_FAILING, parameters)).all())


async def prune(connection: AsyncConnection, *, days: float) -> int:
    """Delete webhooks that were delivered or given up more than `days` days ago, and return their number."""
    w = webhooks.c
    old = func.now() - func.make_interval(0, 0, 0, 0, 0, 0, days * 86_400)
    return (await connection.execute(delete(webhooks).where(w.ended_at < old))).rowcount


async def _written(connection: AsyncConnection, row: Row[Any]) -> str:
    """Store the body of a webhook before its first try, and return the body."""
    data = dict(row.data)
    if row.batch_id is not None:
        data["counts"] = (await _counts(connection, row)).model_dump(mode="json")
    body = body_of(row.type, row.created_at.astimezone(UTC), data)
    if row.url.startswith(f"{SCHEME}:"):
        task = select(batches.c.callback["task"]).where(batches.c.id == row.batch_id)
        body = json.dumps({"task": (await connection.execute(task)).scalar_one(), "data": data}, ensure_ascii=False)
    await connection.execute(update(webhooks).where(webhooks.c.id == row.id).values(body=body))
    return body


def body_of(event: str, at: datetime, data: dict[str, Any]) -> str:
    """Return a body in the format of Standard Webhooks."""
    timestamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"type": event, "timestamp": timestamp, "data": data}, ensure_ascii=False)


async def _counts(connection: AsyncConnection, row: Row[Any]) -> Counts:
    """Return the counts for a webhook: the round's summary for the event `completed`, otherwise the present counts."""
    written = select(summaries.c.summary["counts"]).where(
        summaries.c.batch_id == row.batch_id, summaries.c.round == row.round
    )
    if row.type == BatchEvent.COMPLETED:
        counts = (await connection.execute(written)).scalar_one_or_none()
        if counts is not None:
            return Counts.model_validate(counts)
    c = tallies.c
    sums = (func.coalesce(func.sum(c[status.value]), 0).label(status.value) for status in ItemStatus)
    counted = (await connection.execute(select(*sums).where(c.batch_id == row.batch_id))).one()
    n = {name: int(count) for name, count in counted._mapping.items()}
    return Counts(n_items=sum(n.values()), **n)
