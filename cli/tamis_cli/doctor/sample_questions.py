"""Sample questions: the first one of each operation, about a citation of the example, as a worker would put it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tamis_review.example import CITATIONS, CRITERIA
from tamis_review.intake import read_records
from tamis_review.plans.criteria_file import read_criteria
from tamis_schemas import Answer, Inclusion, Item, Judge, Operation, Steering, parse_operation
from tamis_schemas.batches.steering import NO_STEERING
from tamis_schemas.operations import OPERATIONS, OperationKind, operation_name
from tamis_worker import operations
from tamis_worker.engine.conversation import CallPolicy, chat_request
from tamis_worker.llm.chat import ChatRequest


@dataclass(frozen=True)
class SampleQuestion:
    """The question of one operation, and how its answer is read."""

    operation: str
    request: ChatRequest
    parse: Callable[[object], Any]  # of decoded JSON; each operation reads a type of its own


def sample_questions(model: str, patience: CallPolicy, steering: Steering = NO_STEERING) -> tuple[SampleQuestion, ...]:
    """One question of each operation's shape, a short one first. The records are made up."""
    return tuple(_first_question(operation, item, model, patience, steering) for operation, item in _samples())


def _samples() -> list[tuple[Operation, Item]]:
    record = read_records(CITATIONS)[0]
    classified = {
        "value": "randomised controlled trial",
        "confidence": 0.9,
        "reasoning": "Abstract 1 says that the participants were assigned at random.",
        "context": f"Abstract 1: {record['abstract']}",
        "batch_size": 1,
    }
    items: dict[type[OperationKind], Item] = {Judge: classified}
    own: dict[type[OperationKind], dict[str, Any]] = {Inclusion: {"criteria": read_criteria(CRITERIA)}}
    in_order = sorted(OPERATIONS, key=lambda kind: kind in (Inclusion, Answer))  # the long questions last
    return [
        (parse_operation({"operation": operation_name(kind), **parameters}), items.get(kind, record))
        for kind in in_order
        if (parameters := {**kind.example, **own.get(kind, {})})
    ]


def _first_question(
    operation: Operation, item: Item, model: str, patience: CallPolicy, steering: Steering
) -> SampleQuestion:
    program = operations.program_of(operation, item)
    question = next(program)[0]
    program.close()
    return SampleQuestion(operation.operation, chat_request(question, model, patience, steering), question.parse)
