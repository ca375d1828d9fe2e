"""Extract fields: several values at once, after a JSON schema (spec 1); null for what the source data does not hold."""

from typing import Annotated, Any

from pydantic import Field

from tamis_schemas import Item
from tamis_schemas.operations.extract_fields import ExtractFields
from tamis_schemas.results import FieldsResult

from ..engine.chat import Message, Schema
from . import field_schema
from .decided import (
    CONFIDENCE_SCHEMA,
    REASONING_SCHEMA,
    Decided,
    StrictAnswer,
    object_schema,
    validated,
)
from .prompt import SYSTEM_END, callers_words, one_line, source_data, user_message

SYSTEM = f"""\
You are an extraction function that extracts structured data.
Given source data and a schema, extract all requested fields.
Follow per-field instructions where provided.
For fields where information is not present, return null.

{SYSTEM_END}"""


class _Answer(StrictAnswer):
    reasoning: str | None = None
    fields: dict[str, Any]  # judged by the caller's schema
    confidence: Annotated[float, Field(ge=0, le=1)]


def messages(operation: ExtractFields, item: Item) -> tuple[Message, ...]:
    """System and user message for one item; field instructions stand in the order of the schema's properties."""
    sections = [source_data(item), f"## Overall Instructions\n{callers_words(operation.instructions)}"]
    given = operation.field_instructions or {}
    lines = [
        f"- {one_line(name)}: {one_line(given[name])}" for name in operation.json_schema["properties"] if name in given
    ]
    if lines:
        sections.append("\n".join(["## Field Instructions", *lines]))
    return (Message("system", SYSTEM), Message("user", user_message(*sections)))


def response_schema(operation: ExtractFields) -> Schema:
    """The answer's schema; the reasoning, where asked for, stands before the fields so that it comes first."""
    reasoning = {"reasoning": REASONING_SCHEMA} if operation.include_reasoning else {}
    fields = field_schema.requested(operation.json_schema)
    return object_schema(reasoning | {"fields": fields, "confidence": CONFIDENCE_SCHEMA})


def parse(operation: ExtractFields, data: object) -> Decided:
    """The fields that an answer gives, in the order of the schema's properties. Raises `InvalidAnswer`."""
    answer = validated(_Answer, data)
    field_schema.judge(operation.json_schema, answer.fields)
    return Decided(
        FieldsResult(
            fields={name: answer.fields[name] for name in operation.json_schema["properties"]},
            confidence=answer.confidence,
            reasoning=(answer.reasoning or "") if operation.include_reasoning else None,
        )
    )
