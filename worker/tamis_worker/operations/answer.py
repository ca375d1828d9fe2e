"""The operation Answer: generate, evaluate and refine answers until one is good enough, or no iterations are left.

Generation and evaluation are separate questions. Each iteration generates its attempts in parallel, then evaluates them
in parallel. If the best attempt is not good enough, its feedback goes to the next iteration.
"""

import re
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field

from tamis_schemas import ErrorKind, EvaluationResult, Item
from tamis_schemas.answers.iterations import AnswerEvaluation, AnswerResult, IterationData
from tamis_schemas.operations.answer import Answer
from tamis_schemas.records.item import one_line, shown_fields

from ..llm.chat import Message, Schema
from .answer_model import REASONING_SCHEMA, Decided, InvalidAnswer, StrictAnswer, object_schema, validated
from .program import Answered, EvaluationFailed, OperationProgram, Question, QuestionResult, Unanswered, ask
from .prompt import source_data, two_messages

GENERATOR_SYSTEM: Final = """\
You are an expert AI assistant that generates high-quality answers.

Focus on creating the best possible answer that follows the specified format requirements.
If you receive feedback from previous attempts, incorporate those improvements."""

EVALUATOR_SYSTEM: Final = """\
You are an expert evaluator assessing whether answers meet specified criteria.

Your task is to:
1. Carefully analyze the provided answer against the evaluation criteria
2. Provide a score from 0.0 to 1.0 (where 1.0 means fully meets all criteria)
3. Explain your reasoning in detail
4. If the score is below 1.0, provide specific, actionable improvement suggestions"""

_GENERATION_TITLE = re.compile(
    r"\s*(Instruction:|Response Format:|## Source Data|Previous Attempt Feedback:)", re.IGNORECASE
)
_EVALUATION_TITLE = re.compile(r"\s*(Answer to Evaluate:|Evaluation Criteria:)", re.IGNORECASE)


def generation_messages(operation: Answer, item: Item, feedback: str | None = None) -> tuple[Message, ...]:
    """Return the messages to the generating model: instruction, format, the item's data and any earlier feedback."""
    sections = [
        _section("Instruction: ", operation.instruct, _GENERATION_TITLE),
        _section("Response Format: ", operation.resp_format, _GENERATION_TITLE),
    ]
    if shown_fields(item):
        heading, *lines = source_data(item).splitlines()
        sections.append("\n".join([heading, "```", *_quoted(lines, _GENERATION_TITLE), "```"]))
    if feedback is not None:
        sections.append(f"Previous Attempt Feedback:\n{feedback}")
    return two_messages(GENERATOR_SYSTEM, *sections)


def evaluation_messages(operation: Answer, answer: str) -> tuple[Message, ...]:
    """Return the messages to the evaluating model. They hold the answer and the criteria, but no data of the item."""
    return two_messages(
        EVALUATOR_SYSTEM,
        "Please evaluate the following answer against the specified criteria.",
        _section("Answer to Evaluate:\n", answer, _EVALUATION_TITLE),
        _section("Evaluation Criteria:\n", operation.eval_crit, _EVALUATION_TITLE),
        "Provide a score from 0.0 to 1.0 and detailed feedback.",
    )


def prepare_feedback(evaluation: AnswerEvaluation) -> str:
    """Return the feedback for the next attempt, with each text of the evaluation on one line."""
    feedback = f"Score: {evaluation.score}\nEvaluation: {one_line(evaluation.evaluation_reasoning)}\n"
    if evaluation.improvement_suggestions:
        feedback += "\nImprovement Suggestions:\n"
        for number, suggestion in enumerate(evaluation.improvement_suggestions, 1):
            feedback += f"{number}. {one_line(suggestion)}\n"
    return feedback


def _section(title: str, text: str, titles: re.Pattern[str]) -> str:
    """Return a title and its text. Lines of the text that look like a title of the message get a `> ` in front."""
    first, *lines = f"{title}{text}".splitlines()
    return "\n".join([first, *_quoted(lines, titles)])


def _quoted(lines: Iterable[str], titles: re.Pattern[str]) -> list[str]:
    return [f"> {line}" if titles.match(line) else line for line in lines]


# For attempts after the first: parallel attempts at temperature 0 would be equal, and paid several times.
VARIED_TEMPERATURE = 0.8
SUGGESTIONS = 10  # at most; a rambling model must end

# The answer has no maxLength: a grammar cannot count that far, and the token budget limits the answer.
GENERATION_SCHEMA: Schema = object_schema({"answer": {"type": "string"}})
EVALUATION_SCHEMA: Schema = object_schema(
    {
        "evaluation_reasoning": REASONING_SCHEMA,
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "meets_criteria": {"type": "boolean"},
        "improvement_suggestions": {"type": "array", "items": {"type": "string"}, "maxItems": SUGGESTIONS},
    }
)

# After these errors no other question to the endpoint is answered either.
HOPELESS = frozenset({ErrorKind.AUTHENTICATION, ErrorKind.PERMISSION, ErrorKind.MODEL_NOT_FOUND})


