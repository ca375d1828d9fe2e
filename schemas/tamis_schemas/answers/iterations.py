"""Iterations: the attempts at an answer, until an attempt is good enough."""

from pydantic import Field

from ..errors import ErrorKind
from ..values.frozen import Frozen


class AnswerEvaluation(Frozen):
    """The evaluator's verdict on one answer. The score alone decides whether the answer is accepted.

    `meets_criteria` is only the evaluator's opinion.
    """

    score: float = Field(ge=0.0, le=1.0)
    meets_criteria: bool
    evaluation_reasoning: str
    improvement_suggestions: list[str] = Field(default_factory=list)


class IterationData(Frozen):
    """One attempt at an answer. The attempt either was evaluated, or failed with a kind of error.

    A failed attempt has no evaluation. If only the evaluation failed, the attempt has an answer.
    """

    iteration_number: int = Field(ge=1)
    attempt: int = Field(default=1, ge=1)  # number among the parallel attempts of this iteration
    answer: str | None = None
    evaluation: AnswerEvaluation | None = None
    error_kind: ErrorKind | None = None
    error: str | None = None


class AnswerResult(Frozen):
    """The best answer, with all attempts in order.

    `success` says whether the final answer reached the threshold. If no attempt reached the threshold, the final answer
    is the best attempt, or the first of several equally good attempts.
    """

    final_answer: str
    iterations: list[IterationData]
    success: bool
    total_iterations: int = Field(ge=1)  # rounds; fewer than `iterations` with parallel attempts
    final_score: float = Field(ge=0.0, le=1.0)
