"""The way of one item through a worker: claim, ask, read, repair, record.

Waiting is not failing: a rate-limit wait costs no attempt and does not count towards the item's deadline.
"""

import asyncio
import hashlib
import json
import logging
import random
import time
from dataclasses import asdict, dataclass, field, replace

from tamis_schemas import ErrorKind, Operation, Provenance, Usage

from .. import operations
from ..ledger.batches import BatchTerms, TermsOfBatches
from ..ledger.claims import Claim, ItemKey
from ..ledger.outcomes import Failure, Outcome
from ..operations import Evaluation, InvalidAnswer
from ..settings import WorkerSettings
from .answer import Malformed, read_json
from .chat import Answer, CallError, ChatRequest, Message, Reply
from .group_commit import GroupCommit
from .limits import Limiters
from .llm import Llm
from .retry import RetryPolicy, decide

CHARACTERS_PER_TOKEN = 4  # of English prose, by the usual rule of thumb; settled to the true number afterwards
EXPECTED_ANSWER = 250  # tokens; an answer is a value with a short explanation

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """How much an item may ask for."""

    retry: RetryPolicy
    temperature: float | None
    max_output_tokens: int

    @classmethod
    def of(cls, settings: WorkerSettings) -> "Patience":
        """As the settings say."""
        return cls(
            retry=RetryPolicy(max_calls=settings.max_calls, deadline=settings.item_deadline),
            temperature=settings.temperature,
            max_output_tokens=settings.max_output_tokens,
        )


@dataclass
class _Course:
    """How far one item has come: its calls, what they cost, how long it was worked on."""

    calls: int = 0  # that reached the endpoint
    counted: int = 0  # of them, those that count against max_calls
    usage: Usage = field(default_factory=Usage)
    worked: float = 0.0  # s, rate-limit waits taken out
    model: str | None = None
    latency_ms: int | None = None
    met: list[ErrorKind] = field(default_factory=list)

    def note(self, reply: Reply) -> None:
        self.calls += 1
        self.usage += reply.usage
        self.latency_ms = reply.latency_ms
        self.worked += reply.latency_ms / 1000
        if isinstance(reply, Answer):
            self.model = reply.model


class Evaluator:
    """Evaluates items by their key; one per worker process, used by all of its tasks."""

    def __init__(
        self,
        *,
        claims: GroupCommit[ItemKey, Claim | None],
        outcomes: GroupCommit[Outcome, bool],
        terms: TermsOfBatches,
        llm: Llm,
        limiters: Limiters,
        default_model: str,
        patience: Patience,
    ) -> None:
        self._claims = claims
        self._outcomes = outcomes
        self._terms = terms
        self._llm = llm
        self._limiters = limiters
        self._default_model = default_model
        self._patience = patience

    async def evaluate(self, key: ItemKey) -> None:
        """Return once the item's outcome is committed; at once where somebody else holds or finished the item."""
        claim = await self._claims.submit(key)
        if claim is None:
            return
        try:
            outcome = await self._outcome(claim)
        except Exception as error:  # a fault of ours must end as an error of this item, not as a lost item
            log.exception("batch=%s index=%s item=%s", key.batch_id, key.index, claim.item_id)
            failure = Failure(ErrorKind.INTERNAL, f"{type(error).__name__}: {error}"[:500])
            outcome = Outcome(claim, failure, Provenance())
        if not await self._outcomes.submit(outcome):
            log.info("batch=%s index=%s: another claim replaced this one", key.batch_id, key.index)

    async def _outcome(self, claim: Claim) -> Outcome:
        terms = await self._terms.of(claim.key.batch_id)
        if not operations.has_content(claim.payload):
            failure = Failure(ErrorKind.NO_CONTENT, "the item has no field that could be shown to a model")
            return Outcome(claim, failure, Provenance())
        request = self._request(terms, claim)
        course = _Course()
        ended = await self._course(terms.operation, request, course)
        provenance = Provenance(
            model=course.model,
            prompt_sha256=_fingerprint(request),
            usage=course.usage,
            calls=course.calls,
            latency_ms=course.latency_ms,
        )
        return Outcome(claim, ended, provenance)

    def _request(self, terms: BatchTerms, claim: Claim) -> ChatRequest:
        return ChatRequest(
            model=terms.model or self._default_model,
            messages=operations.messages(terms.operation, claim.payload),
            schema_name=terms.operation.operation,
            schema=operations.response_schema(terms.operation),
            temperature=self._patience.temperature,
            max_tokens=self._patience.max_output_tokens,
        )

    async def _course(self, operation: Operation, request: ChatRequest, course: _Course) -> Evaluation | Failure:
        """Ask until there is a valid answer, or until `decide` gives up."""
        asked = request
        while True:
            reply = await self._ask(asked)
            course.note(reply)
            if isinstance(reply, Answer):
                read = _read(operation, reply)
                if isinstance(read, Evaluation):
                    return read
                error = read
                repair = _repair(request, reply, error)
            else:
                error, repair = reply, None
            course.counted += error.kind is not ErrorKind.RATE_LIMITED
            decision = decide(
                error,
                attempt=course.counted,
                elapsed=course.worked,
                policy=self._patience.retry,
                jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
                earlier=course.met,
            )
            if not decision.again:
                return Failure(decision.kind or error.kind, error.message)
            course.met.append(error.kind)
            if decision.blocks:
                limiter = await self._limiters.of(request.model)
                await limiter.block(decision.after)
            else:
                await asyncio.sleep(decision.after)
                course.worked += decision.after
            asked = repair or asked
            if decision.larger_budget:
                asked = replace(request, max_tokens=2 * request.max_tokens)

    async def _ask(self, request: ChatRequest) -> Reply:
        limiter = await self._limiters.of(request.model)
        characters = sum(len(message.content) for message in request.messages)
        permit = await limiter.acquire(characters // CHARACTERS_PER_TOKEN + EXPECTED_ANSWER)
        used: int | None = None
        try:
            started = time.monotonic()
            reply = await self._llm.ask(request)
            log.debug("%s in %.3f s", type(reply).__name__, time.monotonic() - started)
            used = reply.usage.total_tokens or None
            return reply
        finally:
            await limiter.release(permit, used)


def _read(operation: Operation, answer: Answer) -> Evaluation | CallError:
    try:
        return operations.parse(operation, read_json(answer.content))
    except Malformed as error:
        kind, message = ErrorKind.MALFORMED, str(error)
    except InvalidAnswer as error:
        kind, message = ErrorKind.INVALID, str(error)
    return CallError(kind, message[:500])  # its usage was counted with the answer


def _repair(request: ChatRequest, answer: Answer, error: CallError) -> ChatRequest:
    """The same question once more, with the unusable answer and what is wrong with it."""
    return replace(
        request,
        messages=(
            *request.messages,
            Message("assistant", answer.content),
            Message(
                "user",
                f"This answer cannot be used: {error.message}. "
                "Answer again, with one JSON object that follows the schema.",
            ),
        ),
    )


def _fingerprint(request: ChatRequest) -> str:
    """sha256 of everything that determines an answer, as canonical JSON."""
    canonical = json.dumps(asdict(request), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "replace")).hexdigest()
