"""The operation Extract: one value of a requested type, or null if the source data does not hold the value.

An answer keeps its type: 3 is an integer, 3.0 is a float, and "3" is no number. An empty text, or a text that only
means "not present", counts as null for every requested type.
"""

from math import isfinite
from typing import Any

from tamis_schemas import EvaluationResult, Item, Retrieved
from tamis_schemas.operations.extract import Extract

from ..llm.chat import Message, Schema
from ..quotes.not_present import means_not_present
from . import citing
from .answer_model import Decided, InvalidAnswer, StrictAnswer, UnitInterval, explained_schema, explanation, validated
from .cited_program import ExtractionRequest, SourcedResult, asks_over_chunks
from .program import asks_once
from .prompt import SYSTEM_END, escape_headings, source_data, two_messages

TEXT_LENGTH = 2000  # characters; requested so that rambling models end, never a reason to refuse a value

_TASK = """\
You are an extraction function that extracts specific information from data.
Given source data and an instruction, extract the requested value.
If the information is not present in the source data, return null for value."""

SYSTEM = f"{_TASK}\n\n{SYSTEM_END}"
SYSTEM_CITING = f"{_TASK}\n\n{citing.RULE}\n\n{SYSTEM_END}"  # if the source data holds chunks


class _Answer(StrictAnswer):
    reasoning: str | None = None
    value: Any  # any JSON value; `_value` explains errors better than a union of types
    confidence: UnitInterval


class _CitingAnswer(_Answer):
    extractions: list[citing.Cited]


def messages(operation: Extract, item: Item, *, cites: bool = False) -> tuple[Message, ...]:
    """Return the system message and the user message for one item. An enum's values follow the instruction."""
    instruction = escape_headings(operation.instruction)
    if operation.enum_values:
        instruction = "\n".join(
            [instruction, "", "Allowed values:", *(f"- {value}" for value in operation.enum_values)]
        )
    return two_messages(SYSTEM_CITING if cites else SYSTEM, source_data(item), f"## Instruction\n{instruction}")


def response_schema(operation: Extract, *, cites: bool = False) -> Schema:
    """Return the answer's schema. If `cites` is True, a list of the cited chunks precedes the value."""
    extractions = {"extractions": citing.extractions_schema(_value_schema(operation))} if cites else {}
    value: Schema = {"anyOf": [_value_schema(operation), {"type": "null"}]}
    return explained_schema(operation, extractions | {"value": value})


def parse(operation: Extract, data: object) -> Decided:
    """Return the result of an answer. A value of None means "not present".

    Raise `InvalidAnswer` for an unusable answer.
    """
    return Decided(_result(operation, validated(_Answer, data)))


program = asks_once(messages, response_schema, parse)


def parse_citing(operation: Extract, retrieved: Retrieved, data: object) -> SourcedResult:
    """Return an answer's value, and the chunks that state the value. Raise `InvalidAnswer` for an unusable answer."""
    answer = validated(_CitingAnswer, data)
    result = _result(operation, answer)
    judged = lambda _, place, value: _value(operation, value, place)  # noqa: E731
    return SourcedResult(result, citing.read_extractions({"": answer.extractions}, retrieved, judged))


def _request(operation: Extract) -> ExtractionRequest:
    by_presence = frozenset({""} if operation.output_type == "enum" else ())
    return ExtractionRequest(operation.instruction, {"": ""}, single=True, by_presence=by_presence)


program_over_chunks = asks_over_chunks(messages, response_schema, parse_citing, _request)


def _result(operation: Extract, answer: _Answer) -> EvaluationResult:
    return EvaluationResult(
        value=_value(operation, answer.value),
        confidence=answer.confidence,
        reasoning=explanation(operation, answer.reasoning),
    )


def _value_schema(operation: Extract) -> Schema:
    match operation.output_type:
        case "text":
            return {"type": "string", "minLength": 1, "maxLength": TEXT_LENGTH}
        case "enum":
            return {"type": "string", "enum": list(operation.enum_values or ())}
        case "number" | "boolean" as plain:
            return {"type": plain}


def _value(operation: Extract, value: Any, place: str = "value") -> str | bool | float | None:
    allowed = operation.enum_values or ()
    match operation.output_type, value:
        case _, None:
            return None
        case _, str(text) if means_not_present(text) and text not in allowed:
            return None
        case "text", str(text):
            return text.strip()
        case "boolean", bool(truth):
            return truth
        case "number", int(number) | float(number) if not isinstance(value, bool) and isfinite(number):
            return number
        case "enum", str(text) if text in allowed:
            return text
        case "enum", _:
            raise InvalidAnswer(f"{place}: {_shown(value)} is none of {', '.join(allowed)[:300]}")
    raise InvalidAnswer(f"{place}: {_shown(value)} is no {operation.output_type}")


def _shown(value: Any) -> str:
    """Return a short text for an answered value, for error messages. The value may be long, or deeply nested."""
    match value:
        case dict():
            return "an object"
        case list():
            return "an array"
    return repr(value)[:80]
