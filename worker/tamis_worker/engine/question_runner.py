"""Asking one question: turn, permit, call, read, and what follows where there is no usable answer.

Waiting is not failing: a rate-limit wait costs no attempt and does not count towards the item's deadline. A key or a
model that is refused is no failure of the item either: it pauses the batch.
"""

import asyncio
import hashlib
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from time import perf_counter
from typing import TypeVar

from tamis_schemas import Prices, Usage

from ..config.settings import WorkerSettings
from ..evaluation.recall import RECALL_THRESHOLD
from ..ledger.batches import BatchTerms
from ..limiter.limits import Limiters
from ..limiter.token_estimates import TokenEstimates, believable
from ..llm.chat import Answer, CallError, ChatRequest, Reply
from ..llm.llm import Llm
from ..llm.prompt_cache import PARAMETERS, Breakpoint
from ..llm.shared_dialects import DialectTurn
from ..operations import Failure
from ..telemetry.chat import UNKNOWN, ChatSpan, Server
from ..telemetry.measures import NULL_MEASURES, Measures
from .attempt import Ask, Attempt, Block, CallOutcome, Done, Fail, Halt, Next, Wait
from .backpressure import Backpressure
from .batch_interrupts import BatchInterrupts, Halted
from .budget import (
    Budget,
    OverBudget,
    Reservation,
    cost_of,
    is_unanswered,
    reserved_tokens,
    usage_of,
)
from .cache import Cache
from .capacity import SERVICE_TIER, Capacity, Place, Waited, free_place, is_flex
from .key_circuit_breaker import KeyCircuitBreaker, Turn
from .reply_reading import ReadContent, read_content, read_reply
from .retry import RetryPolicy
from .transcript import QuestionTranscript

CONGESTED = frozenset({429, 503, 529})  # the endpoint has too much
MOST_DEVIATIONS = 50  # that are kept of an item, over all of its questions
SAME_ANSWER = frozenset({SERVICE_TIER}) | PARAMETERS  # options that change what an answer costs, not the answer

T = TypeVar("T")


@dataclass(frozen=True)
class CallPolicy:
    """How much an item may ask for."""

    retry: RetryPolicy
    temperature: float | None
    max_output_tokens: int
    max_prompt_chars: int = 100_000  # of an item's fields
    recall_threshold: float = RECALL_THRESHOLD  # of an extraction from chunks: under it a model is asked about recall
    flex_timeout: float | None = None  # seconds of one call at the flex tier; None: as of any other
    cache_breakpoint: Breakpoint | None = None  # how the end of a prompt's common beginning is marked; None: not

    @classmethod
    def of(cls, settings: WorkerSettings) -> "CallPolicy":
        """As the settings say."""
        return cls(
            retry=RetryPolicy(max_calls=settings.max_calls, deadline=settings.item_deadline),
            temperature=settings.temperature,
            max_output_tokens=settings.max_output_tokens,
            max_prompt_chars=settings.max_prompt_chars,
            recall_threshold=settings.recall_threshold,
            flex_timeout=settings.flex_call_timeout,
            cache_breakpoint=settings.cache_breakpoint,
        )


@dataclass
class CallAccounting:
    """What one item has cost so far, over all of its questions."""

    calls: int = 0  # that reached the endpoint
    unanswered: int = 0  # of the calls: nobody knows whether it was paid for
    tier: str | None = None  # that the last answer was billed at, as the endpoint names it
    cached: int = 0  # questions answered from the cache
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = Decimal(0)  # dollars; None: of some answer nobody knows what it cost
    model: str | None = None
    waited: Waited = field(default_factory=Waited)  # for capacity of its tier
    latency_ms: int | None = None
    worked: float = 0.0  # seconds of the rounds of questions so far, rate-limit waits taken out
    longest: float = 0.0  # of this round's questions, which are asked side by side
    answers: int = 0  # valid ones, of whatever source
    deviations: tuple[str, ...] = ()  # what was harmlessly otherwise in the answers that were used; each once
    rated: ChatSpan | None = None  # of the call that the first of them came from; whoever owns the tally ends it

    def end_round(self) -> None:
        """The questions asked side by side are answered; they took as long as the longest of them."""
        self.worked, self.longest = self.worked + self.longest, 0.0

    def answered(self, deviations: tuple[str, ...], by: ChatSpan | None = None) -> None:
        """There is a valid answer, read with these deviations; None: from the cache."""
        self.answers += 1
        if deviations:
            self.deviations = tuple(dict.fromkeys(self.deviations + deviations))[:MOST_DEVIATIONS]
        if self.answers == 1 and by is not None:
            self.rated = by.keep()

    def note(self, reply: Reply, cost: Decimal | None) -> None:
        """Add one call."""
        self.calls += 1
        self.unanswered += is_unanswered(reply)
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.usage += reply.usage
        self.latency_ms = reply.latency_ms
        if isinstance(reply, Answer):
            self.model = reply.model
        if isinstance(reply, Answer) or reply.tier is not None:
            self.tier = reply.tier


