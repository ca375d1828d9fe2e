"""Score: a number on a scale. An answer that is not on the scale is an error."""

from functools import lru_cache

from tamis_schemas import EvaluationResult, Item
from tamis_schemas.operations.score import Score

from ..llm.chat import Message, Schema
from .answer_model import Decided, InvalidAnswer, StrictAnswer, UnitInterval, explained_schema, explanation, validated
from .program import asks_once
from .prompt import SYSTEM_END, escape_headings, source_data, two_messages

ENUM_VALUES = 200  # a grid of at most so many values is written out, so that no other answer is possible

_ROLE = """\
You are a scoring function that rates data on a numeric scale.
Given source data and criteria, provide a score within the specified range."""
_INTERVAL = "Use only values at the specified intervals."
_ALWAYS = "You must provide a score even when uncertain—use low confidence to signal unreliability."


class _Answer(StrictAnswer):
    reasoning: str | None = None
    value: float
    confidence: UnitInterval


def messages(operation: Score, item: Item) -> tuple[Message, ...]:
    """Return the system and the user message for one item. The scale's range and interval follow the criteria."""
    rules = [_ROLE, *([] if operation.interval is None else [_INTERVAL]), _ALWAYS]
    instruction = "\n".join(["## Instruction", escape_headings(operation.criteria), "", *_scale(operation)])
    return two_messages("\n".join([*rules, "", SYSTEM_END]), source_data(item), instruction)


def response_schema(operation: Score) -> Schema:
    """Return the answer's schema."""
    return explained_schema(operation, {"value": _value_schema(operation)})


def parse(operation: Score, data: object) -> Decided:
    """Return the result of an answer. Raise `InvalidAnswer` for a value that is not on the scale."""
    answer = validated(_Answer, data)
    low, high = written(operation.min_value), written(operation.max_value)
    if not operation.min_value <= answer.value <= operation.max_value:
        raise InvalidAnswer(f"value: {written(answer.value)} lies outside the range from {low} to {high}")
    value = operation.on_grid(answer.value)
    if value is None:
        raise InvalidAnswer(f"value: {written(answer.value)} is not at an interval: {_examples(operation)}")
    reasoning = explanation(operation, answer.reasoning)
    return Decided(EvaluationResult(value=value, confidence=answer.confidence, reasoning=reasoning))


program = asks_once(messages, response_schema, parse)


def written(value: float) -> str:
    """Return a number as people write it: `10`, not `10.0`. The number is never rounded."""
    return str(_plain(value))


def _plain(value: float) -> float:
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _scale(operation: Score) -> list[str]:
    lines = [f"Range: from {written(operation.min_value)} to {written(operation.max_value)}, both included."]
    if operation.interval is not None:
        lines.append(f"Interval: {written(operation.interval)}, so the allowed values are {_examples(operation)}.")
    return lines


def _examples(operation: Score) -> str:
    """Return the allowed values of a score as text. Of more than five values, return the first three and the last."""
    steps = operation.steps or 0
    shown = [written(operation.grid_value(k)) for k in (range(steps + 1) if steps < 5 else (0, 1, 2, steps))]
    return ", ".join(shown if steps < 5 else [*shown[:3], "...", shown[3]])


def _value_schema(operation: Score) -> Schema:
    steps = operation.steps
    if steps is not None and steps < ENUM_VALUES:
        return {"type": "number", "enum": list(_grid(operation))}
    return {"type": "number", "minimum": _plain(operation.min_value), "maximum": _plain(operation.max_value)}


@lru_cache(maxsize=64)  # exact fractions are slow, and every item of a batch uses the same grid
def _grid(operation: Score) -> tuple[float, ...]:
    return tuple(_plain(operation.grid_value(k)) for k in range((operation.steps or 0) + 1))
