"""One question to a model as a state machine: each reply leads to the next step, until a value, a failure or a pause.

| step | action of the caller |
|---|---|
| `Ask` | makes the call, and passes its outcome to `Attempt.next` |
| `Wait` | sleeps, then takes the next step |
| `EndpointPause` | blocks all calls to this endpoint and model for the given time, then takes the next step |
| `FindCause` | finds out whether the endpoint fails, and passes the result to `Attempt.next_by_cause` |
| `Done` | uses the answer |
| `Fail` | ends the question with an error |
| `Halt` | pauses the batch and returns the item |

The module `retry` contains the rules. This module provides the inputs of the rules (counted calls, seconds used,
earlier errors), and builds the next request. It uses no clock, endpoint or randomness.

`read_reply` returns the value that the operation reads from a reply. If an answer is unusable, the question is asked
once more, with a description of the answer's defect.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

from tamis_schemas import ErrorKind, Pause, PauseKind

from ..llm.answer_reading import read_answer
from ..llm.chat import CallError, ChatAnswer, ChatRequest, Message, Obstacle, Reply, Schema
from ..llm.json_answer import Malformed
from ..llm.token_probability import DecisionField, probability_of
from ..operations import Decided, Failure, InvalidAnswer
from .optional_wishes import has_wishes, without_wishes
from .retry import TRANSIENT, RetryDecision, RetryPolicy, Then, decide

T = TypeVar("T")
OF_WISHES = frozenset({ErrorKind.SERVER, ErrorKind.INVALID_REQUEST})  # an optional parameter may be the cause
TOKENS_OF_WORD = 0.6  # a floor: English has about 1.3 tokens a word
CUT_OFF = "cut off"  # how `Malformed` begins for a text that ends in the middle


@dataclass(frozen=True, slots=True)
class ReadContent(Generic[T]):
    """The value that an operation read from a model's text."""

    value: T
    deviations: tuple[str, ...] = ()  # harmless deviations from the requested form
    probability: float | None = None  # that the record is included, from the tokens; None: unknown

    def weighed(self, probability: float | None) -> "ReadContent[T]":
        """Return a copy with the probability that the record is included. If `probability` is None, return `self`."""
        if probability is None:
            return self
        value = replace(self.value, probability=probability) if isinstance(self.value, Decided) else self.value
        return replace(self, value=value, probability=probability)


@dataclass(frozen=True, slots=True)
class UsableAnswer(Generic[T]):
    """A usable answer and its content."""

    answer: ChatAnswer
    read: ReadContent[T]


@dataclass(frozen=True, slots=True)
class CallOutcome(Generic[T]):
    """The result of one call, with the other inputs that determine the next step."""

    reply: Reply
    read: UsableAnswer[T] | CallError  # result of `read_reply`
    seconds: float  # time of the call that counts against the item's deadline
    jitter: float  # a random number in [0, 1), drawn for every call
    refusals: int = 0  # refused calls of the process in a row, with this call; 0: this call was not refused
    anew: bool = False  # the request format has changed, so the question can be repeated
    hopeless: str | None = None  # why no answer of the model was usable in any request format; None: not hopeless


@dataclass(frozen=True, slots=True)
class Ask:
    """A step: make a call with this request."""

    request: ChatRequest


@dataclass(frozen=True, slots=True)
class Wait:
    """A step: wait, then make the next call. The wait counts against the item's deadline."""

    seconds: float
    then: Ask


@dataclass(frozen=True, slots=True)
class EndpointPause:
    """A step: block all calls to the endpoint and model for a time. This time does not count against a deadline."""

    seconds: float
    then: Ask


@dataclass(frozen=True, slots=True)
class FindCause:
    """A step: find out if the call itself caused its failure, or if the endpoint fails for all calls."""

    error: CallError


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """A step: use this value, and store the answer in the cache."""

    value: T
    answer: ChatAnswer
    probability: float | None = None  # of inclusion, from the answer's tokens


