"""A schema is taken if it can be asked for, and refused with its place if it cannot."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from tamis_schemas.answers.results import FieldsResult
from tamis_schemas.operations.extract_fields import ExtractFields
from tamis_schemas.operations.field_rules import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    JsonSchema,
    checked_schema,
    definition,
    types,
    values,
)

SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {
        "study_type": {"type": "string"},
        "sample_size": {"type": "integer"},
        "primary_outcome": {"type": "string"},
    },
}
TEXT: JsonSchema = {"type": "string"}


def fields(**properties: Any) -> JsonSchema:
    return {"type": "object", "properties": properties}


def nested(depth: int) -> JsonSchema:
    """A field inside a field, `depth` levels of them."""
    inner = TEXT
    for _ in range(depth):
        inner = fields(a=inner)
    return inner


def doubling(levels: int, keyword: str) -> JsonSchema:
    """Definitions each of which refers twice to the next: 2^levels schemas once written out."""
    reference = [{"$ref": f"#/$defs/d{n}"} for n in range(levels + 1)]
    defs = {f"d{n}": {"type": "string", keyword: [reference[n + 1]] * 2} for n in range(levels)}
    return fields(a=reference[0]) | {"$defs": {**defs, f"d{levels}": TEXT}}


def test_the_schema_is_given_stored_and_sent_as_schema() -> None:
    operation = ExtractFields(schema=SCHEMA, instructions="x", field_instructions={"sample_size": "participants"})
    stored = operation.model_dump(mode="json")
    assert stored == {
        "operation": "extract_fields",
        "schema": SCHEMA,
        "instructions": "x",
        "field_instructions": {"sample_size": "participants"},
        "include_reasoning": True,
    }
    assert ExtractFields.model_validate(stored) == operation
    assert ExtractFields.model_validate_json(operation.model_dump_json()) == operation
    assert operation.json_schema == SCHEMA


def test_a_schema_that_is_changed_afterwards_changes_nothing() -> None:
    given = fields(a={"type": "string"})
    operation = ExtractFields(schema=given, instructions="x")
    given["properties"]["a"]["type"] = "nonsense"
    assert operation.json_schema == fields(a=TEXT)


class _Arm(BaseModel):
    name: str
    patients: int | None = None


class _Trial(BaseModel):
    """As pydantic writes it: $defs, $ref, anyOf with null, titles, defaults."""

    arms: list[_Arm]
    main: _Arm | None = None
    phase: int = 1


TAKEN = {
    "spec 1's": SCHEMA,
    "pydantic's": _Trial.model_json_schema(),
    "definitions of draft 7": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        **fields(a={"$ref": "#/definitions/t"}),
        "definitions": {"t": TEXT},
    },
    "an escaped name": fields(a={"$ref": "#/$defs/a~1b%20~0c"}) | {"$defs": {"a/b ~c": TEXT}},
    "an id of its own": {"$id": "https://example.org/s", **fields(a={"$ref": "#/$defs/t"}), "$defs": {"t": TEXT}},
    "properties called like keywords": fields(**{"$ref": TEXT, "properties": TEXT, "enum": {"enum": [1]}}),
    "data that looks like a reference": fields(a={"type": "string", "default": {"$ref": "http://example.org"}}),
    "conditions": fields(kind=TEXT, n={"type": "integer", "not": {"const": 0}})
    | {"if": {"properties": {"kind": {"const": "x"}}, "required": ["kind"]}, "then": {"required": ["n"]}},
    "a reference with conditions": fields(a={"$ref": "#/$defs/t", "maxLength": 3}) | {"$defs": {"t": TEXT}},
    "an allOf of one": fields(a={"allOf": [{"$ref": "#/$defs/t"}], "title": "A"}) | {"$defs": {"t": TEXT}},
    "as deep as it may be": nested(MAX_DEPTH),
    "a definition that nobody uses": fields(a=TEXT) | {"$defs": {"t": TEXT}},
}


@pytest.mark.spec("1.26")
@pytest.mark.parametrize("schema", TAKEN.values(), ids=TAKEN.keys())
def test_a_schema_that_can_be_asked_for_is_taken_as_it_is(schema: JsonSchema) -> None:
    assert ExtractFields(schema=schema, instructions="x").json_schema == schema


LOOP: JsonSchema = {"properties": {"x": {"$ref": "#/$defs/n"}}}
NODE = {"type": "object", "properties": {"label": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/n"}}}}
HOLDS_ITSELF: JsonSchema = fields(a=TEXT)
HOLDS_ITSELF["properties"]["b"] = HOLDS_ITSELF
SHARED: JsonSchema = TEXT
for _ in range(40):
    SHARED = {"anyOf": [SHARED, SHARED]}  # 2^40 schemas once written out
UNIONS: JsonSchema = TEXT
for _ in range(45):
    UNIONS = {"anyOf": [UNIONS]}
CHAIN = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(60)} | {"d60": TEXT}

REFUSED: dict[str, tuple[Any, str]] = {
    "no object": ([], "schema"),
    "only the properties": (SCHEMA["properties"], "must be of the form"),
    "of another type": ({"type": "array", "items": TEXT}, "must be of the form"),
    "of several types": ({"type": ["object", "null"], "properties": {"a": TEXT}}, "must be of the form"),
    "a reference at the top": ({"type": "object", "$ref": "#/$defs/t", "$defs": {"t": fields(a=TEXT)}}, "must be of"),
    "no properties": ({"type": "object"}, "schema: an object must list its properties"),
    "empty properties": (fields(), "schema: an object must list its properties"),
    "a type that does not exist": (fields(a={"type": "strng"}), "properties.a.type: 'strng'"),
    "a bound that is no number": (fields(a={"type": "integer", "minimum": "1"}), "properties.a.minimum: '1'"),
    "required that is no list": (fields(a={"type": "string", "required": True}), "properties.a.required: True"),
    "an unknown draft": (fields(a=TEXT) | {"$schema": "https://example.org/mine"}, r"\$schema"),
    "draft 4": (fields(a=TEXT) | {"$schema": "http://json-schema.org/draft-04/schema#"}, r"\$schema"),
    "a remote reference": (fields(a={"$ref": "https://example.org/s.json"}), "example.org.*only '#/"),
    "a file": (fields(a={"$ref": "file:///etc/passwd"}), "passwd.*only '#/"),
    "a reference to the whole": (fields(a={"$ref": "#"}), "'#': only"),
    "a reference into properties": (fields(a=TEXT, b={"$ref": "#/properties/a"}), "properties/a': only"),
    "a remote reference in a condition": (
        fields(a={"type": "string", "not": {"$ref": "https://example.org/s"}}),
        "example.org.*only",
    ),
    "a remote reference in a definition": (
        fields(a=TEXT) | {"$defs": {"t": {"$ref": "https://example.org/s"}}},
        "example.org.*only",
    ),
    "a missing definition": (fields(a={"$ref": "#/$defs/t"}) | {"$defs": {"u": TEXT}}, r"no such .*definitions are: u"),
    "a definition that is true": (fields(a={"$ref": "#/$defs/t"}) | {"$defs": {"t": True}}, "no such definition"),
    "dynamic references": (fields(a={"$dynamicRef": "#n"}), r"\$dynamicRef"),
    "an id inside": (fields(a={"$id": "https://example.org/a", "type": "string"}), r"\$id"),
    "a tree": (fields(a={"$ref": "#/$defs/n"}) | {"$defs": {"n": NODE}}, r"\$defs/n -> #/\$defs/n\); write out"),
    "two definitions in a circle": (
        fields(a={"$ref": "#/$defs/n"}) | {"$defs": {"n": {"$ref": "#/$defs/m"}, "m": {"$ref": "#/$defs/n"}}},
        "n -> #/.defs/m -> #/.defs/n",
    ),
    "a circle in a condition": (
        fields(a={"type": "object", "properties": {"x": TEXT}, "not": LOOP}) | {"$defs": {"n": LOOP}},
        "refers to itself",
    ),
    "a circle that nobody uses": (fields(a=TEXT) | {"$defs": {"n": LOOP}}, "refers to itself"),
    "references that double": (doubling(15, "anyOf"), "schemas, references included; at most 1000"),
    "conditions that double": (doubling(15, "allOf"), "schemas, references included; at most 1000"),
    "a long chain of references": (fields(a={"$ref": "#/$defs/d0"}) | {"$defs": CHAIN}, "in more than 40 schemas"),
    "unions of unions": (fields(a=UNIONS), "nests 47 schemas; at most 40"),
    "too deep": (nested(MAX_DEPTH + 1), f"nested more than {MAX_DEPTH} deep"),
    "far too deep": (nested(5000), "nested too deeply"),
    "itself": (HOLDS_ITSELF, "contains itself"),
    "aliases that double": (fields(a=SHARED), f"more than {MAX_CHARACTERS} characters"),
    "too long": (fields(a={"type": "string", "description": "x" * MAX_CHARACTERS}), f"at most {MAX_CHARACTERS}"),
    "too many": (fields(**{f"a{n}": TEXT for n in range(1000)}), "has 1001 schemas"),
    "no type": (fields(a={"description": "anything"}), "properties.a: has no type"),
    "an empty type": (fields(a={"type": []}), "properties.a"),
    "true": (fields(a=True), "properties.a: has no type"),
    "an allOf of two": (fields(a={"allOf": [TEXT, {"minLength": 1}]}), "properties.a: has no type"),
    "a union with a part without a type": (fields(a={"anyOf": [TEXT, {}]}), "properties.a.anyOf.1: has no type"),
    "a map": (fields(a={"type": "object", "additionalProperties": TEXT}), "properties.a: an object must list"),
    "a map in a list": (fields(a={"type": "array", "items": {"type": "object"}}), "properties.a.items: an object"),
    "an array of anything": (fields(a={"type": "array"}), "properties.a: an array needs one schema"),
    "an array of true": (fields(a={"type": "array", "items": True}), "properties.a: an array needs one schema"),
    "a pair": (fields(a={"type": "array", "prefixItems": [TEXT], "items": TEXT}), "properties.a: .* no prefixItems"),
    "a pair of draft 7": (
        {"$schema": "http://json-schema.org/draft-07/schema#", **fields(a={"type": "array", "items": [TEXT]})},
        "properties.a: an array needs one schema",
    ),
    "an enum of objects": (fields(a={"enum": [{"b": 1}]}), "properties.a: it allows no text, number"),
    "an enum of another type": (
        fields(a={"type": "string", "enum": [1, 2]}),
        "properties.a: it allows no text, number",
    ),
    "an empty enum": (fields(a={"enum": []}), "properties.a"),
    "a required that is no property": (SCHEMA | {"required": ["sample_sise"]}, "schema: 'sample_sise' is required"),
    "a property in a condition only": (
        fields(a=TEXT) | {"anyOf": [{"properties": {"b": TEXT}}, {"properties": {"c": TEXT}}]},
        "'b' is required, or used in a condition",
    ),
    "a base that is never asked for": (
        fields(a=TEXT) | {"allOf": [{"$ref": "#/$defs/t"}], "$defs": {"t": fields(b=TEXT)}},
        "'b' is required, or used in a condition",
    ),
    "a pattern that is none": (fields(a={"type": "string", "pattern": "("}), "properties.a.pattern: '\\(' is not"),
    "a pattern beyond patterns": (
        fields(a={"type": "string", "pattern": "a{99999999999}"}),
        "pattern that is too large",
    ),
    "a pattern that looks ahead": (
        fields(a={"type": "string", "pattern": "^(?=x)"}),
        "properties.a.pattern: '\\^\\(\\?=x\\)' is not a pattern: .*RE2 supports no lookaround",
    ),
    "a pattern that is too long": (fields(a={"type": "string", "pattern": "a" * 1001}), "at most 1000"),
    "a pattern in a condition that refers back": (
        fields(a=TEXT) | {"if": {"properties": {"a": {"pattern": r"(a)\1"}}}, "then": {"properties": {"a": TEXT}}},
        "if.properties.a.pattern",
    ),
    "a name that is a pattern and none": (
        fields(a=TEXT) | {"patternProperties": {"[": TEXT}},
        "patternProperties: '\\[' is not",
    ),
    "NaN": (fields(a={"type": "number", "default": float("nan")}), "nan"),
    "NUL": (fields(a={"type": "string", "description": "x\x00"}), "NUL"),
    "half of a surrogate pair": (fields(**{"\ud83d": TEXT}), "surrogate"),
    "a set": (fields(a={"enum": {"x"}}), "not a JSON value"),
    "a name that is no text": ({"type": "object", "properties": {1: TEXT}}, "a name that is not text"),
}


@pytest.mark.parametrize(("schema", "named"), REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.timeout(10)
def test_a_schema_that_cannot_be_asked_for_is_refused_naming_the_place(schema: Any, named: str) -> None:
    with pytest.raises(ValidationError, match=named) as caught:
        ExtractFields.model_validate({"schema": schema, "instructions": "x"})
    assert caught.value.errors()[0]["loc"][0] == "schema"


def test_a_large_schema_is_checked_in_no_time() -> None:
    wide = fields(
        **{f"a{n}": {"type": ["string", "null"], "enum": ["x", "y"], "not": {"const": "z"}} for n in range(480)}
    )
    assert checked_schema(wide) == wide


@pytest.mark.spec("1.27")
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (
            {"field_instructions": {"sampel_size": "n"}},
            "'sampel_size' is not a property of schema; did you mean 'sample_size'",
        ),
        ({"field_instructions": {"zzz": "n"}}, "field_instructions: 'zzz' is not a property"),
        ({"field_instructions": {"sample_size": " "}}, "field_instructions.sample_size"),
        ({"field_instructions": ["n"]}, "field_instructions"),
        ({"instructions": " "}, "instructions"),
        ({"json_schema": SCHEMA}, "json_schema"),
        ({"fields": {}}, "fields"),
    ],
)
def test_other_wrong_parameters_are_refused_naming_the_field(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        ExtractFields.model_validate({"schema": SCHEMA, "instructions": "x"} | changes)


def test_values_are_those_of_the_types_named() -> None:
    assert values({"type": "integer", "enum": [1, 2.0, 2.5, True, "1", None]}) == [1, 2.0]
    assert values({"type": ["boolean", "null"], "enum": [1, True, None]}) == [True, None]
    assert values({"enum": ["a", [1], {"b": 1}, 3]}) == ["a", 3]
    assert values({"const": False}) == [False]


def test_properties_and_items_imply_their_types() -> None:
    assert types({"properties": {}}) == ["object"]
    assert types({"items": {}}) == ["array"]
    assert types({"anyOf": []}) == []


def test_a_definition_is_found_under_its_own_name_only() -> None:
    assert definition("#/$defs/t", {"$defs": {"t": TEXT}}) == TEXT
    assert definition("#/$defs/~01", {"$defs": {"~1": TEXT, "/": NODE}}) == TEXT
    with pytest.raises(ValueError, match="definitions are: none"):
        definition("#/definitions/t", {"$defs": {"t": TEXT}})


@pytest.mark.spec("1.29")
def test_fields_are_a_result_and_so_is_an_error() -> None:
    assert FieldsResult(fields={"a": None}, confidence=0.5).error is None
    assert FieldsResult(error="Request timed out").model_dump() == {
        "fields": None,
        "confidence": 0.0,
        "reasoning": None,
        "error": "Request timed out",
    }
    with pytest.raises(ValidationError, match="confidence"):
        FieldsResult(confidence=1.1)
