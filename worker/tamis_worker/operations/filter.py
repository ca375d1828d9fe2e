"""Filter: a question that the model answers with True or False. Any other answer is an error."""

from tamis_schemas import EvaluationResult, Filter, Item

from ..llm.chat import Message, Schema
from ..llm.token_probability import DecisionField
from .answer_model import (
    Decided,
    Relevance,
    StrictAnswer,
    UnitInterval,
    explained_schema,
    explanation,
    grade,
    graded_schema,
    graded_system,
    validated,
)
from .program import asks_once
from .prompt import SYSTEM_END, escape_headings, source_data, two_messages

SYSTEM = f"""\
You are a classification function that answers yes/no questions about data.
Given source data and criteria, determine whether the answer is Yes or No.
You must provide an answer (True or False) even when uncertain—use low confidence to signal unreliability.

{SYSTEM_END}"""

DECISION = DecisionField("value", {"true": 1.0, "false": 0.0})


class _Answer(StrictAnswer):
    reasoning: str | None = None
    value: bool
    confidence: UnitInterval
    relevance: Relevance | None = None


def messages(operation: Filter, item: Item) -> tuple[Message, ...]:
    """Return the system message and the user message for one item."""
    instruction = f"## Instruction\n{escape_headings(operation.criteria)}"
    return two_messages(graded_system(operation, SYSTEM), source_data(item), instruction)


def response_schema(operation: Filter) -> Schema:
    """Return the answer's schema."""
    return graded_schema(operation, explained_schema(operation, {"value": {"type": "boolean"}}))


def parse(operation: Filter, data: object) -> Decided:
    """Return the result of an answer. Raise `InvalidAnswer` for an unusable answer."""
    answer = validated(_Answer, data)
    reasoning = explanation(operation, answer.reasoning)
    result = EvaluationResult(value=answer.value, confidence=answer.confidence, reasoning=reasoning)
    return Decided(result, relevance=grade(operation, answer.relevance))


program = asks_once(messages, response_schema, parse, DECISION)
