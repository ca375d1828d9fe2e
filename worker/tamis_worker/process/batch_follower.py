"""How the batches with items here stand, as the ledger has it: pauses, cancellations and priorities that others set."""

import asyncio
import logging
from collections.abc import Collection
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import LedgerUnavailable

from ..engine.backpressure import Backpressure, Server
from ..engine.batch_interrupts import BatchInterrupts
from ..ledger import pauses
from ..ledger.batches import BatchConfigCache
from ..ledger.shards import close_cancelled
from ..limiter.limits import Limiters

SOURCE = "states of batches"  # as the backpressure knows it

log = logging.getLogger(__name__)


class BatchFollower:
    """Asks the ledger every `interval` seconds, halts what no longer runs and reweighs what waits for a permit."""

    def __init__(
        self,
        engine: AsyncEngine,
        configs: BatchConfigCache,
        limiters: Limiters,
        interrupts: BatchInterrupts,
        backpressure: Backpressure,
        *,
        interval: float,
    ) -> None:
        self._engine = engine
        self._configs = configs
        self._limiters = limiters
        self._interrupts = interrupts
        self._backpressure = backpressure
        self._interval = interval

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            await asyncio.sleep(self._interval)
            try:
                for batch_id in await self._interrupts.refresh(self._not_running):
                    if await close_cancelled(self._engine, batch_id):
                        log.info("batch=%s cancelled: its last call has ended", batch_id)
                self._backpressure.worked(Server.LEDGER, SOURCE)
            except LedgerUnavailable as error:
                self._backpressure.failed(Server.LEDGER, SOURCE, error)
            except Exception:  # the next look tries again; batches go on meanwhile
                log.exception("could not see how batches stand")

    async def _not_running(self, batch_ids: Collection[UUID]) -> Collection[UUID]:
        running = await pauses.running(self._engine, batch_ids)
        for batch_id in self._configs.follow(running):
            log.info("batch=%s goes on with priority %s", batch_id, running[batch_id])
            self._limiters.reweigh(batch_id, running[batch_id])
        return set(batch_ids) - set(running)
