"""The operation ExtractFields: several values at once, by the caller's JSON schema. A value not in the data is null.

An endpoint's strict mode accepts few keywords of JSON schema, and requires every property. So the schema that is sent
to the endpoint allows more than the caller's schema, including null for every property. Afterwards the answer is
checked by the caller's schema. Null properties then count as absent, and no property is required. A text that only
means "not present" counts as null.
"""

import json
from dataclasses import dataclass
from functools import lru_cache, partial
from math import isfinite
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.protocols import Validator
from referencing import Registry

from tamis_schemas import Item, Retrieved
from tamis_schemas.answers.results import FieldsResult
from tamis_schemas.operations.extract_fields import ExtractFields, nothing_required, without_nulls
from tamis_schemas.operations.field_rules import MAX_DEPTH, JsonSchema, dialect, parts, types, values
from tamis_schemas.records.item import one_line

from ..llm.chat import Message, Schema
from ..quotes.not_present import means_not_present
from . import citing
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
from .prompt import SYSTEM_END, escape_headings, source_data, two_messages

_TASK = """\
You are an extraction function that extracts structured data.
Given source data and a schema, extract all requested fields.
Follow per-field instructions where provided.
For fields where information is not present, return null."""

SYSTEM = f"{_TASK}\n\n{SYSTEM_END}"
SYSTEM_CITING = f"{_TASK}\n\n{citing.RULE}\n\n{SYSTEM_END}"  # if the source data holds chunks

NULL: Schema = {"type": "null"}
KEPT = ("title", "description")  # keywords that inform the model without binding it
SOURCE_LENGTH = 500  # characters of the text for a list or an object from one chunk
SHAPE = frozenset({"type", "properties", "required", "items", "const", "enum", "$defs", "definitions", *KEPT})


class _Answer(StrictAnswer):
    reasoning: str | None = None
    fields: dict[str, Any]  # judged by the caller's schema
    confidence: UnitInterval


class _CitingAnswer(_Answer):
    extractions: dict[str, list[citing.Cited]]


def messages(operation: ExtractFields, item: Item, *, cites: bool = False) -> tuple[Message, ...]:
    """Return the system and the user message for one item. Field instructions are in the order of the properties."""
    sections = [source_data(item), f"## Overall Instructions\n{escape_headings(operation.instructions)}"]
    instructions = operation.field_instructions or {}
    lines = [
        f"- {one_line(name)}: {one_line(instructions[name])}"
        for name in operation.json_schema["properties"]
        if name in instructions
    ]
    if lines:
        sections.append("\n".join(["## Field Instructions", *lines]))
    return two_messages(SYSTEM_CITING if cites else SYSTEM, *sections)


def response_schema(operation: ExtractFields, *, cites: bool = False) -> Schema:
    """Return the answer's schema. If `cites` is True, lists of the chunks cited for each field precede the fields."""
    extractions: dict[str, Schema] = {}
    if cites:
        by_name = sources(operation.json_schema)
        listed = {name: citing.extractions_schema(source) for name, source in by_name.items()}
        extractions["extractions"] = object_schema(listed)
    return explained_schema(operation, extractions | {"fields": requested(operation.json_schema)})


def parse(operation: ExtractFields, data: object) -> Decided:
    """Return the fields of an answer, in the order of the schema's properties.

    Raise `InvalidAnswer` for an unusable answer.
    """
    return Decided(_result(operation, validated(_Answer, data)))


program = asks_once(messages, response_schema, parse)


def parse_citing(operation: ExtractFields, retrieved: Retrieved, data: object) -> SourcedResult:
    """Return the fields of an answer, and for each field the chunks that state its value.

    Raise `InvalidAnswer` for an unusable answer.
    """
    answer = validated(_CitingAnswer, data)
    result = _result(operation, answer)
    names = list(operation.json_schema["properties"])
    if set(answer.extractions) != set(names):
        raise InvalidAnswer(f"extractions: given for {sorted(answer.extractions)}, asked for {sorted(names)}")
    in_order = {name: answer.extractions[name] for name in names}
    judged = partial(judged_source, operation.json_schema)
    return SourcedResult(result, citing.read_extractions(in_order, retrieved, judged))


def _request(operation: ExtractFields) -> ExtractionRequest:
    names, instructions = list(operation.json_schema["properties"]), operation.field_instructions or {}
    listed = (name for name in names if is_of_listed_values(operation.json_schema, name))
    fields = {name: instructions.get(name, "") for name in names}
    return ExtractionRequest(operation.instructions, fields, by_presence=frozenset(listed))


program_over_chunks = asks_over_chunks(messages, response_schema, parse_citing, _request)