class _Generated(StrictAnswer):
    answer: str


class _Evaluated(StrictAnswer):
    evaluation_reasoning: str
    score: float
    meets_criteria: bool
    improvement_suggestions: list[str] = Field(default_factory=list)


@dataclass(frozen=True)
class _Scored:
    answer: str
    evaluation: AnswerEvaluation


def program(operation: Answer, item: Item, *, shown: Item | None = None) -> OperationProgram:
    """Iterate until an attempt's score reaches the threshold, or no iterations are left. Return the best attempt.

    Of attempts with equal scores, the first is returned. The history also holds each failed attempt, with the kind of
    its error. The iterations also end if no attempt of an iteration has a score, and the endpoint refused the key or
    the model. `shown` is the item as sent to the model. If `shown` is None, the whole item is sent.

    Raises:
        EvaluationFailed: no attempt was both generated and evaluated. The error has the kind of the last failure.
    """
    history: list[IterationData] = []
    feedback: str | None = None
    number = 0
    item = item if shown is None else shown
    while number < operation.iter_max:
        number += 1
        attempts = yield from _iteration(operation, item, number, feedback)
        history += attempts
        best = _best(attempts)
        if best is None:
            if any(attempt.error_kind in HOPELESS for attempt in attempts):
                break
        elif best.evaluation.score >= operation.score_threshold:
            break
        else:
            feedback = prepare_feedback(best.evaluation)
    final = _best(history)
    if final is None:
        last = history[-1]
        message = f"none of {len(history)} attempts could be evaluated; the last: {last.error}"
        raise EvaluationFailed(last.error_kind or ErrorKind.INTERNAL, message)
    return _evaluation(operation, final, history, number)


def parse_answer(data: object) -> str:
    """Return the generated answer. Raise `InvalidAnswer` if the answer is blank, or `data` has a wrong form."""
    answer = validated(_Generated, data).answer
    if not answer.strip():
        raise InvalidAnswer("answer: blank")
    return answer


def parse_evaluation(data: object) -> AnswerEvaluation:
    """Return the evaluation of an answer. Raise `InvalidAnswer` for a wrong form, or a score outside 0 to 1."""
    evaluated = validated(_Evaluated, data)
    if not 0 <= evaluated.score <= 1:
        raise InvalidAnswer(f"score: {evaluated.score!r} is not from 0 to 1")
    return AnswerEvaluation(**evaluated.model_dump())


def _iteration(
    operation: Answer, item: Item, number: int, feedback: str | None
) -> Generator[tuple[Question[Any], ...], tuple[QuestionResult, ...], list[IterationData]]:
    """Generate the attempts of one iteration, evaluate each generated answer, and return the attempts."""
    messages = generation_messages(operation, item, feedback)
    drafts = yield from ask(
        *(
            Question(
                messages,
                schema_name="answer",
                schema=GENERATION_SCHEMA,
                parse=parse_answer,
                temperature=None if attempt == 0 else VARIED_TEMPERATURE,
                sample=(number - 1) * operation.parallel_attempts + attempt,
            )
            for attempt in range(operation.parallel_attempts)
        )
    )
    evaluations = yield from ask(
        *(
            Question(
                evaluation_messages(operation, draft.value),
                schema_name="answer_evaluation",
                schema=EVALUATION_SCHEMA,
                parse=parse_evaluation,
            )
            for draft in drafts
            if isinstance(draft, Answered)
        )
    )
    remaining = iter(evaluations)
    return [
        _attempt(number, attempt, draft, next(remaining) if isinstance(draft, Answered) else None)
        for attempt, draft in enumerate(drafts, 1)
    ]


def _attempt(
    number: int,
    attempt: int,
    draft: Answered[str] | Unanswered,
    evaluation: Answered[AnswerEvaluation] | Unanswered | None,
) -> IterationData:
    answer = draft.value if isinstance(draft, Answered) else None
    failed = draft if isinstance(draft, Unanswered) else evaluation if isinstance(evaluation, Unanswered) else None
    return IterationData(
        iteration_number=number,
        attempt=attempt,
        answer=answer,
        evaluation=evaluation.value if isinstance(evaluation, Answered) else None,
        error_kind=failed.kind if failed else None,
        error=failed.message if failed else None,
    )


def _best(attempts: Iterable[IterationData]) -> _Scored | None:
    """Return the first attempt with the highest score; None if no attempt has a score."""
    scored = [
        _Scored(attempt.answer, attempt.evaluation)
        for attempt in attempts
        if attempt.answer is not None and attempt.evaluation is not None
    ]
    return max(scored, key=lambda attempt: attempt.evaluation.score, default=None)


def _evaluation(operation: Answer, final: _Scored, history: list[IterationData], iterations: int) -> Decided:
    score = final.evaluation.score
    detail = AnswerResult(
        final_answer=final.answer,
        iterations=history,
        success=score >= operation.score_threshold,
        total_iterations=iterations,
        final_score=score,
    )
    reasoning = final.evaluation.evaluation_reasoning
    return Decided(EvaluationResult(value=final.answer, confidence=score, reasoning=reasoning), detail)
