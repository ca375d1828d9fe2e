"""The terms that every item of a batch shares: its operation, its model and its means. And pauses.

Only the priority ever changes, so the rest is read once; `BatchConfigCache.follow` is told of the priority.

A batch that cannot go on is paused by the worker that finds it out, and no worker goes on with it. The batches that run
are read together with their priorities.
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
    """The question, the model and the means of a batch; one object for all items, as its priority may change."""

    batch_id: UUID
    operation: Operation
    model: str | None  # None: the worker's own
    use_cache: bool = True
    priority: Priority = Priority.NORMAL
    budgeted: bool = False  # whether it has a `max_cost`: how much may change, that there is one may not
    traceparent: str | None = None  # of the trace that it was submitted in; None: in none
    steering: Steering = NO_STEERING  # the batch's over the worker's own


@dataclass(eq=False)
class BatchConfigCache:
    """Looks terms up by batch and remembers the last ones.

    `steering` is the worker's own.
    """

    engine: AsyncEngine
    steering: Steering = NO_STEERING
    _known: dict[UUID, BatchTerms] = field(init=False, default_factory=dict)

    async def of(self, batch_id: UUID) -> BatchTerms:
        """The terms of a batch that is in the ledger; waits for a ledger that is away. Raises `InvalidParameters`."""
        if (known := self._known.get(batch_id)) is not None:
            return known
        while True:
            try:
                terms = await self._read(batch_id)
                break
            except LedgerUnavailable as error:
                log.debug("batch=%s: its items wait for the ledger: %s", batch_id, error)
                await asyncio.sleep(RETRY)
        if len(self._known) >= REMEMBERED:
            self._known.pop(next(iter(self._known)))
        self._known[batch_id] = terms
        return terms

    def follow(self, priorities: Mapping[UUID, Priority]) -> Collection[UUID]:
        """Take on the priorities that batches have now; those whose priority was another one until now."""
        changed = []
        for batch_id, priority in priorities.items():
            terms = self._known.get(batch_id)
            if terms is not None and terms.priority is not priority:
                terms.priority = priority
                changed.append(batch_id)
        return changed

    async def _read(self, batch_id: UUID) -> BatchTerms:
        async with transaction(self.engine) as connection:
            c = batches.c
            statement = select(c.params, c.model, c.use_cache, c.priority, c.max_cost, c.traceparent, c.steering).where(
                c.id == batch_id
            )
            row = (await connection.execute(statement)).one()
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


async def running_batches(engine: AsyncEngine, batch_ids: Collection[UUID]) -> Mapping[UUID, Priority]:
    """Those of the batches that run, with their priorities; the others are paused, ended or gone.

    Raises `LedgerUnavailable`.
    """
    c = batches.c
    statement = select(c.id, c.priority).where(c.id.in_(batch_ids), c.state == BatchStatus.RUNNING)
    async with transaction(engine) as connection:
        return {row.id: Priority(row.priority) for row in await connection.execute(statement)}
