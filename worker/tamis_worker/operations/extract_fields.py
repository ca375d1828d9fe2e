"""Extract fields: several values at once, after a JSON schema (spec 1); null for what the source data does not hold."""

from typing import Any

from tamis_schemas import Item, Retrieved
from tamis_schemas.answers.results import FieldsResult
from tamis_schemas.operations.extract_fields import ExtractFields

from ..llm.chat import Message, Schema
from ..quotes.one_line import one_line
from . import citing, field_schema
from .answer_model import (
    Decided,
    InvalidAnswer,
    StrictAnswer,
    UnitInterval,
    explained_schema,
    explanation,
    object_schema,
    validated,
)
from .cited_program import ExtractionRequest, SourcedResult, asks_over_chunks
from .program import asks_once
from .prompt import SYSTEM_END, escape_headings, source_data, user_message

_TASK = """\
You are an extraction function that extracts structured data.
Given source data and a schema, extract all requested fields.
Follow per-field instructions where provided.
For fields where information is not present, return null."""

SYSTEM = f"{_TASK}\n\n{SYSTEM_END}"
SYSTEM_CITING = f"{_TASK}\n\n{citing.RULE}\n\n{SYSTEM_END}"  # where the source data holds chunks


class _Answer(StrictAnswer):
    reasoning: str | None = None
    fields: dict[str, Any]  # judged by the caller's schema
    confidence: UnitInterval


class _CitingAnswer(_Answer):
    extractions: dict[str, list[citing.Cited]]


def messages(operation: ExtractFields, item: Item, *, cites: bool = False) -> tuple[Message, ...]:
    """System and user message for one item; field instructions stand in the order of the schema's properties."""
    sections = [source_data(item), f"## Overall Instructions\n{escape_headings(operation.instructions)}"]
    instructions = operation.field_instructions or {}
    lines = [
        f"- {one_line(name)}: {one_line(instructions[name])}"
        for name in operation.json_schema["properties"]
        if name in instructions
    ]
    if lines:
        sections.append("\n".join(["## Field Instructions", *lines]))
    return (Message("system", SYSTEM_CITING if cites else SYSTEM), Message("user", user_message(*sections)))


def response_schema(operation: ExtractFields, *, cites: bool = False) -> Schema:
    """The answer's schema; extractions, where asked for, stand before the fields: they come first."""
    fields = field_schema.requested(operation.json_schema)
    extractions: dict[str, Schema] = {}
    if cites:
        sources = field_schema.sources(operation.json_schema)
        listed = {name: citing.extractions_schema(source) for name, source in sources.items()}
        extractions["extractions"] = object_schema(listed)
    return explained_schema(operation, extractions | {"fields": fields})


def parse(operation: ExtractFields, data: object) -> Decided:
    """The fields that an answer gives, in the order of the schema's properties. Raises `InvalidAnswer`."""
    return Decided(_result(operation, validated(_Answer, data)))


program = asks_once(messages, response_schema, parse)


def parse_citing(operation: ExtractFields, retrieved: Retrieved, data: object) -> SourcedResult:
    """The result, and the extractions that each of its fields stands on. Raises `InvalidAnswer`."""
    answer = validated(_CitingAnswer, data)
    result = _result(operation, answer)
    names = list(operation.json_schema["properties"])
    if set(answer.extractions) != set(names):
        raise InvalidAnswer(f"extractions: given for {sorted(answer.extractions)}, asked for {sorted(names)}")
    in_order = {name: answer.extractions[name] for name in names}

    def judged(name: str, place: str, value: Any) -> Any:
        return field_schema.judged_source(operation.json_schema, name, place, value)

    return SourcedResult(result, citing.read_extractions(in_order, retrieved, judged))


def _request(operation: ExtractFields) -> ExtractionRequest:
    names, instructions = list(operation.json_schema["properties"]), operation.field_instructions or {}
    listed = (name for name in names if field_schema.is_of_listed_values(operation.json_schema, name))
    fields = {name: instructions.get(name, "") for name in names}
    return ExtractionRequest(operation.instructions, fields, by_presence=frozenset(listed))


program_over_chunks = asks_over_chunks(messages, response_schema, parse_citing, _request)


def _result(operation: ExtractFields, answer: _Answer) -> FieldsResult:
    fields = field_schema.judged(operation.json_schema, answer.fields)
    return FieldsResult(
        fields={name: fields[name] for name in operation.json_schema["properties"]},
        confidence=answer.confidence,
        reasoning=explanation(operation, answer.reasoning),
    )