@dataclass(frozen=True, slots=True)
class Fail:
    """A step: end the question with this failure."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Halt:
    """A step: pause the batch, because none of its items would succeed now."""

    pause: Pause
    seconds: float = 0.0  # after which the batch resumes by itself; 0: people resume it


Next: TypeAlias = Ask | Wait | EndpointPause | FindCause | Done[T] | Fail
Step: TypeAlias = Next[T] | Halt


class Attempt(Generic[T]):
    """The steps of one question: `first`, then `next` after each `Ask`, and `next_by_cause` after each `FindCause`."""

    def __init__(self, request: ChatRequest, policy: RetryPolicy, *, worked: float = 0.0) -> None:
        """Begin a question. The item's earlier questions used `worked` seconds of the item's deadline."""
        self._request = request
        self._policy = policy
        self._before = self._worked = worked
        self._counted = 0  # calls, against `max_calls`
        self._errors: list[ErrorKind] = []  # earlier errors, except those caused by the way of asking
        self._latest = request
        self._unexplained: CallOutcome[T] | None = None  # the latest call, if the endpoint may be at fault
        self.bare = False  # True: the question was asked without its optional parameters
        self.took = 0.0  # seconds of the deadline, up to the last call that counted

    @property
    def model(self) -> str:
        """The name of the model that is asked."""
        return self._request.model

    def first(self) -> Ask | Fail:
        """Return the first call, or a failure if the item's deadline is over."""
        if self._worked >= self._policy.deadline:
            message = f"the item's deadline of {self._policy.deadline:g} s passed before its last question"
            return Fail(Failure(ErrorKind.TIMEOUT, message))
        return Ask(self._request)

    def next(self, outcome: CallOutcome[T]) -> Step[T]:
        """Return the step after the latest call."""
        error = outcome.read
        if not isinstance(error, CallError):
            self._count(outcome)
            return Done(error.read.value, error.answer, error.read.probability)
        if error.kind in TRANSIENT and error.obstacle is not Obstacle.CUT:
            self._unexplained = outcome
            return FindCause(error)
        return self._after(outcome, error)

    def next_by_cause(self, *, own_fault: bool) -> Step[T]:
        """Return the step after `FindCause`.

        If `own_fault` is False, the endpoint failed for all calls. Then neither the failed call nor its time counts
        against the item's limits.
        """
        outcome, self._unexplained = self._unexplained, None
        if outcome is None or not isinstance(outcome.read, CallError):
            raise ValueError("there is no call of an unknown cause")
        return self._after(outcome, outcome.read) if own_fault else Ask(self._latest)

    def _after(self, outcome: CallOutcome[T], error: CallError) -> Step[T]:
        if not (error.everyone or error.kind is ErrorKind.RATE_LIMITED):
            self._count(outcome)
        if error.kind in OF_WISHES and self._may_be_bare():
            self.bare = True
            self._request, self._latest = without_wishes(self._request), without_wishes(self._latest)
            return Ask(self._latest)
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
            return Halt(_pause(decision, error, outcome), decision.after)
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

    def _may_be_bare(self) -> bool:
        return not self.bare and self._counted < self._policy.max_calls and has_wishes(self._latest)

    def _count(self, outcome: CallOutcome[T]) -> None:
        self._counted += 1
        self._worked += outcome.seconds
        self.took = self._worked - self._before

    def _following(self, decision: RetryDecision, reply: Reply, error: CallError) -> ChatRequest:
        request = self._request
        if decision.larger_budget:
            return replace(request, max_tokens=2 * request.max_tokens)
        if decision.anew:  # the way of asking failed, not the budget
            return replace(request, max_tokens=self._latest.max_tokens)
        if isinstance(reply, ChatAnswer):
            return repaired(request, reply, error)
        return self._latest


def unusable(reason: Malformed | InvalidAnswer) -> CallError:
    """Return the error for an unusable answer. The answer's tokens are already counted, so the error has no usage."""
    kind = ErrorKind.MALFORMED if isinstance(reason, Malformed) else ErrorKind.INVALID
    return CallError(kind, str(reason)[:500])


def repaired(request: ChatRequest, answer: ChatAnswer, error: CallError) -> ChatRequest:
    """Return the request, extended by the unusable answer and a message that demands a corrected answer."""
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
    """Return the value that `parse` reads from a reply, or the error of an unusable reply.

    If `decision` is set, and the reply's tokens show the probability of inclusion, add this probability to the value.
    """
    if isinstance(reply, CallError):
        return reply
    read = read_content(reply.content, schema, parse)
    if isinstance(read, CallError):
        return _cut_off(reply, read) if read.message.startswith(CUT_OFF) else read
    if decision is not None and reply.tokens is not None:
        read = read.weighed(probability_of(reply.content, reply.tokens, decision))
    return UsableAnswer(reply, read)


def checked_reply(request: ChatRequest, reply: Reply) -> Reply:
    """Return the reply, or an error if the endpoint has cut the prompt.

    Some servers drop a part of a long prompt without an error (Ollama with a small `num_ctx`). The prompt was cut if
    the endpoint counts fewer tokens than `TOKENS_OF_WORD` times the words of the user's message. The words of the
    other messages are not counted, because an endpoint may omit their tokens if it has cached them.
    """
    if not isinstance(reply, ChatAnswer) or len(request.messages) > 2:
        return reply
    tokens = reply.usage.prompt_tokens + reply.usage.cached_tokens
    words = len(request.messages[-1].content.split())
    if reply.usage.prompt_tokens == 0 or tokens >= TOKENS_OF_WORD * words:
        return reply
    return _failed(
        ErrorKind.CONTEXT_LENGTH,
        f"the endpoint has read only {tokens} tokens of a record with {words} words: raise its context length "
        "(num_ctx in Ollama), or lower TAMIS_MAX_PROMPT_CHARS",
        reply,
    )


def _cut_off(answer: ChatAnswer, defect: CallError) -> CallError:
    """Return the error of an answer that was cut off, though its finish reason does not say so."""
    message = f"the answer was {defect.message}, after {answer.usage.completion_tokens} tokens"
    return _failed(ErrorKind.TRUNCATED, message, answer)


def _failed(kind: ErrorKind, message: str, answer: ChatAnswer) -> CallError:
    """Return the error of an answer that was charged but cannot be used."""
    return CallError(
        kind,
        message,
        200,
        usage=answer.usage,
        latency_ms=answer.latency_ms,
        rate=answer.rate,
        tier=answer.tier,
        rung=answer.rung,
        content=answer.content,
        body=answer.body,
    )


def read_content(content: str, schema: Schema, parse: Callable[[object], T]) -> ReadContent[T] | CallError:
    """Return the value that `parse` reads from a model's text, or the error of an unusable text."""
    try:
        read = read_answer(content, schema)
        return ReadContent(parse(read.value), read.deviations)
    except (Malformed, InvalidAnswer) as reason:
        return unusable(reason)


def _pause(decision: RetryDecision, error: CallError, outcome: CallOutcome[T]) -> Pause:
    """Return the pause of a batch. The reason is a requested wait, a lack of usable answers, or refused calls."""
    if decision.after:
        return Pause(kind=PauseKind.RATE_LIMITED, message=error.message)
    if outcome.hopeless is not None:
        return Pause(kind=PauseKind.UNUSABLE_ANSWERS, message=outcome.hopeless)
    message = error.message if error.everyone else f"{error.message} ({outcome.refusals} calls in a row)"
    return Pause(kind=PauseKind(error.kind), message=message)