def _result(operation: ExtractFields, answer: _Answer) -> FieldsResult:
    fields = judged(operation.json_schema, answer.fields)
    return FieldsResult(
        fields={name: fields[name] for name in operation.json_schema["properties"]},
        confidence=answer.confidence,
        reasoning=explanation(operation, answer.reasoning),
    )


def requested(schema: JsonSchema) -> Schema:
    """Return the schema to request: the caller's schema in the subset that endpoints' strict modes accept.

    References are resolved, and every property is required and may be null. Objects have no further properties. Limits,
    patterns, formats and conditions are omitted here; `judged` applies them to the answer.
    """
    return _described(schema, _Writing(schema, bounds=False).of_object(schema))


def sources(schema: JsonSchema) -> dict[str, Schema]:
    """Return, for each property, the schema of the value that one chunk states.

    The value has the property's type, but is never null. If the property is a list or an object, the value is text.
    """
    return {name: _of_source(part) for name, part in requested(schema)["properties"].items()}


def is_of_listed_values(schema: JsonSchema, name: str) -> bool:
    """Return True if the schema lists the allowed values of the property `name`."""
    return any("enum" in branch for branch in _branches(sources(schema)[name]))


def judged_source(schema: JsonSchema, name: str, place: str, value: Any) -> Any:
    """Return the value that a chunk states for the property `name`; None if the value means "not present".

    Raises:
        InvalidAnswer: the value does not fit the property. The message begins with `place`, the value's path.
    """
    _check_values(value, place, 0)
    source = _sources(json.dumps(schema))[name]
    if _with_nulls(value, source.branches) is None:
        return None
    error = best_match(source.judge.iter_errors(value))
    if error is not None:
        raise InvalidAnswer(f"{place}: {_wrong(error)[:300]}")
    return value


