"""A program played to its end by a scripted model: the questions it asked, and what it came to."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tamis_schemas import ErrorKind
from tamis_worker.operations.answer_model import Decided, InvalidAnswer
from tamis_worker.operations.program import (
    Answered,
    EvaluationFailed,
    OperationProgram,
    Question,
    QuestionResult,
    Unanswered,
)

Model: TypeAlias = Callable[[Question[Any]], object]  # gives decoded JSON, or an `Unanswered`


@dataclass
class Played:
    """What was asked side by side, in order, and how it ended."""

    rounds: list[tuple[Question[Any], ...]] = field(default_factory=list)
    evaluation: Decided | None = None
    failure: EvaluationFailed | None = None

    @property
    def questions(self) -> list[Question[Any]]:
        return [question for asked in self.rounds for question in asked]

    def evaluated(self) -> Decided:
        """The evaluation; the failure is raised where there is none."""
        if self.failure is not None:
            raise self.failure
        assert self.evaluation is not None
        return self.evaluation


def play(program: OperationProgram, model: Model) -> Played:
    """Run a program; the model answers one question after the other, each read by the question's own `parse`."""
    played = Played()
    try:
        questions = next(program)
        while True:
            played.rounds.append(questions)
            questions = program.send(tuple(_reading(question, model(question)) for question in questions))
    except StopIteration as end:
        played.evaluation = end.value
    except EvaluationFailed as failure:
        played.failure = failure
    return played


def in_order(*replies: object) -> Model:
    """A model that gives these replies one after the other, and none beyond them."""
    remaining = iter(replies)

    def model(_: Question[Any]) -> object:
        try:
            return next(remaining)
        except StopIteration:
            raise AssertionError(f"asked more than {len(replies)} questions") from None

    return model


def silent(_: Question[Any]) -> object:
    """A model that must not be asked."""
    raise AssertionError("a question was asked")


def _reading(question: Question[Any], reply: object) -> QuestionResult:
    if isinstance(reply, Unanswered):
        return reply
    try:
        return Answered(question.parse(reply))
    except InvalidAnswer as error:
        return Unanswered(ErrorKind.INVALID, str(error))
