"""One question to a model as a step machine: what follows from each reply, up to a value, a failure or a pause.

| step | what its driver does |
|---|---|
| `Ask` | makes the call, and tells `Attempt.next` what became of it |
| `Wait` | sleeps, then takes the step that follows |
| `EndpointPause` | keeps every caller of this endpoint and model away for so long, then takes the step that follows |
| `Done` | uses the answer |
| `Fail` | ends the question with an error |
| `Halt` | pauses the batch and gives the item back |

Pure: it knows no clock, no endpoint and no randomness. `retry` holds the rules, this file what they are applied to: how
many calls counted, how much of the item's deadline is used up, which errors were met, what is asked next.

`read_reply` gives the value that an operation makes of a reply. An answer that cannot be used is repaired: the question
is asked once more, with what is wrong with the answer.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

from tamis_schemas import ErrorKind, Pause, PauseKind

from ..llm.answer_reading import read_answer
from ..llm.chat import CallError, ChatAnswer, ChatRequest, Message, Reply, Schema
from ..llm.json_answer import Malformed
from ..llm.token_probability import DecisionField, probability_of
from ..operations import Decided, Failure, InvalidAnswer
from .retry import RetryDecision, RetryPolicy, Then, decide

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadContent(Generic[T]):
    """A model's words that could be read, as the operation took them."""

    value: T
    deviations: tuple[str, ...] = ()  # what was harmlessly otherwise in them
    probability: float | None = None  # of inclusion, from the tokens; None: they say none. The value has it, too

    def weighed(self, probability: float | None) -> "ReadContent[T]":
        """The same with the probability of its decision."""
        if probability is None:
            return self
        value = replace(self.value, probability=probability) if isinstance(self.value, Decided) else self.value
        return replace(self, value=value, probability=probability)


@dataclass(frozen=True, slots=True)
class UsableAnswer(Generic[T]):
    """An answer, and what it says."""

    answer: ChatAnswer
    read: ReadContent[T]


@dataclass(frozen=True, slots=True)
class CallOutcome(Generic[T]):
    """The end of one call, and what is to be decided by."""

    reply: Reply
    read: UsableAnswer[T] | CallError  # of the reply, see `read_reply`
    seconds: float  # that the call takes of the item's deadline
    jitter: float  # in [0, 1), drawn anew for every call
    refusals: int = 0  # calls in a row refused like this one, whoever made them; 0: it was not refused
    anew: bool = False  # the model is asked in another way from now on: the question is worth asking anew
    hopeless: str | None = None  # why no answer of the model could be used, in whatever way it was asked


@dataclass(frozen=True, slots=True)
class Ask:
    """Make this call."""

    request: ChatRequest


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait alone, which counts towards the item's deadline."""

    seconds: float
    then: Ask


@dataclass(frozen=True, slots=True)
class EndpointPause:
    """Have everybody wait, which counts towards nobody's deadline."""

    seconds: float
    then: Ask


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """Use this value, and keep the answer that it came from."""

    value: T
    answer: ChatAnswer
    probability: float | None = None  # of inclusion, from the answer's tokens


