"""Returns: claims given back by a worker that stops, before anything was asked for them."""

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from .claims import Claim
from .connection import transaction

_GIVE_BACK = text("""
UPDATE items i SET state = 'pending', worker = NULL, attempts = i.attempts - 1, republished_at = now()
FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[]), CAST(:fences AS int[])) AS r(batch_id, idx, fence)
WHERE i.batch_id = r.batch_id AND i.idx = r.idx AND i.fence = r.fence AND i.state = 'running'
""")


async def give_back(engine: AsyncEngine, claims: Sequence[Claim]) -> Sequence[None]:
    """Make the items pending again, as if they had not been claimed. Raises `LedgerUnavailable`."""
    async with transaction(engine) as connection:
        await connection.execute(
            _GIVE_BACK,
            {
                "batch_ids": [claim.key.batch_id for claim in claims],
                "indexes": [claim.key.index for claim in claims],
                "fences": [claim.fence for claim in claims],
            },
        )
    return [None for _ in claims]
