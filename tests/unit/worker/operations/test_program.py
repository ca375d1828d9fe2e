"""A program: questions asked side by side, one result for each, an evaluation at the end or a kind of error."""

from typing import Any

import pytest

from programs import in_order, play, silent
from tamis_schemas import (
    ErrorKind,
    EvaluationResult,
    Filter,
    Inclusion,
    Operation,
    SearchCriteria,
)
from tamis_worker import operations
from tamis_worker.operations import filter as filter_
from tamis_worker.operations import inclusion
from tamis_worker.operations.answer_model import Decided, InvalidAnswer
from tamis_worker.operations.program import Answered, EvaluationFailed, OperationProgram, Question, Unanswered, ask

FILTER = Filter(criteria="Is it?")
INCLUSION = Inclusion(criteria=SearchCriteria(research_question="Does it work?", inclusion_criteria=["humans"]))
ITEM = {"title": "A title"}


def number(data: object) -> int:
    if not isinstance(data, int):
        raise InvalidAnswer(f"answer: {data!r} is no number")
    return data


def question(name: str) -> Question[int]:
    return Question((), name, {}, number)


def sum_of(*names: str) -> OperationProgram:
    """Asks for numbers side by side and gives the sum of those that it got."""
    results = yield from ask(*(question(name) for name in names))
    numbers = [reading.value for reading in results if isinstance(reading, Answered)]
    return Decided(EvaluationResult(value=sum(numbers)))


def one_question(operation: Operation) -> OperationProgram:
    return operations.program_of(operation, ITEM)


@pytest.mark.parametrize(
    ("operation", "module", "reply", "value"),
    [
        (FILTER, filter_, {"reasoning": "r", "value": False, "confidence": 0.9}, False),
        (
            INCLUSION,
            inclusion,
            {
                "rationale": "r",
                "verdicts": {"I1": {"quote": "A title", "verdict": "met"}},
                "status": "include",
                "confidence": 0.9,
            },
            "include",
        ),
    ],
)
def test_an_operation_of_one_call_is_a_program_of_one_question(
    operation: Operation, module: Any, reply: object, value: object
) -> None:
    played = play(one_question(operation), in_order(reply))
    assert played.evaluated().result.value == value
    ((asked_once,),) = played.rounds
    assert asked_once.messages == module.messages(operation, ITEM)
    assert (asked_once.schema_name, asked_once.temperature) == (operation.operation, None)
    assert asked_once.schema == module.response_schema(operation)


def test_an_unanswered_question_ends_a_single_program_with_its_kind() -> None:
    played = play(one_question(FILTER), in_order(Unanswered(ErrorKind.REFUSED, "I will not")))
    assert played.failure is not None
    assert (played.failure.kind, played.failure.message) == (ErrorKind.REFUSED, "I will not")
    assert str(played.failure) == "refused: I will not"


def test_an_answer_that_cannot_be_read_is_an_unanswered_question() -> None:
    played = play(one_question(FILTER), in_order({"value": "yes"}))
    assert played.failure is not None
    assert played.failure.kind is ErrorKind.INVALID


def test_results_come_back_in_the_order_of_the_questions() -> None:
    played = play(sum_of("a", "b", "c"), lambda asked_now: {"a": 1, "b": "two", "c": 4}[asked_now.schema_name])
    assert [len(asked_now) for asked_now in played.rounds] == [3]
    assert played.evaluated().result.value == 1 + 4  # b's answer is no number


def test_no_questions_are_not_asked() -> None:
    played = play(sum_of(), silent)
    assert played.evaluated().result.value == 0
    assert played.rounds == []


def test_a_reading_too_few_is_a_fault_of_whoever_asks() -> None:
    program = sum_of("a", "b")
    next(program)
    with pytest.raises(ValueError, match="2 questions, but 1 results"):
        program.send((Answered(1),))


def test_the_failure_of_a_program_reaches_whoever_runs_it() -> None:
    failure = EvaluationFailed(ErrorKind.TIMEOUT, "too late")
    with pytest.raises(EvaluationFailed, match="timeout: too late"):
        raise failure
