"""Cancelled items, and claims that a worker returns without an outcome.

This module cancels single items while their batch continues. The producer cancels whole batches. If a worker or batch
stops before an item has a result, the worker returns the item's claim. The cost of the calls so far stays in the item's
bill: a row in `results` with round 0, a number that no batch uses. Later costs of the item are added to that row.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import BatchStatus, Provenance

from .claims import Claim, ItemKey, item_arrays, item_keys
from .connection import transaction
from .outcomes import CallsOfClaim, KnownPrompts, TranscribedClaim, prompt_rows, transcript_rows

# Rows that another transaction is writing are skipped: they are being claimed, or cancelled by another worker.
_CANCEL_WAITING = """
    AND i.state = 'pending' AND b.finished_at IS NULL AND b.purging_at IS NULL
    ORDER BY i.batch_id, i.idx
    FOR UPDATE OF i SKIP LOCKED
)
UPDATE item_states i SET state = 'cancelled' FROM waiting
WHERE i.batch_id = waiting.batch_id AND i.idx = waiting.idx
RETURNING i.batch_id, i.idx
"""
_ITEMS = text(f"""
WITH waiting AS (
    SELECT i.batch_id, i.idx
    FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[])) AS w(batch_id, idx)
    JOIN item_states i USING (batch_id, idx) JOIN batches b ON b.id = i.batch_id
    WHERE i.batch_id = w.batch_id
{_CANCEL_WAITING}
""")  # noqa: S608 - put together from constants
_BATCHES = text(f"""
WITH waiting AS (
    SELECT i.batch_id, i.idx FROM item_states i JOIN batches b ON b.id = i.batch_id
    WHERE i.batch_id = ANY(CAST(:batch_ids AS uuid[]))
{_CANCEL_WAITING}
""")  # noqa: S608 - put together from constants

# The batches stay locked until the items are returned. If a batch was resumed before, the items are published here. If
# the batch is resumed afterwards, the resume publishes the items.
_STATES = text("SELECT id, state FROM batches WHERE id = ANY(CAST(:batch_ids AS uuid[])) ORDER BY id FOR SHARE")
_GIVEN = """
FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[]), CAST(:fences AS int[])) AS r(batch_id, idx, fence)
WHERE i.batch_id = r.batch_id AND i.idx = r.idx AND i.fence = r.fence
"""
_GIVE_BACK = text(f"""
UPDATE item_states i SET state = 'pending', worker = NULL, attempts = i.attempts - 1, republished_at = now()
{_GIVEN} AND i.state = 'running'
RETURNING i.batch_id, i.idx
""")  # noqa: S608 - put together from constants
_CANCEL = text(f"UPDATE item_states i SET state = 'cancelled' {_GIVEN} AND i.state = 'pending'")  # noqa: S608 - as above

# A bill only: no value, error, model or prompt, so that nothing counts it as an answer.
_BILL = text("""
INSERT INTO results (batch_id, idx, fence, round, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens,
                     reasoning_tokens, cost, calls, unanswered)
SELECT * FROM json_to_recordset(CAST(:bills AS json)) AS r(
    batch_id uuid, idx int, fence int, round int, prompt_tokens bigint, completion_tokens bigint, cached_tokens bigint,
    cache_write_tokens bigint, reasoning_tokens bigint, cost numeric, calls int, unanswered int)
ON CONFLICT (batch_id, idx) DO UPDATE SET
    prompt_tokens = results.prompt_tokens + EXCLUDED.prompt_tokens,
    completion_tokens = results.completion_tokens + EXCLUDED.completion_tokens,
    cached_tokens = results.cached_tokens + EXCLUDED.cached_tokens,
    cache_write_tokens = results.cache_write_tokens + EXCLUDED.cache_write_tokens,
    reasoning_tokens = results.reasoning_tokens + EXCLUDED.reasoning_tokens,
    cost = CASE WHEN results.calls = 0 THEN EXCLUDED.cost ELSE results.cost + EXCLUDED.cost END,
    calls = results.calls + EXCLUDED.calls,
    unanswered = results.unanswered + EXCLUDED.unanswered
