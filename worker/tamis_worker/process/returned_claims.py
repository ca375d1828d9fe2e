"""Claims that a worker gives back: pending again in the ledger, and published again where their batch runs."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.transport.dispatch import Dispatcher, ItemAddress
from tamis_schemas import BrokerUnavailable

from ..engine.evaluate import Return
from ..ledger.claims import cancelled
from ..ledger.release_claims import give_back

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReturnedClaims:
    """Writes returns, many together."""

    engine: AsyncEngine
    dispatcher: Dispatcher

    async def write(self, returns: Sequence[Return]) -> Sequence[bool]:
        """Give the claims back; for each in order, whether its item is cancelled.

        What the broker does not take is left to the reconciler. Raises `LedgerUnavailable`.
        """
        claims, paid = [one.claim for one in returns], [one.paid for one in returns]
        transcripts, revoked = [one.transcript for one in returns], [one.cancelled for one in returns]
        to_publish = await give_back(self.engine, claims, paid, transcripts, revoked)
        by_batch: dict[tuple[UUID, str], list[ItemAddress]] = defaultdict(list)
        for one in compress(returns, to_publish):
            address = ItemAddress(one.claim.key.index, one.claim.item_id)
            by_batch[one.claim.key.batch_id, one.operation].append(address)
        for (batch_id, operation), addresses in by_batch.items():
            try:
                await asyncio.to_thread(self.dispatcher.republish, batch_id, operation, addresses)
            except BrokerUnavailable as error:
                log.warning("%d items given back are left to the reconciler: %s", len(addresses), error)
        gone = await cancelled(
            self.engine, [one.key for one, again in zip(claims, to_publish, strict=True) if not again]
        )
        return [one.key in gone for one in claims]
