"""The runner of one question: it waits until a call may begin, makes the call, reads the answer, and retries.

A wait for the rate limit uses no attempt, and does not count against the item's deadline. If the endpoint refuses the
key or the model, the batch is paused, but the item does not fail.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic, perf_counter
from typing import TypeVar

from tamis_schemas import ErrorKind, Pause, Prices, Usage
from tamis_schemas.operations import panel_of

from ..ledger.batches import BatchTerms
from ..limiter.limiter import Limiters
from ..limiter.token_estimates import TokenEstimates, believable
from ..llm.chat import CallError, ChatAnswer, ChatRequest, Message, Obstacle, Reply
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
    FindCause,
    Halt,
    Next,
    ReadContent,
    Step,
    Wait,
    checked_reply,
    read_content,
    read_reply,
)
from .backpressure import Backpressure
from .batch_interrupts import BatchInterrupts, CutOff, Halted
from .budget import BudgetReservations, OverBudget, Reservation, reserved_tokens
from .cache import Cache
from .call_accounting import CallAccounting, cost_of, usage_of
from .capacity import SERVICE_TIER, CallSlot, Capacity
from .endpoint_health import Admission, EndpointBroken, EndpointFault, EndpointHealth, Probe
from .optional_wishes import OptionalWishes
from .retry import RetryPolicy
from .transcript import QuestionTranscript

CONGESTED = frozenset({429, 503, 529})  # the endpoint is overloaded
LONGEST_PAUSE = 24 * 3600.0  # seconds, whatever an endpoint asks; then a call finds out whether it answers
PROBE_TOKENS = 64  # of a probe and its answer, at most
PROBE_WITHIN = 10.0  # seconds

T = TypeVar("T")


@dataclass(eq=False)
class QuestionRunner:
    """The runner of a worker process's questions to models, under the shared limits on calls.

    `sleep(seconds)` waits between two calls. `new_health` creates the `EndpointHealth` of one model. `server` is the
    endpoint's address in trace spans.
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
    new_health: Callable[[], EndpointHealth] = EndpointHealth
    server: EndpointAddress = UNKNOWN
    measures: Measures = NULL_MEASURES
    connections: int = 64  # calls in flight at once

    def __post_init__(self) -> None:
        self._wishes = OptionalWishes(monotonic)
        self._free = asyncio.Semaphore(self.connections)
        self._waiting: Counter[str] = Counter()  # questions that wait for permission to call, by model
        self._health: defaultdict[str, EndpointHealth] = defaultdict(self.new_health)  # by model
        self._estimates = TokenEstimates()

    @property
    def breakers(self) -> Mapping[str, str]:
        """The state of each model's circuit breaker. Read the mapping on the loop only."""
        return {model: health.state for model, health in self._health.items()}

    @property
    def faults(self) -> Mapping[str, EndpointFault]:
        """The endpoint's present faults, by model. Models without a fault are absent. Safe to read from any thread."""
        return {model: fault for model, health in [*self._health.items()] if (fault := health.fault) is not None}

    @property
    def held_up(self) -> int:
        """The number of questions that wait because calls to their model are blocked, fail, or lack capacity.

        The number may be read from any thread.
        """
        models = {*self.limiters.blocked(), *self.faults}
        return self.capacity.waiting + sum(self._waiting[model] for model in models)

    @contextmanager
    def _counted(self, model: str) -> Iterator[None]:
        """Count a question as waiting for permission to call, inside the `with` block."""
        self._waiting[model] += 1
        try:
            yield
        finally:
            self._waiting[model] -= 1

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
        """Ask a question. Return the value that `parse` reads from the answer, or return the failure.

        `accounting` receives the calls and their cost. `transcript` receives each call and each cached answer.

        `key` is the question's key in the cache. If it is None, the cache is not used. A valid cached answer costs
        nothing. A new answer is cached before it is used. If `fresh` is True, the cache is not read, and the new answer
        replaces the cached answer.

        Raises:
            Halted: the worker stops, or the batch or item is halted. The batch is paused first if the endpoint refuses
                the key or the model, if waiting cannot mend the endpoint's failure, or if the call could exceed the
                budget.
        """
        if key is not None and not fresh:
            cached = await self._kept(key, request, parse, accounting, transcript)
            if cached is not None:
                return cached.value
        request = self._wishes.applied(request)
        attempt: Attempt[T] = Attempt(request, self.policy, worked=accounting.worked)
        step: Next[T] = attempt.first()
        while True:
            match step:
                case Ask(call):
                    step = await self._next_step(call, attempt, parse, accounting, terms, transcript)
                case FindCause(error):
                    own_fault = await self._is_own_fault(request, accounting, terms)
                    after = attempt.next_by_cause(own_fault=own_fault)
                    step = await self._checked(after, error, attempt, accounting, terms)
                case Wait(seconds, following):
                    with self.interrupts.interruptible(terms.batch_id):
                        await self.sleep(seconds)
                    step = following
                case EndpointPause(seconds, following):
                    limiter = await self.limiters.of(request.model)
                    with self.interrupts.interruptible(terms.batch_id), self._counted(request.model):
                        await limiter.block(seconds)
                    step = following
                case Done(value, answer, probability):
                    self._wishes.answered(request, bare=attempt.bare)
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
        """Return the cached answer. Return None if there is no cached answer that this release can read."""
        cached = await self.cache.find(key)
        if cached is None:
            return None
        read = read_content(cached.content, request.schema, parse)
        if isinstance(read, CallError):
            return None
        accounting.cached += 1
        accounting.answered(read.deviations)
        self.measures.found()
        accounting.model = cached.model
        if transcript is not None:
            transcript.found(request, cached.content, cached.model, read.deviations)
        return read.weighed(cached.probability)

    async def _next_step(
        self,
        request: ChatRequest,
        attempt: Attempt[T],
        parse: Callable[[object], T],
        accounting: CallAccounting,
        terms: BatchTerms,
        transcript: QuestionTranscript | None,
    ) -> Next[T]:
        """Make a call, record it in `accounting`, and return the next step. Raise `Halted` if the item must stop."""
        if self.backpressure.calls_wait:  # the answer could not be kept
            with self.interrupts.interruptible(terms.batch_id):
                await self.backpressure.clear_for_calls()
        place = await self._place(request, accounting, terms)
        reservation = await self._reserved(request, terms, place)
        with (
            place,
            ChatSpan(self.server, place.request) as traced,
            await self._admission(request, accounting, terms, reservation) as admission,
            self.llm.dialect_turn(place.request) as dialect_turn,
        ):
            reply = place.heard(await self._call(dialect_turn, place.request, terms, admission, reservation, traced))
            reply = checked_reply(request, reply)
            refusals = admission.record(reply)
            read = read_reply(reply, request.schema, parse, request.decision)
            if isinstance(read, CallError) and read.kind is ErrorKind.TRUNCATED:
                reply = read
            cost = cost_of(self.prices, request.model, reply)
            accounting.note(reply, cost)
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
            # Before the admission is left: after a halt, the next caller would make a useless call.
            return await self._checked(step, error, attempt, accounting, terms)

    async def _checked(
        self,
        step: Step[T],
        error: CallError | None,
        attempt: Attempt[T],
        accounting: CallAccounting,
        terms: BatchTerms,
    ) -> Next[T]:
        """Record the question's time, and return `step`. If it is a `Halt`, pause the batch and raise `Halted`."""
        accounting.longest = max(accounting.longest, attempt.took)
        if isinstance(step, Halt):
            pause = _pause_of(step.pause, attempt.model, terms)
            if step.seconds:
                until = datetime.now(UTC) + timedelta(seconds=min(step.seconds, LONGEST_PAUSE))
                pause = pause.model_copy(update={"until": until})
            await self.interrupts.pause(terms.batch_id, pause)
            raise Halted
        if error is not None and not isinstance(step, Fail | FindCause):
            accounting.retried(error.kind)
        return step

    async def _is_own_fault(self, request: ChatRequest, accounting: CallAccounting, terms: BatchTerms) -> bool:
        """Wait until the endpoint answers. Return whether the question's latest call caused its own failure."""
        failed_at = asyncio.get_running_loop().time()
        health = self._health[request.model]
        async with self._waiting_for_the_endpoint(request, terms):
            return await health.is_own_fault(failed_at, self._probe(request, accounting, terms))

    @asynccontextmanager
    async def _waiting_for_the_endpoint(self, request: ChatRequest, terms: BatchTerms) -> AsyncIterator[None]:
        """Wrap a wait for the endpoint's health: if waiting does not help, pause the batch and raise `Halted`."""
        try:
            with self.interrupts.interruptible(terms.batch_id), self._counted(request.model):
                yield
        except (EndpointBroken, OverBudget) as reason:
            await self.interrupts.pause(terms.batch_id, _pause_of(reason.pause, request.model, terms))
            raise Halted from reason

    def _probe(self, request: ChatRequest, accounting: CallAccounting, terms: BatchTerms) -> Probe:
        """Return a function that asks the request's model a small question. The item pays for the answers."""

        async def probe() -> Reply:
            await self.backpressure.clear_for_calls()
            question = probing(request)
            tokens = reserved_tokens([len(message.content) for message in question.messages])
            reservation = (
                await self.budget.reserve(terms, question.model, tokens, question.max_tokens)
                if terms.budgeted
                else None
            )
            limiter = await self.limiters.of(request.model)
            used = None
            try:
                permit = await limiter.acquire(PROBE_TOKENS, batch=terms.batch_id, priority=terms.priority)
            except BaseException:
                self.budget.give_back(reservation)
                raise
            try:
                reply = await self.llm.ask(question)
                used = reply.usage.total_tokens or None
            finally:
                await limiter.release(permit, used)
            if reservation is not None:
                await self.budget.settle(reservation, usage_of(reply), reply.tier)
            cost = cost_of(self.prices, request.model, reply)
            if isinstance(reply, ChatAnswer) or reply.usage.total_tokens:
                accounting.note(reply, cost)
            self.measures.called(request.model, reply.kind.value if isinstance(reply, CallError) else "ok", reply, cost)
            return reply

        return probe

    async def _place(self, request: ChatRequest, accounting: CallAccounting, terms: BatchTerms) -> CallSlot:
        """Wait for a slot (the right to make one call) at the requested service tier, and return the slot.

        The caller reserves money only afterwards, because a reservation during the wait would block other items.
        """
        if (slot := self.capacity.place_at_once(request, accounting.waited)) is not None:
            return slot
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
            place.leave()  # there is no call
            raise

    async def _admission(
        self, request: ChatRequest, accounting: CallAccounting, terms: BatchTerms, reservation: Reservation | None
    ) -> Admission:
        health = self._health[request.model]
        if (admission := health.admit_at_once()) is not None:
            return admission
        try:
            async with self._waiting_for_the_endpoint(request, terms):
                return await health.admit(self._probe(request, accounting, terms))
        except BaseException:
            self.budget.give_back(reservation)  # there was no call
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
            with self.interrupts.interruptible(terms.batch_id), self._counted(request.model):
                await dialect_turn.wait()
                since = perf_counter()
                permit = await limiter.acquire(estimate, batch=terms.batch_id, priority=terms.priority)
                while self.backpressure.calls_wait:  # trouble may have begun during the wait
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
                limiter.void(permit)  # the call was not charged
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
                async with self._free:
                    return await self.llm.ask(request)
        except CutOff:  # the endpoint sees a client that hung up; it is unknown whether it charges for the call
            took = round(1000 * (perf_counter() - began))
            message = "cut off: the item was cancelled"
            return CallError(ErrorKind.CONNECTION, message, latency_ms=took, obstacle=Obstacle.CUT)


def probing(request: ChatRequest) -> ChatRequest:
    """Return a small question to the model of `request`. An answer shows that the endpoint works for this model."""
    return ChatRequest(
        request.model,
        (Message("user", "Answer with the JSON object {}"),),
        "probe",
        {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        None,
        PROBE_TOKENS // 2,
        headers=request.headers,
        timeout=PROBE_WITHIN,
    )


def _pause_of(pause: Pause, model: str, terms: BatchTerms) -> Pause:
    """Return the pause. If the operation has a panel of several models, add the model's name to the message."""
    if panel_of(terms.operation) is None or model in (pause.message or ""):
        return pause
    return pause.model_copy(update={"message": f"{model}: {pause.message}"})
