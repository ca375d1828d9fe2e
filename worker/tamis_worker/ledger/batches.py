"""The terms that all items of a batch share: operation, model, priority and options for calls. Also pauses of batches.

Of the terms, only the priority can change, so the others are read once. `BatchConfigCache.follow` receives new
priorities.

If a batch cannot continue, a worker pauses the batch in the ledger. Then all workers stop evaluating the batch's items.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import (
    NO_STEERING,
    BatchStatus,
    LedgerUnavailable,
    Operation,
    Pause,
    Priority,
    Steering,
    parse_operation,
)
from tamis_schemas.ledger import batches

from .connection import transaction

REMEMBERED = 200  # batches
RETRY = 1.0  # s

log = logging.getLogger(__name__)


@dataclass
class BatchTerms:
    """The terms of a batch: its operation, model, priority and options for calls.

    All items of the batch share one object, so a changed priority reaches all items.
    """

    batch_id: UUID
    operation: Operation
    model: str | None  # None: the worker's default model
    use_cache: bool = True
    priority: Priority = Priority.NORMAL
    budgeted: bool = False  # True: the batch has a `max_cost`, whose amount may change
    traceparent: str | None = None  # of the trace of its submission; None: no trace
    steering: Steering = NO_STEERING  # options for calls: the batch's own, otherwise the worker's


@dataclass(eq=False)
class BatchConfigCache:
    """A cache of the terms of the latest batches. `steering` contains the worker's own options for model calls."""

    engine: AsyncEngine
    steering: Steering = NO_STEERING
    _reads: dict[UUID, asyncio.Task[BatchTerms]] = field(init=False, default_factory=dict)

    def expect(self, batch_id: UUID) -> "asyncio.Task[BatchTerms]":
        """Return the task that reads the terms of a batch. If there is no such task yet, start it."""
        if (existing := self._reads.get(batch_id)) is not None:
            return existing
        if len(self._reads) >= REMEMBERED:
            self._reads.pop(next(iter(self._reads)))
        reading = self._reads[batch_id] = asyncio.create_task(self._read(batch_id))
        reading.add_done_callback(lambda ended: self._forget_failed(batch_id, ended))
        return reading

    async def of(self, batch_id: UUID) -> BatchTerms:
        """Return the terms of a batch.

        While the ledger is unreachable, wait. Raise `InvalidParameters` if this release cannot read the operation.
        """
        return await asyncio.shield(self.expect(batch_id))  # other items of the batch wait for the same task

    def _forget_failed(self, batch_id: UUID, ended: "asyncio.Task[BatchTerms]") -> None:
        if ended.cancelled() or ended.exception() is not None:
            self._reads.pop(batch_id, None)

    def follow(self, priorities: Mapping[UUID, Priority]) -> Collection[UUID]:
        """Set the present priorities of the cached batches. Return the ids of batches whose priority has changed."""
        changed = []
        for batch_id, priority in priorities.items():
            read = self._reads.get(batch_id)
            if read is None or not read.done() or read.exception() is not None:
                continue
            if read.result().priority is not priority:
                read.result().priority = priority
                changed.append(batch_id)
        return changed

    async def _read(self, batch_id: UUID) -> BatchTerms:
        c = batches.c
        columns = (c.params, c.model, c.use_cache, c.priority, c.max_cost, c.traceparent, c.steering)
        while True:
            try:
                async with transaction(self.engine) as connection:
                    row = (await connection.execute(select(*columns).where(c.id == batch_id))).one()
                break
            except LedgerUnavailable as error:
                log.debug("batch=%s: its items wait for the ledger: %s", batch_id, error)
                await asyncio.sleep(RETRY)
        return BatchTerms(
            batch_id,
            parse_operation(row.params),
            row.model,
            row.use_cache,
            Priority(row.priority),
            budgeted=row.max_cost is not None,
            traceparent=row.traceparent,
            steering=Steering.model_validate(row.steering or {}).over(self.steering),
        )


async def pause_batch(engine: AsyncEngine, batch_id: UUID, pause: Pause, *, redact: Callable[[str], str] = str) -> bool:
    """Pause a running batch, and return True. If the batch is not running, return False.

    Raise `LedgerUnavailable` if Postgres does not answer. `redact` removes secrets from the message, because an
    endpoint may repeat the request in its message.
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


async def running_batches(engine: AsyncEngine, batch_ids: Collection[UUID]) -> Mapping[UUID, Priority]:
    """Return the running batches among `batch_ids`, each with its priority.

    Raise `LedgerUnavailable` if Postgres does not answer.
    """
    c = batches.c
    statement = select(c.id, c.priority).where(c.id.in_(batch_ids), c.state == BatchStatus.RUNNING)
    async with transaction(engine) as connection:
        return {row.id: Priority(row.priority) for row in await connection.execute(statement)}