def judged(schema: JsonSchema, answered: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an answer, checked by the caller's schema. Fields that are not present are null.

    Raises:
        InvalidAnswer: a field is invalid. The message has the field's path, and the reason.
    """
    _check_values(answered, "fields", 0)
    judges = _judges(json.dumps(schema))
    fields: dict[str, Any] = _with_nulls(answered, [judges.schema])
    _refuse(judges.shape, fields)
    present = without_nulls(fields)
    if judges.whole.is_valid(present):
        return fields
    if present == fields:
        _refuse(judges.whole, fields)
    # Required properties may be missing now, but only null ones: the present values keep their bounds.
    _refuse(judges.bounds, fields)
    _refuse(judges.conditions, present)
    return fields


@dataclass(frozen=True, slots=True)
class _Writing:
    """A writer of schemas in the subset that strict modes accept. `bounds` is True to keep the limits of values."""

    root: JsonSchema
    bounds: bool

    def of_property(self, schema: JsonSchema) -> Schema:
        return self._one(schema, [*self._branches(schema), NULL])

    def of_object(self, schema: JsonSchema) -> Schema:
        return object_schema({name: self.of_property(part) for name, part in schema["properties"].items()})

    def _one(self, schema: JsonSchema, branches: list[Schema]) -> Schema:
        different = [branch for n, branch in enumerate(branches) if branch not in branches[:n]]
        return _described(schema, different[0] if len(different) == 1 else {"anyOf": different})

    def _branches(self, schema: JsonSchema) -> list[Schema]:
        """Return one schema for each type that a schema allows."""
        bounds = {name: value for name, value in schema.items() if name not in SHAPE} if self.bounds else {}
        if "$ref" not in schema and ("const" in schema or "enum" in schema):
            return [bounds | branch for branch in _of_values(schema)]
        kinds = [] if "$ref" in schema else types(schema)
        if not kinds:
            inner = [part.schema for part in parts(schema, self.root)]
            return [_described(part, branch) for part in inner for branch in self._branches(part)]
        return [self._of_type(kind, schema, bounds) for kind in kinds]

    def _of_type(self, kind: str, schema: JsonSchema, bounds: Schema) -> Schema:
        match kind:
            case "object":
                return self.of_object(schema)
            case "array":
                items = self._one(schema["items"], self._branches(schema["items"]))
                return bounds | {"type": "array", "items": items}
        return bounds | {"type": kind}


def _of_source(part: Schema) -> Schema:
    branches = [branch for branch in _branches(part) if branch != NULL]
    if not branches or any(branch.get("type") in ("object", "array") for branch in branches):
        return {"type": "string", "maxLength": SOURCE_LENGTH}
    return branches[0] if len(branches) == 1 else {"anyOf": branches}


def _branches(part: Schema) -> list[Schema]:
    """Return the alternatives (`anyOf`) in a requested schema, including those within other alternatives."""
    inner = part.get("anyOf")
    return [part] if inner is None else [branch for union_part in inner for branch in _branches(union_part)]


def _with_nulls(value: Any, branches: list[Schema]) -> Any:
    """Return the value with null in place of every field's text that means "not present", at every level.

    `branches` are the alternative schemas of the value. A text that is in a list, or in an enum of a schema, stays.
    """
    match value:
        case str() if means_not_present(value) and not any(value in branch.get("enum", ()) for branch in branches):
            return None
        case dict():
            named = [branch.get("properties", {}) for branch in branches]
            return {
                name: _with_nulls(part, [branch for n in named if name in n for branch in _branches(n[name])])
                for name, part in value.items()
            }
        case list():
            items = [item for branch in branches if "items" in branch for item in _branches(branch["items"])]
            return [_with_nulls(part, items) if isinstance(part, dict) else part for part in value]
    return value


@dataclass(frozen=True, slots=True)
class _Source:
    branches: list[Schema]
    judge: Validator


@lru_cache(maxsize=16)
def _sources(text: str) -> dict[str, _Source]:
    listed = sources(json.loads(text))
    return {name: _Source(_branches(part), Draft202012Validator(part)) for name, part in listed.items()}


def _of_values(schema: JsonSchema) -> list[Schema]:
    """Return an enum schema for each type of the listed values, because strict modes require the type of an enum."""
    listed = values(schema)
    numbers = [value for value in listed if isinstance(value, int | float) and not isinstance(value, bool)]
    whole = all(float(value).is_integer() for value in numbers)
    groups: dict[str, list[Any]] = {
        "string": [value for value in listed if isinstance(value, str)],
        "integer" if whole else "number": numbers,
        "boolean": [value for value in listed if isinstance(value, bool)],
    }
    branches: list[Schema] = [{"type": kind, "enum": group} for kind, group in groups.items() if group]
    return [*branches, NULL] if None in listed else branches


def _described(schema: JsonSchema, body: Schema) -> Schema:
    kept = {keyword: schema[keyword] for keyword in KEPT if keyword in schema}
    return kept | {keyword: value for keyword, value in body.items() if keyword not in kept}


@dataclass(frozen=True, slots=True)
class _Judges:
    schema: Schema
    shape: Validator  # every property, of its type or null, and no further property
    whole: Validator  # the caller's schema, for the properties that are not null
    bounds: Validator  # the same as `shape`, with the bounds of the values
    conditions: Validator  # the caller's schema with nothing required


@lru_cache(maxsize=16)  # every item of a batch is judged by the same schema
def _judges(text: str) -> _Judges:
    schema: JsonSchema = json.loads(text)
    kind = dialect(schema)
    nothing: Registry[Any] = Registry()  # no reference to another document is fetched
    definitions = {keyword: schema[keyword] for keyword in ("$defs", "definitions") if keyword in schema}
    bounds = _Writing(schema, bounds=True).of_object(schema)
    shape = requested(schema)
    return _Judges(
        schema=shape,
        shape=Draft202012Validator(shape, registry=nothing),
        whole=kind(schema, registry=nothing),
        bounds=kind(bounds | definitions, registry=nothing),
        conditions=kind(nothing_required(schema), registry=nothing),
    )


def _refuse(judge: Validator, fields: dict[str, Any]) -> None:
    error: ValidationError | None = best_match(judge.iter_errors(fields))
    if error is not None:
        path = ".".join(["fields", *(str(step) for step in error.absolute_path)])
        raise InvalidAnswer(f"{path}: {_wrong(error)[:300]}")


def _wrong(error: ValidationError) -> str:
    """Return the error in words that help a model to correct its answer."""
    match error.validator, error.validator_value:
        case "required", _:
            return f"{error.message}; answer null where the information is not present"
        case "anyOf", list(branches):
            allowed = ", ".join(str(branch.get("enum") or branch.get("type", "something else")) for branch in branches)
            return f"{error.instance!r:.100} is none of: {allowed}"
    return error.message


def _check_values(value: Any, path: str, depth: int) -> None:
    """Raise `InvalidAnswer` for nesting that is too deep for validators, and for numbers that are not finite."""
    if depth > MAX_DEPTH:  # no schema is deeper
        raise InvalidAnswer(f"{path}: nested too deeply")
    match value:
        case dict():
            for name, part in value.items():
                _check_values(part, f"{path}.{name}", depth + 1)
        case list():
            for n, part in enumerate(value):
                _check_values(part, f"{path}.{n}", depth + 1)
        case float() if not isfinite(value):
            raise InvalidAnswer(f"{path}: {value} is no JSON number")
