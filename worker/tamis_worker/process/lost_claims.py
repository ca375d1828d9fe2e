"""Claims that others took over while this worker's lease was over."""

import logging

from sqlalchemy.ext.asyncio import AsyncEngine

from ..engine.batch_interrupts import BatchInterrupts
from ..ledger.claims import lost
from ..ledger.held_claims import HeldClaims

log = logging.getLogger(__name__)


async def revoke_lost_claims(engine: AsyncEngine, held: HeldClaims, interrupts: BatchInterrupts, worker: str) -> None:
    """Halt the items held here that are not this worker's any more. Raises `LedgerUnavailable`."""
    theirs = await lost(engine, held.keys, worker=worker)
    if theirs:
        log.warning("%d items were taken over while the lease was over", len(theirs))
    interrupts.revoke([(key.batch_id, key.index) for key in theirs])
