"""An operation's program: its questions about one item, and the evaluation of their answers.

A program is a generator. The program yields questions that may be asked in parallel, and receives one result per
question in the same order. At the end, the program returns the evaluation. A program does not call a model. The
program's caller does so, and is responsible for limits, retries and the repair of unusable answers.

Each answer has a bill: the cost of all calls for the question, including failed calls and repairs.
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
    """Tokens and dollars of one question, and the model that answered the question."""

    model: str | None = None  # the endpoint's name of the model
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = Decimal(0)  # dollars; None: the cost of some answer is unknown
    cached: bool = False  # the answer is from an earlier call


NO_BILL = QuestionBill()


@dataclass(frozen=True)
class Question(Generic[T]):
    """A question to a model, with the JSON schema and the parser of the answer."""

    messages: tuple[Message, ...]
    schema_name: str
    schema: Schema
    parse: Callable[[object], T]  # reads the decoded JSON; raises `InvalidAnswer`
    temperature: float | None = None  # None: the worker's setting. If that setting is None, none is ever sent
    sample: int = 0  # distinguishes equal questions that must not share a cached answer
    tokens: int = 0  # tokens that the answer may need; if the worker's limit is larger, that limit applies
    model: str | None = None  # model to ask; None: the batch's model
    decision: DecisionField | None = None  # the answer's field that includes or excludes; None: there is none


@dataclass(frozen=True)
class Answered(Generic[T]):
    """The value that a question's `parse` read from the answer."""

    value: T
    bill: QuestionBill = NO_BILL


@dataclass(frozen=True)
class Unanswered:
    """The reason why a question has no valid answer, after all retries and repairs."""

    kind: ErrorKind
    message: str
    bill: QuestionBill = NO_BILL


QuestionResult: TypeAlias = Answered[Any] | Unanswered  # one program asks questions of several types
OperationProgram: TypeAlias = Generator[tuple[Question[Any], ...], tuple[QuestionResult, ...], Decided]


class EvaluationFailed(Exception):
    """Raised if a program ends without an evaluation. The exception's kind becomes the kind of the item's error."""

    def __init__(self, kind: ErrorKind, message: str, panel: PanelResult | None = None) -> None:
        """Make the error. `panel`: the verdicts of the panel's models that answered."""
        self.kind = kind
        self.message = message
        self.panel = panel
        super().__init__(f"{kind}: {message}")


def ask(
    *questions: Question[T],
) -> Generator[tuple[Question[Any], ...], tuple[QuestionResult, ...], tuple[Answered[T] | Unanswered, ...]]:
    """Ask questions in parallel, and return their results in the same order. Without questions, return no results."""
    if not questions:
        return ()
    results = yield questions
    if len(results) != len(questions):
        raise ValueError(f"{len(questions)} questions, but {len(results)} results")
    return results


def ask_one(question: Question[T]) -> Generator[tuple[Question[Any], ...], tuple[QuestionResult, ...], T]:
    """Ask one question, and return its answer's value. Raise `EvaluationFailed` if there is no valid answer."""
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
    """Return a function that makes the program of an operation with one question.

    The arguments `messages` and `response_schema` return the question's parts. `parse` turns the answer into the
    evaluation. `decision` is the answer's field that includes or excludes the record; None: there is no such field.
    """

    def program(operation: Asking, item: Item, *, shown: Item) -> OperationProgram:
        name, shape = operation_name(type(operation)), response_schema(operation)
        return ask_one(Question(messages(operation, shown), name, shape, partial(parse, operation), decision=decision))

    return program