@dataclass(frozen=True, slots=True)
class Fail:
    """There is none, and this is why."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Halt:
    """No item of the batch would fare better: it is to be paused with this reason."""

    pause: Pause


Next: TypeAlias = Ask | Wait | EndpointPause | Done[T] | Fail
Step: TypeAlias = Next[T] | Halt


class Attempt(Generic[T]):
    """The steps of one question. `first` begins, and each `Ask` is followed by one `next`."""

    def __init__(self, request: ChatRequest, policy: RetryPolicy, *, worked: float = 0.0) -> None:
        """`worked`: seconds of the item's deadline that its earlier questions took."""
        self._request = request
        self._policy = policy
        self._before = self._worked = worked
        self._counted = 0  # calls, against `max_calls`
        self._errors: list[ErrorKind] = []  # met so far; those that were the fault of how the model was asked are not
        self._latest = request
        self.took = 0.0  # seconds of the deadline, up to the last call that counted

    def first(self) -> Ask | Fail:
        """The first call; a failure where the item's deadline is over already."""
        if self._worked >= self._policy.deadline:
            message = f"the item's deadline of {self._policy.deadline:g} s was over before its last question"
            return Fail(Failure(ErrorKind.TIMEOUT, message))
        return Ask(self._request)

    def next(self, outcome: CallOutcome[T]) -> Step[T]:
        """The step that follows from the call that was asked for last."""
        error = outcome.read
        if not isinstance(error, CallError):
            self._count(outcome)
            return Done(error.read.value, error.answer, error.read.probability)
        if not (error.everyone or error.kind is ErrorKind.RATE_LIMITED):
            self._count(outcome)
        decision = decide(
            error,
            attempt=self._counted,
            elapsed=self._worked,
            policy=self._policy,
            jitter=outcome.jitter,
            earlier=self._errors,
            in_a_row=outcome.refusals,
            anew=outcome.anew,
            hopeless=outcome.hopeless is not None,
        )
        if decision.then is Then.HALT:
            return Halt(_pause(error, outcome))
        if not decision.again:
            return Fail(Failure(decision.kind or error.kind, error.message))
        if not decision.anew:
            self._errors.append(error.kind)
        self._latest = self._following(decision, outcome.reply, error)
        ask = Ask(self._latest)
        if decision.blocks:
            return EndpointPause(decision.after, ask)
        if decision.after:
            self._worked += decision.after
            return Wait(decision.after, ask)
        return ask

    def _count(self, outcome: CallOutcome[T]) -> None:
        self._counted += 1
        self._worked += outcome.seconds
        self.took = self._worked - self._before

    def _following(self, decision: RetryDecision, reply: Reply, error: CallError) -> ChatRequest:
        request = self._request
        if decision.larger_budget:
            return replace(request, max_tokens=2 * request.max_tokens)
        if decision.anew:  # the budget was no fault of how the model was asked
            return replace(request, max_tokens=self._latest.max_tokens)
        if isinstance(reply, ChatAnswer):
            return repaired(request, reply, error)
        return self._latest


def unusable(reason: Malformed | InvalidAnswer) -> CallError:
    """Why an answer that came cannot be used. Its usage was counted with the answer."""
    kind = ErrorKind.MALFORMED if isinstance(reason, Malformed) else ErrorKind.INVALID
    return CallError(kind, str(reason)[:500])


def repaired(request: ChatRequest, answer: ChatAnswer, error: CallError) -> ChatRequest:
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


def read_reply(
    reply: Reply, schema: Schema, parse: Callable[[object], T], decision: DecisionField | None = None
) -> UsableAnswer[T] | CallError:
    """The value that `parse` makes of a reply, or why there is none; with the probability of its decision."""
    if isinstance(reply, CallError):
        return reply
    read = read_content(reply.content, schema, parse)
    if isinstance(read, CallError):
        return read
    if decision is not None and reply.tokens is not None:
        read = read.weighed(probability_of(reply.content, reply.tokens, decision))
    return UsableAnswer(reply, read)


def read_content(content: str, schema: Schema, parse: Callable[[object], T]) -> ReadContent[T] | CallError:
    """The value that `parse` makes of a model's words, or why there is none."""
    try:
        read = read_answer(content, schema)
        return ReadContent(parse(read.value), read.deviations)
    except (Malformed, InvalidAnswer) as reason:
        return unusable(reason)


def _pause(error: CallError, outcome: CallOutcome[T]) -> Pause:
    """The pause of a batch whose call was refused, or whose model is of no use."""
    if outcome.hopeless is not None:
        return Pause(kind=PauseKind.UNUSABLE_ANSWERS, message=outcome.hopeless)
    message = error.message if error.everyone else f"{error.message} ({outcome.refusals} calls in a row)"
    return Pause(kind=PauseKind(error.kind), message=message)
