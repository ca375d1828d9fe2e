"""Cancellations of items that wait, while their batch goes on; a whole batch is cancelled by the producer."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from .claims import ItemKey
from .connection import transaction

# A row that somebody else is just writing is not waited for: it is being claimed, or cancelled by another worker.
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


async def cancel_items(engine: AsyncEngine, keys: Sequence[ItemKey]) -> Sequence[bool]:
    """Cancel those of the items that wait; for each in order, whether it did. Raises `LedgerUnavailable`."""
    arguments = {"batch_ids": [key.batch_id for key in keys], "indexes": [key.index for key in keys]}
    async with transaction(engine) as connection:
        cancelled = {(row.batch_id, row.idx) for row in await connection.execute(_ITEMS, arguments)}
    return [(key.batch_id, key.index) in cancelled for key in keys]


async def cancel_waiting(engine: AsyncEngine, batch_ids: Collection[UUID]) -> int:
    """Cancel whatever waits of some batches, which go on with what does not; how many. Raises `LedgerUnavailable`."""
    async with transaction(engine) as connection:
        return len((await connection.execute(_BATCHES, {"batch_ids": list(batch_ids)})).all())
