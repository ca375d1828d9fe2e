"""Pauses: a batch that cannot go on is paused by the worker that finds it out, and no worker goes on with it.

What else is decided about a batch elsewhere is read with it: its priority.
"""

from collections.abc import Callable, Collection, Mapping
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import BatchStatus, Pause, Priority
from tamis_schemas.ledger import batches

from .connection import transaction


async def pause(engine: AsyncEngine, batch_id: UUID, pause: Pause, *, redact: Callable[[str], str] = str) -> bool:
    """Pause a batch that runs; False where it does not: what is there stands. Raises `LedgerUnavailable`.

    `redact` takes secrets out of the message: an endpoint may say back what it was sent.
    """
    shown = pause.model_copy(update={"message": pause.message and redact(pause.message)})
    statement = (
        update(batches)
        .where(batches.c.id == batch_id, batches.c.state == BatchStatus.RUNNING)
        .values(state=BatchStatus.PAUSED, pause=shown.model_dump(mode="json"))
        .returning(batches.c.id)
    )
    async with transaction(engine) as connection:
        return (await connection.execute(statement)).one_or_none() is not None


async def running(engine: AsyncEngine, batch_ids: Collection[UUID]) -> Mapping[UUID, Priority]:
    """Those of the batches that run, with their priorities; the others are paused, ended or gone.

    Raises `LedgerUnavailable`.
    """
    c = batches.c
    statement = select(c.id, c.priority).where(c.id.in_(batch_ids), c.state == BatchStatus.RUNNING)
    async with transaction(engine) as connection:
        return {row.id: Priority(row.priority) for row in await connection.execute(statement)}
