"""The reconciler: finds work that stopped because of a dead worker or a lost message, and restarts the work.

The reconciler runs in every worker, but an advisory lock admits one sweep at a time. Every repair may safely be done
twice.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from uuid import UUID

from celery import Celery
from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.ledger import ledger_errors
from tamis_producer.process import tracing
from tamis_producer.runs.completion import follow
from tamis_producer.runs.control import resume_due
from tamis_producer.transport.broker import queue_depths
from tamis_producer.transport.dispatch import Dispatcher, ItemAddress
from tamis_schemas import BrokerUnavailable
from tamis_schemas.batches import wire

from ..engine.backpressure import Backpressure, RequiredServer
from ..ledger import recovery
from ..ledger.connection import transaction
from ..ledger.shards import Closing, close_cancelled, close_shard
from ..telemetry.measures import NULL_MEASURES, Measures

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Swept:
    """The number of repairs of each kind in one sweep. A sweep searches once for stopped work."""

    given_up: int = 0  # items that failed after too many claims
    released: int = 0  # items of dead workers
    lost: int = 0  # items with lost messages
    closed: int = 0  # shards and cancelled batches that were closed
    dispatched: int = 0  # shards that were dispatched
    resumed: int = 0  # batches whose pause was over
    begun: int = 0  # stages of reviews that were begun

    @property
    def anything(self) -> bool:
        return any(asdict(self).values())


@dataclass(frozen=True)
class Reconciler:
    """The reconciler of one worker: it restarts work that stopped because of a dead worker or a lost message."""

    engine: AsyncEngine
    dispatch_engine: Engine
    app: Celery
    dispatcher: Dispatcher
    _: KW_ONLY
    worker: str  # the id of this worker
    grace: float  # seconds before an item, shard or batch without progress counts as lost
    max_claims: int
    backpressure: Backpressure
    measures: Measures = NULL_MEASURES

    async def look(self) -> None:
        """Wait until the ledger accepts results, then sweep once. Raise `Unavailable` if a server fails."""
        await self.backpressure.clear_for_calls()
        swept = await self.sweep()
        if swept.anything:
            log.info("repaired: %s", swept)

    async def sweep(self) -> Swept:
        """Find and repair stopped work once, and return the numbers of repairs.

        If another worker is sweeping, repair nothing. Raise `Unavailable` if a server fails.

        If the broker is unavailable, make only the repairs that need no message, and regard no message as lost.
        """
        empty = await self._empty_queues()
        async with transaction(self.engine) as connection:
            if not await recovery.try_lock(connection):
                return Swept()
            given_up, released = 0, list[recovery.LostItem]()
            if await recovery.may_judge(connection, self.worker):
                given_up = await recovery.give_up_poison(connection, max_claims=self.max_claims)
                released += await recovery.release_dead(connection)
            lost = [] if empty is None else await recovery.find_lost(connection, grace=self.grace, empty=empty)
            unclosed = await recovery.find_unclosed(connection, grace=self.grace)
            waiting = await recovery.find_undispatched(connection, grace=self.grace)
            passed = await recovery.find_unadvanced(connection, grace=self.grace)
            cancelled = await recovery.find_unfinished(connection)
        closed = 0
        for shard in unclosed:
            with tracing.aggregating(str(shard.batch_id), shard.round, shard.shard, of=shard.traceparent):
                closing = await close_shard(self.engine, shard.batch_id, shard.round, shard.shard)
            closed += closing is not Closing.OPEN
        for batch_id in cancelled:
            closed += await close_cancelled(self.engine, batch_id)
        resumed = await asyncio.to_thread(self._resume_due)
        begun = [
            following
            for batch_id in dict.fromkeys([*(shard.batch_id for shard in unclosed), *passed])
            for following in await asyncio.to_thread(follow, self.dispatch_engine, batch_id)
        ]
        dispatched = 0
        if empty is not None:  # without a broker, the next sweeps find what was not published
            await self._republish([*released, *lost])
            for batch_id in dict.fromkeys([*(shard.batch_id for shard in unclosed), *waiting, *resumed, *begun]):
                dispatched += await asyncio.to_thread(self.dispatcher.fill_window, batch_id)
        swept = Swept(given_up, len(released), len(lost), closed, dispatched, len(resumed), len(begun))
        if swept.anything:
            self.measures.swept(asdict(swept))
            async with transaction(self.engine) as connection:
                await recovery.count(connection, asdict(swept))
        return swept

    async def _empty_queues(self) -> list[wire.ItemQueue] | None:
        """Return the queues without a waiting message; None if the broker is unavailable."""
        if self.backpressure.in_trouble(RequiredServer.BROKER):
            return None
        try:
            depths = await asyncio.to_thread(queue_depths, self.app)
        except BrokerUnavailable as error:
            log.debug("the sweep publishes nothing: %s", error)
            return None
        return [queue for queue, depth in depths.items() if depth == 0]

    def _resume_due(self) -> list[UUID]:
        with ledger_errors(), self.dispatch_engine.begin() as connection:
            return resume_due(connection)

    async def _republish(self, items: Sequence[recovery.LostItem]) -> None:
        by_batch: dict[tuple[UUID, str], list[ItemAddress]] = defaultdict(list)
        for item in items:
            by_batch[item.batch_id, item.operation].append(ItemAddress(item.index, item.item_id))
        for (batch_id, operation), addresses in by_batch.items():
            await asyncio.to_thread(self.dispatcher.republish, batch_id, operation, addresses)
