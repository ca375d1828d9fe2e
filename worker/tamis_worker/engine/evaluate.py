"""The path of one item through a worker: claim, ask, record."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from tamis_producer.process import tracing
from tamis_producer.process.tracing import NO_SPAN, SpanKind
from tamis_schemas import ErrorKind, FieldsResult, ItemStatus, Provenance
from tamis_schemas.batches import wire

from .. import operations
from ..ledger.batches import BatchConfigCache, BatchTerms
from ..ledger.claims import Claim, ClaimRefusal, HeldClaims, ItemKey
from ..ledger.connection import refusal_words
from ..ledger.outcomes import CallsOfClaim, ClaimOutcome, refused
from ..operations import Decided, Failure
from ..telemetry.chat import submit, submit_outcome
from ..telemetry.measures import NULL_MEASURES, Measures
from .backpressure import Backpressure
from .batch_interrupts import BatchInterrupts, Halted
from .conversation import CallPolicy, Conversation
from .failure_streaks import FailureStreaks
from .group_commit import GroupCommit
from .item_end import ItemDecided, ItemEnd, NoOutcome, Retried, untold
from .question_runner import QuestionRunner
from .transcript import SchemaTexts, TranscriptWriter

INTERRUPTED = "interrupted"  # the process ended
RETURNED = "returned"  # the claim was returned; the item is evaluated again
CANCELLED = ItemStatus.CANCELLED.value  # the item was cancelled
REPLACED = "replaced"  # another claim replaced this one, and its outcome counts

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Return:
    """The release of a claim without an outcome.

    If the batch runs and the item is not cancelled, a new message for the item is published.
    """

    claim: Claim
    operation: str
    paid: Provenance  # cost of the calls answered so far
    transcript: CallsOfClaim | None = None  # record of all calls of the claim
    cancelled: bool = False  # True: the item was cancelled, so it is not published again


@dataclass(frozen=True)
class Writers:
    """The writers of an evaluator to the ledger. Each writer gathers entries, and writes them in groups."""

    claims: GroupCommit[ItemKey, Claim | ClaimRefusal]
    outcomes: GroupCommit[ClaimOutcome, bool]
    returns: GroupCommit[Return, bool]  # True: the item is cancelled
    cancellations: GroupCommit[ItemKey, bool]

    @property
    def commits(self) -> tuple[GroupCommit[Any, Any], ...]:
        """The writers of claims, outcomes, released claims and cancellations."""
        return (self.claims, self.outcomes, self.returns, self.cancellations)


@dataclass(eq=False)
class Evaluator:
    """The evaluator of items. All tasks of a worker process use the same evaluator.

    `redact` removes secrets from a text. If `transcripts` is False, no transcript of the model calls is kept.
    """

    writers: Writers
    configs: BatchConfigCache
    runner: QuestionRunner
    interrupts: BatchInterrupts
    held: HeldClaims
    streaks: FailureStreaks
    _: KW_ONLY
    default_model: str
    policy: CallPolicy
    redact: Callable[[str], str] = str
    transcripts: bool = True
    backpressure: Backpressure = field(default_factory=Backpressure)
    measures: Measures = NULL_MEASURES

    def __post_init__(self) -> None:
        self._schemas = SchemaTexts() if self.transcripts else None

    async def evaluate(self, key: ItemKey, retried: Retried = untold) -> ItemEnd:
        """Evaluate an item, and wait until the ledger has recorded the result. Return how the item's delivery ended.

        If another worker has claimed or finished the item, return at once. `retried` is called on the event loop for
        each failed model call that is repeated.
        """
        if self.backpressure.trouble is not None and (no_outcome := await self._kept_back(key)) is not None:
            return no_outcome
        generation = self.interrupts.generation
        since = tracing.now()
        self.configs.expect(key.batch_id)  # beside the claim
        claim = await self.writers.claims.submit(key)
        self.measures.claimed(isinstance(claim, Claim))
        if isinstance(claim, ClaimRefusal):
            if self.interrupts.cancels(key):  # a paused batch grants no claims
                return NoOutcome.CANCELLED if await self.writers.cancellations.submit(key) else NoOutcome.SKIPPED
            return NoOutcome.CANCELLED if claim.cancelled else NoOutcome.SKIPPED
        with self.held.hold(key), self.interrupts.held(key.batch_id, generation, index=key.index):
            return await self._traced(claim, since, retried)

    async def _kept_back(self, key: ItemKey) -> NoOutcome | None:
        """Wait until the servers work again, and return None. If the item is halted meanwhile, return the reason."""
        try:
            with self.interrupts.interruptible(key.batch_id):
                await self.backpressure.clear()
        except Halted:
            return NoOutcome.NOT_BEGUN if self.interrupts.stopped else NoOutcome.SKIPPED
        return None

    async def _traced(self, claim: Claim, since: int, retried: Retried) -> ItemEnd:
        item_span = _ItemSpan(since)
        try:
            return await self._evaluate(claim, item_span, retried)
        finally:
            item_span.span.set({"tamis.outcome": item_span.outcome})
            item_span.span.leave()
            item_span.span.end()
            self.measures.item(item_span.operation, item_span.outcome, (tracing.now() - since) / 1e9)

    async def _evaluate(self, claim: Claim, item_span: "_ItemSpan", retried: Retried) -> ItemEnd:
        key = claim.key
        terms = None
        try:
            terms = await self.configs.of(key.batch_id)
            item_span.begin(claim, terms)
            outcome = await self._outcome(claim, terms, item_span, retried)
            if self.interrupts.cancels(key):
                outcome = _cancelled(outcome, terms)
            if isinstance(outcome, Return):
                item_span.outcome = CANCELLED if outcome.cancelled else RETURNED
                return NoOutcome.CANCELLED if await self._given_back(outcome) else NoOutcome.RETURNED
        except Exception as error:  # a defect in Tamis must end as an error of this item, not as a lost item
            outcome = self._fault(claim, error)
        outcome, accepted = await self._recorded(outcome)
        item_span.ended(outcome)
        if not accepted:
            item_span.outcome = REPLACED
            log.info("batch=%s index=%s: another claim replaced this one", key.batch_id, key.index)
            return NoOutcome.SKIPPED
        item_span.recorded(outcome, terms)
        if (pause := await self.streaks.after(key.batch_id, outcome.ended)) is not None:
            await self.interrupts.pause(key.batch_id, pause)
        return _end(outcome, terms)

    def _fault(self, claim: Claim, error: Exception) -> ClaimOutcome:
        message = f"{type(error).__name__}: {error}"
        if isinstance(error, SQLAlchemyError):  # its text quotes statements and values
            message = f"the ledger refused a statement: {refusal_words(error)}"
            log.error("%s: %s", _label(claim), message)
        else:
            log.exception("%s", _label(claim))
        return ClaimOutcome(claim, Failure(ErrorKind.INTERNAL, self.redact(message)[:500]), Provenance())

    async def _given_back(self, returned: Return) -> bool:
        """Release the claim. Return True if the item is cancelled."""
        try:
            return await self.writers.returns.submit(returned)
        except Exception:
            if returned.transcript is None:
                raise
            # Perhaps Postgres rejects only the transcript.
            return await self.writers.returns.submit(replace(returned, transcript=None))

    async def _recorded(self, outcome: ClaimOutcome) -> tuple[ClaimOutcome, bool]:
        """Write the outcome. Return the outcome as stored, and whether the ledger accepted it."""
        try:
            return outcome, await self.writers.outcomes.submit(outcome)
        except Exception as error:  # rejected: otherwise the item would stay running and be paid for again
            refusal = refusal_words(error)
        log.error("%s: the ledger cannot store its outcome: %s", _label(outcome.claim), refusal)
        if outcome.transcript is not None:
            with suppress(Exception):  # if this fails, not only the transcript is rejected
                reduced = replace(outcome, transcript=None)
                return reduced, await self.writers.outcomes.submit(reduced)
        failed, unpaid = refused(outcome, refusal)
        with suppress(Exception):  # if this fails, the bill is rejected
            return failed, await self.writers.outcomes.submit(failed)
        return unpaid, await self.writers.outcomes.submit(unpaid)

    async def _outcome(
        self, claim: Claim, terms: BatchTerms, item_span: "_ItemSpan", retried: Retried
    ) -> ClaimOutcome | Return:
        if operations.lacks_content(terms.operation, claim.payload):
            failure = Failure(ErrorKind.NO_CONTENT, "the item has no content for a model")
            return ClaimOutcome(claim, failure, Provenance(cost=Decimal(0)))
        transcript = None
        if self._schemas is not None:
            transcript = TranscriptWriter(claim.key.batch_id, self._schemas, self.redact)
        model = terms.model or self.default_model
        conversation = Conversation(self.runner, self.policy, terms, model, transcript, retried)
        fitted = operations.fitted(terms.operation, claim.payload, self.policy.max_prompt_chars)
        try:
            program = operations.program_of(
                terms.operation, fitted.item, shown=fitted.shown, recall_threshold=self.policy.recall_threshold
            )
            ended = await conversation.run(program)
            if isinstance(ended, Failure):  # an endpoint may quote the request
                ended = replace(ended, message=self.redact(ended.message))
            if ended.panel is not None:
                ended = replace(ended, panel=ended.panel.redacted(self.redact))
            if isinstance(ended, Decided) and ended.evaluations:
                submit(ended.evaluations, conversation.rated or item_span.span)
            item_span.response_id = conversation.response_id
        except Halted:
            return Return(claim, terms.operation.operation, conversation.provenance(), conversation.transcript)
        finally:
            if conversation.rated is not None:
                conversation.rated.end()
        provenance = conversation.provenance()
        if ended.panel is not None:
            provenance = provenance.model_copy(update={"model": ended.panel.answered_by})
        return ClaimOutcome(claim, ended, provenance, fitted.cut, conversation.transcript)


def _end(outcome: ClaimOutcome, terms: BatchTerms | None) -> ItemDecided | ErrorKind:
    match outcome.ended:
        case Failure(kind):
            return kind
        case Decided(result):
            assert terms is not None  # noqa: S101 - a decision exists only after the terms are loaded
            value = result.fields if isinstance(result, FieldsResult) else result.value
            return ItemDecided(terms.operation.result_words(value, result.confidence))


def _cancelled(ended: ClaimOutcome | Return, terms: BatchTerms) -> Return:
    """Return the release of a cancelled item's claim. An outcome is dropped, but the paid calls stay in the bill."""
    if isinstance(ended, Return):
        return replace(ended, cancelled=True)
    return Return(ended.claim, terms.operation.operation, ended.provenance, ended.transcript, cancelled=True)


