"""The batches with items here, followed in the ledger: others pause and cancel them, or change their priority."""

import logging
from collections.abc import Collection
from dataclasses import dataclass
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


@dataclass(frozen=True)
class BatchFollower:
    """Asks the ledger, halts what no longer runs and reweighs what waits for a permit."""

    engine: AsyncEngine
    configs: BatchConfigCache
    limiters: Limiters
    interrupts: BatchInterrupts
    backpressure: Backpressure

    async def look(self) -> None:
        """Look once; an outage of the ledger goes to the backpressure, which says so."""
        try:
            for batch_id in await self.interrupts.refresh(self._not_running):
                if await close_cancelled(self.engine, batch_id):
                    log.info("batch=%s cancelled: its last call has ended", batch_id)
            self.backpressure.worked(Server.LEDGER, SOURCE)
        except LedgerUnavailable as error:
            self.backpressure.failed(Server.LEDGER, SOURCE, error)

    async def _not_running(self, batch_ids: Collection[UUID]) -> Collection[UUID]:
        running = await pauses.running(self.engine, batch_ids)
        for batch_id in self.configs.follow(running):
            log.info("batch=%s goes on with priority %s", batch_id, running[batch_id])
            self.limiters.reweigh(batch_id, running[batch_id])
        return set(batch_ids) - set(running)
