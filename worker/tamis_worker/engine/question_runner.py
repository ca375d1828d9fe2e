"""Asking one question: admission, permit, call, read, and what follows where there is no usable answer.

Waiting is not failing: a rate-limit wait costs no attempt and does not count towards the item's deadline. A key or a
model that is refused is no failure of the item either: it pauses the batch.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from time import perf_counter
from typing import TypeVar

from tamis_schemas import ErrorKind, Pause, Prices, Usage
from tamis_schemas.operations import panel_of

from ..ledger.batches import BatchTerms
from ..limiter.limiter import Limiters
from ..limiter.token_estimates import TokenEstimates, believable
from ..llm.chat import CallError, ChatAnswer, ChatRequest, Reply
from ..llm.llm import LlmClient
from ..llm.shared_dialects import DialectTurn
from ..operations import Failure
from ..telemetry.chat import UNKNOWN, ChatSpan, EndpointAddress
from ..telemetry.measures import NULL_MEASURES, Measures
from .attempt import (
    Ask,
    Attempt,
    CallOutcome,
    Done,
    EndpointPause,
    Fail,
    Halt,
    Next,
    ReadContent,
    Wait,
    read_content,
    read_reply,
)
from .backpressure import Backpressure
from .batch_interrupts import BatchInterrupts, CutOff, Halted
from .budget import BudgetReservations, OverBudget, Reservation, reserved_tokens
from .cache import Cache
from .call_accounting import CallAccounting, cost_of, usage_of
from .capacity import SERVICE_TIER, CallSlot, Capacity
from .key_circuit_breaker import Admission, KeyCircuitBreaker
from .retry import RetryPolicy
from .transcript import QuestionTranscript

CONGESTED = frozenset({429, 503, 529})  # the endpoint has too much

T = TypeVar("T")


@dataclass(eq=False)
class QuestionRunner:
    """Asks questions under the shared limit; one per worker process.

    `sleep` waits between two calls, in seconds; `breaker` makes that of a model that is asked first.

    `server` is the endpoint as spans name it.
    """

    llm: LlmClient
    limiters: Limiters
    policy: RetryPolicy
    interrupts: BatchInterrupts
    cache: Cache
    budget: BudgetReservations
    prices: Prices
    _: KW_ONLY
    backpressure: Backpressure = field(default_factory=Backpressure)
    capacity: Capacity = field(default_factory=Capacity)
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    breaker: Callable[[], KeyCircuitBreaker] = KeyCircuitBreaker
    server: EndpointAddress = UNKNOWN
    measures: Measures = NULL_MEASURES

    def __post_init__(self) -> None:
        self._breakers: defaultdict[str, KeyCircuitBreaker] = defaultdict(self.breaker)  # by model
        self._estimates = TokenEstimates()

    @property
    def breakers(self) -> Mapping[str, str]:
        """The state of each model's circuit breaker; on the loop."""
        return {model: breaker.state for model, breaker in self._breakers.items()}

    async def ask(
        self,
        request: ChatRequest,
        parse: Callable[[object], T],
        accounting: CallAccounting,
        terms: BatchTerms,
        *,
        key: str | None,
        fresh: bool = False,
        transcript: QuestionTranscript | None = None,
    ) -> T | Failure:
        """The value that `parse` makes of the answer, or why there is none.

        `terms` are those of the batch on whose behalf it is asked.
        `key` is the question's in the cache: a valid answer kept under it is given at no cost, and a new one is kept
        before it is used. None: neither. `fresh`: none is taken, and the new one takes the place of what is kept.
        Each call and each answer that is used is put down in the transcript.

        Raises `Halted` where the worker stops meanwhile, or the batch is not to go on; the batch is paused before
        that where the endpoint refuses the key or the model, or the next call could cost more than its budget has left.
        """
        if key is not None and not fresh:
            kept = await self._kept(key, request, parse, accounting, transcript)
            if kept is not None:
                return kept.value
        attempt: Attempt[T] = Attempt(request, self.policy, worked=accounting.worked)
        step: Next[T] = attempt.first()
        while True:
            match step:
                case Ask(call):
                    step = await self._next_step(call, attempt, parse, accounting, terms, transcript)
                case Wait(seconds, following):
                    with self.interrupts.interruptible(terms.batch_id):
                        await self.sleep(seconds)
                    step = following
                case EndpointPause(seconds, following):
                    limiter = await self.limiters.of(request.model)
                    with self.interrupts.interruptible(terms.batch_id):
                        await limiter.block(seconds)
                    step = following
                case Done(value, answer, probability):
                    if key is not None:
                        await self.cache.keep(key, answer, probability)
                    return value
                case Fail(failure):
                    return failure

    async def _kept(
        self,
        key: str,
        request: ChatRequest,
        parse: Callable[[object], T],
        accounting: CallAccounting,
        transcript: QuestionTranscript | None,
    ) -> ReadContent[T] | None:
        """The cache's answer; None where there is none that can be used: a release may have read answers otherwise."""
        kept = await self.cache.find(key)
        if kept is None:
            return None
        read = read_content(kept.content, request.schema, parse)
        if isinstance(read, CallError):
            return None
        accounting.cached += 1
        accounting.answered(read.deviations)
        self.measures.found()
        accounting.model = kept.model
        if transcript is not None:
            transcript.found(request, kept.content, kept.model, read.deviations)
        return read.weighed(kept.probability)

    async def _next_step(
        self,
        request: ChatRequest,
        attempt: Attempt[T],
        parse: Callable[[object], T],
        accounting: CallAccounting,
        terms: BatchTerms,
        transcript: QuestionTranscript | None,
    ) -> Next[T]:
        """The step that follows from a call, made and accounted for. Raises `Halted` where it is to halt the batch."""
        await self._until_the_answer_can_be_kept(terms)
        place = await self._place(request, accounting, terms)
        reservation = await self._reserved(request, terms, place)
        with (
            place,
            ChatSpan(self.server, place.request) as traced,
            await self._admission(request.model, terms, reservation) as admission,
            self.llm.dialect_turn(place.request) as dialect_turn,
        ):
            reply = place.heard(await self._call(dialect_turn, place.request, terms, admission, reservation, traced))
            refusals = admission.record(reply)
            cost = cost_of(self.prices, request.model, reply)
            accounting.note(reply, cost)
            read = read_reply(reply, request.schema, parse, request.decision)
            error, deviations = (read, ()) if isinstance(read, CallError) else (None, read.read.deviations)
            if error is None:
                accounting.answered(deviations, traced)
            elif isinstance(reply, ChatAnswer):
                traced.unusable(error.kind.value)
            if transcript is not None:
                transcript.called(place.request, reply, cost, error, deviations)
            self.measures.called(request.model, "ok" if error is None else error.kind.value, reply, cost)
            learned = await self.llm.learn(place.request, reply, usable=error is None)
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
            accounting.longest = max(accounting.longest, attempt.took)
            if isinstance(step, Halt):
                # Before the admission is left: whoever waits for one must not burn a call of its own.
                await self.interrupts.pause(terms.batch_id, _pause_of(step.pause, request.model, terms))
                raise Halted
            if error is not None and not isinstance(step, Fail):
                accounting.retried(error.kind)
            return step

    async def _until_the_answer_can_be_kept(self, terms: BatchTerms) -> None:
        if self.backpressure.calls_wait:
            with self.interrupts.interruptible(terms.batch_id):
                await self.backpressure.clear_for_calls()

    async def _place(self, request: ChatRequest, accounting: CallAccounting, terms: BatchTerms) -> CallSlot:
        """Before anything is reserved: an item that waits for capacity holds nothing up."""
        if (at_once := self.capacity.place_at_once(request, accounting.waited)) is not None:
            return at_once
        with self.interrupts.interruptible(terms.batch_id):
            return await self.capacity.place(request, terms.steering, accounting.waited)

    async def _reserved(self, request: ChatRequest, terms: BatchTerms, place: CallSlot) -> Reservation | None:
        if not terms.budgeted:
            return None
        tokens = reserved_tokens([len(message.content) for message in request.messages])
        try:
            with self.interrupts.interruptible(terms.batch_id):
                tier = request.options.get(SERVICE_TIER)
                return await self.budget.reserve(terms, request.model, tokens, request.max_tokens, tier)
        except OverBudget as reason:
            place.leave()
            await self.interrupts.pause(terms.batch_id, reason.pause)
            raise Halted from reason
        except BaseException:
            place.leave()  # no call is made
            raise

    async def _admission(self, model: str, terms: BatchTerms, reservation: Reservation | None) -> Admission:
        breaker = self._breakers[model]
        if (at_once := breaker.admit_at_once()) is not None:
            return at_once
        try:
            with self.interrupts.interruptible(terms.batch_id):
                return await breaker.admit()
        except BaseException:
            self.budget.give_back(reservation)  # no call was made
            raise

    async def _call(
        self,
        dialect_turn: DialectTurn,
        request: ChatRequest,
        terms: BatchTerms,
        admission: Admission,
        reservation: Reservation | None,
        traced: ChatSpan,
    ) -> Reply:
        limiter = await self.limiters.of(request.model)
        operation = terms.operation.operation
        characters = sum(len(message.content) for message in request.messages)
        estimate = self._estimates.of(operation, request.model, characters, request.max_tokens)
        try:
            with self.interrupts.interruptible(terms.batch_id):
                await dialect_turn.wait()
                since = perf_counter()
                permit = await limiter.acquire(estimate, batch=terms.batch_id, priority=terms.priority)
                while self.backpressure.calls_wait:  # since it stood in the line
                    limiter.void(permit)
                    await self.backpressure.clear_for_calls()
                    permit = await limiter.acquire(estimate, batch=terms.batch_id, priority=terms.priority)
        except BaseException:
            self.budget.give_back(reservation)
            raise
        used: int | None = None
        try:
            self.measures.permitted(request.model, perf_counter() - since)
            admission.begin()
            traced.begin()
            reply = await self._reply(request)
            traced.replied(reply)
            counted = reply.usage
            if not believable(counted.total_tokens, characters, request.max_tokens):
                counted = Usage()
            used = counted.total_tokens or (estimate if isinstance(reply, ChatAnswer) else None)
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
            await self.budget.settle(reservation, usage_of(reply), reply.tier)
        return reply

    async def _reply(self, request: ChatRequest) -> Reply:
        began = perf_counter()
        try:
            with self.interrupts.cuttable():
                return await self.llm.ask(request)
        except CutOff:  # to the endpoint it is a client that hung up: nobody knows whether it will be billed
            took = round(1000 * (perf_counter() - began))
            return CallError(ErrorKind.CONNECTION, "cut off: the item was cancelled", latency_ms=took)


def _pause_of(pause: Pause, model: str, terms: BatchTerms) -> Pause:
    """The pause; of a panel it says which model it is about."""
    if panel_of(terms.operation) is None or model in (pause.message or ""):
        return pause
    return pause.model_copy(update={"message": f"{model}: {pause.message}"})
