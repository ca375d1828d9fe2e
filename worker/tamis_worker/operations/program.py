"""An operation's program: its questions about one item, and what their answers come to.

A program is a generator. It yields the questions that may be asked side by side, is sent one result per question in
the same order, and returns its evaluation; it may return one without having asked at all. It is pure: limits, retries
and the repair of unusable answers belong to whoever asks.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from tamis_schemas import ErrorKind, Item
from tamis_schemas.operations import OperationKind, operation_name

from ..llm.chat import Message, Schema
from .answer_model import Decided

T = TypeVar("T")
Asking = TypeVar("Asking", bound=OperationKind)


@dataclass(frozen=True)
class Question(Generic[T]):
    """What to ask, the shape of the answer, and how it is read."""

    messages: tuple[Message, ...]
    schema_name: str
    schema: Schema
    parse: Callable[[object], T]  # of decoded JSON; raises `InvalidAnswer`
    temperature: float | None = None  # None: as the worker is set; never sent where the worker sends none
    sample: int = 0  # tells questions apart that are otherwise equal and must not share one cached answer
    tokens: int = 0  # that the answer may need; the worker's own budget holds where it is larger


@dataclass(frozen=True)
class Answered(Generic[T]):
    """What the question's `parse` made of the answer."""

    value: T


@dataclass(frozen=True)
class Unanswered:
    """Why there is no valid answer, after every retry and repair."""

    kind: ErrorKind
    message: str


QuestionResult: TypeAlias = Answered[Any] | Unanswered  # one program asks questions of several types
OperationProgram: TypeAlias = Generator[tuple[Question[Any], ...], tuple[QuestionResult, ...], Decided]


class EvaluationFailed(Exception):
    """A program ended without an evaluation: the item's error, by its kind."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        self.kind = kind
        self.message = message
        super().__init__(f"{kind}: {message}")


def asked(
    *questions: Question[T],
) -> Generator[tuple[Question[Any], ...], tuple[QuestionResult, ...], tuple[Answered[T] | Unanswered, ...]]:
    """The readings of questions asked side by side, in their order. No questions: no readings, and nothing is asked."""
    if not questions:
        return ()
    readings = yield questions
    if len(readings) != len(questions):
        raise ValueError(f"{len(questions)} questions, but {len(readings)} readings")
    return readings


def answered(question: Question[T]) -> Generator[tuple[Question[Any], ...], tuple[QuestionResult, ...], T]:
    """What one question was answered with. Raises `EvaluationFailed` with the kind of its error where it was not."""
    (reading,) = yield from asked(question)
    match reading:
        case Answered(value=value):
            return value
        case Unanswered(kind=kind, message=message):
            raise EvaluationFailed(kind, message)


def single(
    messages: tuple[Message, ...],
    schema_name: str,
    schema: Schema,
    parse: Callable[[object], Decided],
    *,
    tokens: int = 0,
) -> OperationProgram:
    """The program of an operation whose one question gives the evaluation."""
    return (yield from answered(Question(messages, schema_name, schema, parse, tokens=tokens)))


def asks_once(
    messages: Callable[[Asking, Item], tuple[Message, ...]],
    response_schema: Callable[[Asking], Schema],
    parse: Callable[[Asking, object], Decided],
) -> Callable[..., OperationProgram]:
    """The program of an operation that asks one question about an item, whose answer is the evaluation."""

    def program(operation: Asking, item: Item, *, shown: Item) -> OperationProgram:
        name, shape = operation_name(type(operation)), response_schema(operation)
        return single(messages(operation, shown), name, shape, partial(parse, operation))

    return program
