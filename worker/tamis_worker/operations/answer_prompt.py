"""The prompts of generator and evaluator (spec 2), in a structure that no answer or record can forge."""

import re
from collections.abc import Iterable
from typing import Final

from tamis_schemas import Item
from tamis_schemas.answers.iterations import AnswerEvaluation
from tamis_schemas.operations.answer import Answer
from tamis_schemas.records.item import shown_fields

from ..llm.chat import Message
from ..quotes.one_line import one_line
from .prompt import source_data

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
    """The generator's messages: instruction, format, the item's source data where it has any, earlier feedback."""
    sections = [
        _section("Instruction: ", operation.instruct, _GENERATION_TITLE),
        _section("Response Format: ", operation.resp_format, _GENERATION_TITLE),
    ]
    if shown_fields(item):
        heading, *lines = source_data(item).splitlines()
        sections.append("\n".join([heading, "```", *_quoted(lines, _GENERATION_TITLE), "```"]))
    if feedback is not None:
        sections.append(f"Previous Attempt Feedback:\n{feedback}")
    return (Message("system", GENERATOR_SYSTEM), Message("user", "\n\n".join(sections)))


def evaluation_messages(operation: Answer, answer: str) -> tuple[Message, ...]:
    """The evaluator's messages: the answer and the criteria, nothing of how the answer came about."""
    user = "\n\n".join(
        [
            "Please evaluate the following answer against the specified criteria.",
            _section("Answer to Evaluate:\n", answer, _EVALUATION_TITLE),
            _section("Evaluation Criteria:\n", operation.eval_crit, _EVALUATION_TITLE),
            "Provide a score from 0.0 to 1.0 and detailed feedback.",
        ]
    )
    return (Message("system", EVALUATOR_SYSTEM), Message("user", user))


def prepare_feedback(evaluation: AnswerEvaluation) -> str:
    """The feedback for the next attempt (spec 2), every text of the evaluator on one line."""
    feedback = f"Score: {evaluation.score}\nEvaluation: {one_line(evaluation.evaluation_reasoning)}\n"
    if evaluation.improvement_suggestions:
        feedback += "\nImprovement Suggestions:\n"
        for number, suggestion in enumerate(evaluation.improvement_suggestions, 1):
            feedback += f"{number}. {one_line(suggestion)}\n"
    return feedback


def _section(title: str, text: str, titles: re.Pattern[str]) -> str:
    """A title and its text, whose lines are kept; a line that reads as one of the message's titles is quoted."""
    first, *lines = f"{title}{text}".splitlines()
    return "\n".join([first, *_quoted(lines, titles)])


def _quoted(lines: Iterable[str], titles: re.Pattern[str]) -> list[str]:
    return [f"> {line}" if titles.match(line) else line for line in lines]