def _label(claim: Claim) -> str:
    return wire.item_label(str(claim.key.batch_id), claim.key.index, claim.item_id)


class _ItemSpan:
    """The trace span of one item, and the item's labels in the metrics."""

    def __init__(self, since: int) -> None:
        self._since = since
        self.span = NO_SPAN
        self.operation = "unknown"
        self.outcome = INTERRUPTED
        self.response_id: str | None = None  # of the completion that decided

    def begin(self, claim: Claim, terms: BatchTerms) -> None:
        """Begin the trace span of a claimed item."""
        self.operation = terms.operation.operation
        name = wire.task_name(self.operation)
        self.span = tracing.start(name, {}, kind=SpanKind.CONSUMER, of=terms.traceparent, since=self._since)
        if self.span.recording:
            self.span.set(
                {
                    "tamis.batch_id": str(claim.key.batch_id),
                    "tamis.item_index": claim.key.index,
                    "tamis.item_id": claim.item_id,
                    "tamis.round": claim.round,
                }
            )
        self.span.enter()

    def ended(self, outcome: ClaimOutcome) -> None:
        """Record the outcome in the span and for the metrics."""
        self.outcome = outcome.status.value
        if self.span.recording:
            cost = outcome.provenance.cost
            self.span.set(
                {
                    "tamis.calls": outcome.provenance.calls,
                    "tamis.cached": outcome.provenance.cached,
                    "tamis.cost_dollars": None if cost is None else float(cost),
                }
            )
            if isinstance(outcome.ended, Failure):
                self.span.fail(outcome.ended.kind.value)

    def recorded(self, outcome: ClaimOutcome, terms: BatchTerms | None) -> None:
        """Add a trace event for an outcome that the ledger has accepted."""
        if terms is not None:
            ended = outcome.ended
            result = ended.kind if isinstance(ended, Failure) else ended.result
            submit_outcome(terms.operation, result, self.span, self.response_id)
