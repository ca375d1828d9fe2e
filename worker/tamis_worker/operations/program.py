"""An operation's program: its questions about one item, and what their answers come to.

A program is a generator. It yields the questions that may be asked side by side, is sent one result per question in
the same order, and returns its evaluation; it may return one without having asked at all. It is pure: limits, retries
and the repair of unusable answers belong to whoever asks.

Each answer comes with a bill: what the question's calls cost, failed ones and repairs too.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from tamis_schemas import ErrorKind, Item, PanelResult, Usage
from tamis_schemas.operations import OperationKind, operation_name

from ..llm.chat import Message, Schema
from ..llm.token_probability import DecisionField
from .answer_model import Decided

T = TypeVar("T")
Asking = TypeVar("Asking", bound=OperationKind)


@dataclass(frozen=True, slots=True)
class QuestionBill:
    """Tokens and dollars of one question, and who answered it."""

    model: str | None = None  # as the endpoint names it in its answer
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = Decimal(0)  # dollars; None: of some answer nobody knows what it cost
    cached: bool = False  # the answer was kept from an earlier call


NO_BILL = QuestionBill()


@dataclass(frozen=True)
class Question(Generic[T]):
    """A question to the model, the shape of its answer, and how it is read."""

    messages: tuple[Message, ...]
    schema_name: str
    schema: Schema
    parse: Callable[[object], T]  # of decoded JSON; raises `InvalidAnswer`
    temperature: float | None = None  # None: as the worker is set; never sent where the worker sends none
    sample: int = 0  # tells questions apart that are otherwise equal and must not share one cached answer
    tokens: int = 0  # that the answer may need; the worker's own budget holds where it is larger
    model: str | None = None  # that is asked; None: the batch's
    decision: DecisionField | None = None  # of an answer that includes or excludes: where, and by which values


@dataclass(frozen=True)
class Answered(Generic[T]):
    """The answer as the question's `parse` has read it."""

    value: T
    bill: QuestionBill = NO_BILL


@dataclass(frozen=True)
class Unanswered:
    """Why there is no valid answer, after every retry and repair."""

    kind: ErrorKind
    message: str
    bill: QuestionBill = NO_BILL


QuestionResult: TypeAlias = Answered[Any] | Unanswered  # one program asks questions of several types
OperationProgram: TypeAlias = Generator[tuple[Question[Any], ...], tuple[QuestionResult, ...], Decided]


class EvaluationFailed(Exception):
    """A program ended without an evaluation: the item's error, by its kind."""

    def __init__(self, kind: ErrorKind, message: str, panel: PanelResult | None = None) -> None:
        """`panel`: what the models of a panel said that did answer."""
        self.kind = kind
        self.message = message
        self.panel = panel
        super().__init__(f"{kind}: {message}")


def ask(
    *questions: Question[T],
) -> Generator[tuple[Question[Any], ...], tuple[QuestionResult, ...], tuple[Answered[T] | Unanswered, ...]]:
    """Ask questions side by side; return their results in the same order. Without questions nothing is asked."""
    if not questions:
        return ()
    results = yield questions
    if len(results) != len(questions):
        raise ValueError(f"{len(questions)} questions, but {len(results)} results")
    return results


def ask_one(question: Question[T]) -> Generator[tuple[Question[Any], ...], tuple[QuestionResult, ...], T]:
    """Ask one question; return its answer. Raises `EvaluationFailed` with the kind of its error where there is none."""
    (result,) = yield from ask(question)
    match result:
        case Answered(value=value):
            return value
        case Unanswered(kind=kind, message=message):
            raise EvaluationFailed(kind, message)


def asks_once(
    messages: Callable[[Asking, Item], tuple[Message, ...]],
    response_schema: Callable[[Asking], Schema],
    parse: Callable[[Asking, object], Decided],
    decision: DecisionField | None = None,
) -> Callable[..., OperationProgram]:
    """The program of an operation that asks one question about an item, whose answer is the evaluation."""

    def program(operation: Asking, item: Item, *, shown: Item) -> OperationProgram:
        name, shape = operation_name(type(operation)), response_schema(operation)
        return ask_one(Question(messages(operation, shown), name, shape, partial(parse, operation), decision=decision))

    return program