""")

_TRANSCRIBE = text("""
WITH common AS (
    INSERT INTO prompts (batch_id, sha256, text)
    SELECT p.batch_id, p.sha256, p.text
    FROM json_to_recordset(CAST(:prompts AS json)) AS p(batch_id uuid, sha256 text, text text)
    ON CONFLICT DO NOTHING
)
INSERT INTO transcripts (batch_id, idx, fence, round, calls)
SELECT t.batch_id, t.idx, t.fence, b.round, t.calls
FROM json_to_recordset(CAST(:transcripts AS json)) AS t(batch_id uuid, idx int, fence int, calls json)
JOIN batches b ON b.id = t.batch_id
ON CONFLICT DO NOTHING
""")


async def cancel_items(engine: AsyncEngine, keys: Sequence[ItemKey]) -> Sequence[bool]:
    """Cancel the waiting items among `keys`.

    Return one flag for each key, in the order of `keys`: True if the item was cancelled. Raise `LedgerUnavailable` if
    Postgres does not answer.
    """
    async with transaction(engine) as connection:
        cancelled = item_keys(await connection.execute(_ITEMS, item_arrays(keys)))
    return [key in cancelled for key in keys]


async def cancel_waiting(engine: AsyncEngine, batch_ids: Collection[UUID]) -> int:
    """Cancel all waiting items of these batches, and return their number.

    Raise `LedgerUnavailable` if Postgres does not answer.
    """
    async with transaction(engine) as connection:
        return len((await connection.execute(_BATCHES, {"batch_ids": list(batch_ids)})).all())


async def give_back(
    engine: AsyncEngine,
    claims: Sequence[Claim],
    paid: Sequence[Provenance] = (),
    transcripts: Sequence[CallsOfClaim | None] = (),
    cancelled: Sequence[bool] = (),
) -> Sequence[bool]:
    """Make the items of `claims` pending again, as if never claimed. Items of cancelled batches become cancelled.

    Return one flag for each claim, in order: True if its item needs a new message now. An item of a paused batch gets
    its message when the batch is resumed.

    Args:
        engine: the ledger.
        claims: the claims to return. If another worker has taken over a claim, nothing is recorded for it.
        paid: the bill of each claim; empty if nothing was paid.
        transcripts: the recorded calls of each claim; empty if no calls were recorded.
        cancelled: for each claim, True if its item becomes cancelled although the batch continues; empty if none does.

    Raises:
        LedgerUnavailable: Postgres does not answer.
    """
    async with transaction(engine) as connection:
        batch_ids = list({claim.key.batch_id for claim in claims})
        states = {row.id: row.state for row in await connection.execute(_STATES, {"batch_ids": batch_ids})}
        returned = item_keys(await connection.execute(_GIVE_BACK, _arguments(claims)))
        paid_for = zip(claims, paid, strict=False)
        bills = [_bill(claim, bill) for claim, bill in paid_for if bill.calls and claim.key in returned]
        if bills:
            await connection.execute(_BILL, {"bills": json.dumps(bills, default=str)})
        transcribed = [
            TranscribedClaim(claim, transcript)
            for claim, transcript in zip(claims, transcripts, strict=False)
            if transcript and claim.key in returned
        ]
        if transcribed:
            prompts = prompt_rows(KnownPrompts().new(transcribed))
            await connection.execute(_TRANSCRIBE, {"transcripts": transcript_rows(transcribed), "prompts": prompts})
        ends = list(cancelled) or [False] * len(claims)
        over = [states.get(claim.key.batch_id) == BatchStatus.CANCELLED for claim in claims]
        to_cancel = [claim for claim, *ended in zip(claims, ends, over, strict=True) if any(ended)]
        if to_cancel:
            await connection.execute(_CANCEL, _arguments(to_cancel))
    running = [states.get(claim.key.batch_id) == BatchStatus.RUNNING for claim in claims]
    return [runs and not ended for runs, ended in zip(running, ends, strict=True)]


def _bill(claim: Claim, paid: Provenance) -> dict[str, object]:
    return {
        **claim.columns,
        "round": 0,
        **asdict(paid.usage),
        "cost": paid.cost,
        "calls": paid.calls,
        "unanswered": paid.unanswered,
    }


def _arguments(claims: Sequence[Claim]) -> dict[str, object]:
    return item_arrays([claim.key for claim in claims]) | {"fences": [claim.fence for claim in claims]}
