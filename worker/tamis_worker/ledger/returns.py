"""Returns: claims given back by a worker that stops, or whose batch no longer runs, before they came to a result."""

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import BatchStatus

from .claims import Claim
from .connection import transaction

# Held until the items are given back: a resume comes before, and they are published, or after, and publishes them.
_STATES = text("SELECT id, state FROM batches WHERE id = ANY(CAST(:batch_ids AS uuid[])) ORDER BY id FOR SHARE")
_GIVEN = """
FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[]), CAST(:fences AS int[])) AS r(batch_id, idx, fence)
WHERE i.batch_id = r.batch_id AND i.idx = r.idx AND i.fence = r.fence
"""
_GIVE_BACK = text(f"""
UPDATE items i SET state = 'pending', worker = NULL, attempts = i.attempts - 1, republished_at = now()
{_GIVEN} AND i.state = 'running'
""")  # noqa: S608 - put together from constants
_CANCEL = text(f"UPDATE items i SET state = 'cancelled' {_GIVEN} AND i.state = 'pending'")  # noqa: S608 - as above


async def give_back(engine: AsyncEngine, claims: Sequence[Claim]) -> Sequence[bool]:
    """Make the items pending again, as if they had not been claimed; those of cancelled batches become cancelled.

    For each claim in order, whether its item needs a new message: that of a paused batch gets one when it is resumed.
    Raises `LedgerUnavailable`.
    """
    async with transaction(engine) as connection:
        batch_ids = list({claim.key.batch_id for claim in claims})
        states = {row.id: row.state for row in await connection.execute(_STATES, {"batch_ids": batch_ids})}
        await connection.execute(_GIVE_BACK, _arguments(claims))
        cancelled = [claim for claim in claims if states.get(claim.key.batch_id) == BatchStatus.CANCELLED]
        if cancelled:
            await connection.execute(_CANCEL, _arguments(cancelled))
    return [states.get(claim.key.batch_id) == BatchStatus.RUNNING for claim in claims]


def _arguments(claims: Sequence[Claim]) -> dict[str, object]:
    return {
        "batch_ids": [claim.key.batch_id for claim in claims],
        "indexes": [claim.key.index for claim in claims],
        "fences": [claim.fence for claim in claims],
    }