class QuestionRunner:
    """Asks questions under the shared limit; one per worker process."""

    def __init__(
        self,
        llm: Llm,
        limiters: Limiters,
        policy: RetryPolicy,
        halting: BatchInterrupts,
        cache: Cache,
        budget: Budget,
        prices: Prices,
        *,
        backpressure: Backpressure | None = None,
        capacity: Capacity | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        access: Callable[[], KeyCircuitBreaker] = KeyCircuitBreaker,
        server: Server = UNKNOWN,
        measures: Measures = NULL_MEASURES,
    ) -> None:
        """`sleep` waits between two calls, in seconds; `access` makes the gate of a model that is asked first.

        `server` is the endpoint as spans name it.
        """
        self._server = server
        self._measures = measures
        self._llm = llm
        self._limiters = limiters
        self._policy = policy
        self._halting = halting
        self._cache = cache
        self._budget = budget
        self._prices = prices
        self._backpressure = backpressure or Backpressure()
        self._capacity = capacity or Capacity()
        self._sleep = sleep
        self._new_access = access
        self._access: dict[str, KeyCircuitBreaker] = {}  # by model
        self._estimates = TokenEstimates()

    async def ask(
        self,
        request: ChatRequest,
        parse: Callable[[object], T],
        tally: CallAccounting,
        terms: BatchTerms,
        *,
        key: str | None,
        fresh: bool = False,
        transcript: QuestionTranscript | None = None,
    ) -> T | Failure:
        """What `parse` makes of the answer, or why there is none.

        `terms` are those of the batch on whose behalf it is asked.
        `key` is the question's in the cache: a valid answer kept under it is given at no cost, and a new one is kept
        before it is used. None: neither. `fresh`: none is taken, and the new one takes the place of what is kept.
        Each call and each answer that is used is put down in the transcript.

        Raises `Halted` where the worker stops meanwhile, or the batch is not to go on; the batch is paused before
        that where the endpoint refuses the key or the model, or the next call could cost more than its budget has left.
        """
        if key is not None and not fresh:
            kept = await self._kept(key, request, parse, tally, transcript)
            if kept is not None:
                return kept.value
        attempt: Attempt[T] = Attempt(request, self._policy, worked=tally.worked)
        step: Next[T] = attempt.first()
        while True:
            match step:
                case Ask(asked):
                    step = await self._asked(asked, attempt, parse, tally, terms, transcript)
                case Wait(seconds, following):
                    with self._halting.interruptible(terms.batch_id):
                        await self._sleep(seconds)
                    step = following
                case Block(seconds, following):
                    limiter = await self._limiters.of(request.model)
                    with self._halting.interruptible(terms.batch_id):
                        await limiter.block(seconds)
                    step = following
                case Done(value, answer):
                    if key is not None:
                        await self._cache.keep(key, answer)
                    return value
                case Fail(failure):
                    return failure

    async def _kept(
        self,
        key: str,
        request: ChatRequest,
        parse: Callable[[object], T],
        tally: CallAccounting,
        transcript: QuestionTranscript | None,
    ) -> ReadContent[T] | None:
        """The cache's answer; None where there is none that can be used: a release may have read answers otherwise."""
        kept = await self._cache.find(key)
        if kept is None:
            return None
        read = read_content(kept.content, request.schema, parse)
        if isinstance(read, CallError):
            return None
        tally.cached += 1
        tally.answered(read.deviations)
        self._measures.found()
        tally.model = kept.model
        if transcript is not None:
            transcript.found(request, kept.content, kept.model, read.deviations)
        return read

    async def _asked(
        self,
        asked: ChatRequest,
        attempt: Attempt[T],
        parse: Callable[[object], T],
        tally: CallAccounting,
        terms: BatchTerms,
        transcript: QuestionTranscript | None,
    ) -> Next[T]:
        """The step that follows from a call, made and accounted for. Raises `Halted` where it is to halt the batch."""
        await self._until_the_answer_can_be_kept(terms)
        place = await self._place(asked, tally, terms)
        reservation = await self._reserved(asked, terms, place)
        with (
            place,
            ChatSpan(self._server, place.request) as traced,
            await self._turn(asked.model, terms, reservation) as turn,
            self._llm.dialect_turn(place.request) as dialect_turn,
        ):
            reply = place.heard(await self._call(dialect_turn, place.request, terms, turn, reservation, traced))
            refusals = turn.heard(reply)
            cost = cost_of(self._prices, asked.model, reply)
            tally.note(reply, cost)
            read = read_reply(reply, asked.schema, parse)
            error, deviations = (read, ()) if isinstance(read, CallError) else (None, read.read.deviations)
            if error is None:
                tally.answered(deviations, traced)
            elif isinstance(reply, Answer):
                traced.unusable(error.kind.value)
            if transcript is not None:
                transcript.called(place.request, reply, cost, error, deviations)
            self._measures.called(asked.model, "ok" if error is None else error.kind.value, reply, cost)
            learned = await self._llm.learn(place.request, reply, usable=error is None)
            step = attempt.next(
                CallOutcome(
                    reply,
                    read,
                    seconds=place.seconds(reply),
                    jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
                    refusals=refusals,
                    anew=learned.ask_again,
                    hopeless=learned.hopeless,
                )
            )
            tally.longest = max(tally.longest, attempt.took)
            if isinstance(step, Halt):
                # Before the turn is left: whoever waits for it must not burn a call of its own.
                await self._halting.pause(terms.batch_id, step.pause)
                raise Halted
            return step

    async def _until_the_answer_can_be_kept(self, terms: BatchTerms) -> None:
        if self._backpressure.calls_wait:
            with self._halting.interruptible(terms.batch_id):
                await self._backpressure.clear_for_calls()

    async def _place(self, request: ChatRequest, tally: CallAccounting, terms: BatchTerms) -> Place:
        """Before anything is reserved: an item that waits for capacity holds nothing up."""
        if (at_once := self._capacity.place_at_once(request, tally.waited)) is not None:
            return at_once
        if not is_flex(request):
            return free_place(request)
        with self._halting.interruptible(terms.batch_id):
            return await self._capacity.place(request, terms.steering, tally.waited)

    async def _reserved(self, request: ChatRequest, terms: BatchTerms, place: Place) -> Reservation | None:
        if not terms.budgeted:
            return None
        tokens = reserved_tokens([len(message.content) for message in request.messages])
        try:
            with self._halting.interruptible(terms.batch_id):
                tier = request.options.get(SERVICE_TIER)
                return await self._budget.reserve(terms, request.model, tokens, request.max_tokens, tier)
        except OverBudget as reason:
            place.leave()
            await self._halting.pause(terms.batch_id, reason.pause)
            raise Halted from reason
        except BaseException:
            place.leave()  # no call is made
            raise

    async def _turn(self, model: str, terms: BatchTerms, reservation: Reservation | None) -> Turn:
        access = self._access.get(model)
        if access is None:
            access = self._access[model] = self._new_access()
        turn = access.turn_at_once()
        if turn is not None:
            return turn
        try:
            with self._halting.interruptible(terms.batch_id):
                return await access.turn()
        except BaseException:
            self._budget.give_back(reservation)  # no call was made
            raise

    async def _call(
        self,
        dialect_turn: DialectTurn,
        request: ChatRequest,
        terms: BatchTerms,
        turn: Turn,
        reservation: Reservation | None,
        traced: ChatSpan,
    ) -> Reply:
        limiter = await self._limiters.of(request.model)
        operation = terms.operation.operation
        characters = sum(len(message.content) for message in request.messages)
        estimate = self._estimates.of(operation, request.model, characters, request.max_tokens)
        try:
            with self._halting.interruptible(terms.batch_id):
                await dialect_turn.wait()
                since = perf_counter()
                permit = await limiter.acquire(estimate, batch=terms.batch_id, priority=terms.priority)
                while self._backpressure.calls_wait:  # since it stood in the line
                    limiter.void(permit)
                    await self._backpressure.clear_for_calls()
                    permit = await limiter.acquire(estimate, batch=terms.batch_id, priority=terms.priority)
        except BaseException:
            self._budget.give_back(reservation)
            raise
        used: int | None = None
        try:
            self._measures.permitted(request.model, perf_counter() - since)
            turn.begin()
            traced.begin()
            reply = await self._llm.ask(request)
            traced.replied(reply)
            counted = reply.usage
            if not believable(counted.total_tokens, characters, request.max_tokens):
                counted = Usage()
            used = counted.total_tokens or (estimate if isinstance(reply, Answer) else None)
            if reply.rate is not None:
                limiter.observe(reply.rate, reply.latency_ms / 1000)
            if isinstance(reply, CallError) and reply.no_capacity:
                limiter.void(permit)  # nothing was used of it
            elif isinstance(reply, CallError) and reply.status in CONGESTED:
                limiter.congested()
            self._estimates.learn(
                operation, request.model, characters, counted.prompt_tokens, counted.completion_tokens
            )
        finally:
            await limiter.release(permit, used)
        if reservation is not None:
            await self._budget.settle(reservation, usage_of(reply), reply.tier)
        return reply


def fingerprint(request: ChatRequest, sample: int = 0) -> str:
    """sha256 of everything that determines an answer, as canonical JSON: the question's key in the cache.

    `sample` tells equal questions apart whose answers shall differ.
    """
    fields: dict[str, object] = {
        "max_tokens": request.max_tokens,
        "messages": [{"content": message.content, "role": message.role} for message in request.messages],
        "model": request.model,
        "schema": request.schema,
        "schema_name": request.schema_name,
        "temperature": request.temperature,
    }
    if options := {name: value for name, value in request.options.items() if name not in SAME_ANSWER}:
        fields["options"] = options
    if request.headers:  # behind a gateway, one may choose another model
        fields["headers"] = {name.lower(): value for name, value in request.headers.items()}
    canonical = json.dumps([fields, sample], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "replace")).hexdigest()
