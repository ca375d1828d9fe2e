"""The way of one item through a worker: claim, ask, record."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tamis_schemas import ErrorKind, Provenance, wire

from .. import operations
from ..ledger.batches import BatchTerms, TermsOfBatches
from ..ledger.claims import Claim, ItemKey
from ..ledger.outcomes import Outcome
from ..operations import Failure
from .asking import Asker, Patience
from .backpressure import Backpressure
from .conversation import Conversation
from .group_commit import GroupCommit
from .halting import Halted, Halting

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Return:
    """A claim given back; where its batch runs, to be published again."""

    claim: Claim
    operation: str


@dataclass(frozen=True)
class Writers:
    """What an evaluator writes, each in groups."""

    claims: GroupCommit[ItemKey, Claim | None]
    outcomes: GroupCommit[Outcome, bool]
    returns: GroupCommit[Return, None]

    @property
    def commits(self) -> tuple[GroupCommit[Any, Any], ...]:
        """All of them."""
        return (self.claims, self.outcomes, self.returns)

    async def start(self) -> None:
        """Begin to write."""
        for writer in self.commits:
            await writer.start()

    async def close(self) -> None:
        """Stop writing."""
        for writer in self.commits:
            await writer.close()


class NotBegun(Exception):
    """The worker stops, and the item was not even claimed."""


class Evaluator:
    """Evaluates items by their key; one per worker process, used by all of its tasks."""

    def __init__(
        self,
        writers: Writers,
        terms: TermsOfBatches,
        asker: Asker,
        halting: Halting,
        *,
        default_model: str,
        patience: Patience,
        redact: Callable[[str], str] = str,
        backpressure: Backpressure | None = None,
    ) -> None:
        """`redact` takes secrets out of a text, whoever wrote it."""
        self._halting = halting
        self._write = writers
        self._terms = terms
        self._asker = asker
        self._default_model = default_model
        self._patience = patience
        self._redact = redact
        self._backpressure = backpressure or Backpressure()
        self._held: set[ItemKey] = set()

    def holds(self, key: ItemKey) -> bool:
        """Whether an item is claimed and being worked on here."""
        return key in self._held

    async def evaluate(self, key: ItemKey) -> None:
        """Return once the item's outcome is committed; at once where somebody else holds or finished the item.

        Raises `NotBegun` where the worker stops while the item waits for the servers: its message is still good.
        """
        if self._backpressure.trouble is not None and not await self._may_be_begun(key):
            return
        asked = self._halting.moment
        claim = await self._write.claims.submit(key)
        if claim is None:
            return
        self._held.add(key)
        try:
            with self._halting.held(key.batch_id, asked):
                await self._evaluate(claim)
        finally:
            self._held.discard(key)

    async def _may_be_begun(self, key: ItemKey) -> bool:
        """Once the servers work; False where its batch is halted meanwhile: what starts it again publishes it anew."""
        try:
            with self._halting.interruptible(key.batch_id):
                await self._backpressure.clear()
        except Halted:
            if self._halting.stopped:
                raise NotBegun from None
            return False
        return True

    async def _evaluate(self, claim: Claim) -> None:
        key = claim.key
        try:
            terms = await self._terms.of(key.batch_id)
            try:
                outcome = await self._outcome(claim, terms)
            except Halted:
                await self._write.returns.submit(Return(claim, terms.operation.operation))
                return
        except Exception as error:  # a fault of ours must end as an error of this item, not as a lost item
            log.exception("%s", wire.item_label(str(key.batch_id), key.index, claim.item_id))
            failure = Failure(ErrorKind.INTERNAL, self._redact(f"{type(error).__name__}: {error}")[:500])
            outcome = Outcome(claim, failure, Provenance())
        if not await self._write.outcomes.submit(outcome):
            log.info("batch=%s index=%s: another claim replaced this one", key.batch_id, key.index)

    async def _outcome(self, claim: Claim, terms: BatchTerms) -> Outcome:
        if operations.lacks_content(terms.operation, claim.payload):
            failure = Failure(ErrorKind.NO_CONTENT, "the item has no field that could be shown to a model")
            return Outcome(claim, failure, Provenance(cost=Decimal(0)))
        conversation = Conversation(self._asker, self._patience, terms, terms.model or self._default_model)
        fitted = operations.fitted(terms.operation, claim.payload, self._patience.max_prompt_chars)
        ended = await conversation.run(operations.course(terms.operation, fitted.item, shown=fitted.shown))
        return Outcome(claim, ended, conversation.provenance(), fitted.cut)
