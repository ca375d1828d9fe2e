"""Pauses: a batch that cannot go on is paused by the worker that finds it out, and no worker goes on with it."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import BatchStatus, Pause
from tamis_schemas.ledger import batches

from .connection import transaction


async def pause(engine: AsyncEngine, batch_id: UUID, pause: Pause) -> bool:
    """Pause a batch that runs; False where it does not: what is there stands. Raises `LedgerUnavailable`."""
    statement = (
        update(batches)
        .where(batches.c.id == batch_id, batches.c.state == BatchStatus.RUNNING)
        .values(state=BatchStatus.PAUSED, pause=pause.model_dump(mode="json"))
        .returning(batches.c.id)
    )
    async with transaction(engine) as connection:
        return (await connection.execute(statement)).one_or_none() is not None


async def not_running(engine: AsyncEngine, batch_ids: Collection[UUID]) -> Collection[UUID]:
    """Those of the batches that are paused, cancelled or gone. Raises `LedgerUnavailable`."""
    statement = select(batches.c.id).where(batches.c.id.in_(batch_ids), batches.c.state == BatchStatus.RUNNING)
    async with transaction(engine) as connection:
        running = set((await connection.execute(statement)).scalars())
    return set(batch_ids) - running
