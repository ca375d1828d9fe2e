"""What is asked for is in the strict subset; what is answered is judged by the caller's own schema."""

import copy
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from llm_double.answers import answer_for
from llm_double.strictness import objection
from tamis_schemas.operations.field_rules import MAX_DEPTH, JsonSchema, checked_schema
from tamis_worker.llm.dialect import portable
from tamis_worker.operations.answer_model import InvalidAnswer
from tamis_worker.operations.extract_fields import judged, requested

NULL = {"type": "null"}
TEXT = {"type": "string"}


def fields(**properties: Any) -> JsonSchema:
    return {"type": "object", "properties": properties}


def closed(**properties: Any) -> JsonSchema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def nullable(schema: JsonSchema) -> JsonSchema:
    return {"anyOf": [schema, NULL]}


def asked(schema: JsonSchema, **more: Any) -> Any:
    """What is asked for where a property has this schema."""
    return requested(checked_schema(fields(a=schema) | more))["properties"]["a"]


def accepted(schema: JsonSchema, answer: dict[str, Any]) -> bool:
    try:
        judged(schema, answer)
    except InvalidAnswer:
        return False
    return True


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (TEXT, nullable(TEXT)),
        ({"type": "integer", "minimum": 1, "multipleOf": 5}, nullable({"type": "integer"})),
        ({"type": "string", "format": "date", "pattern": "^2", "maxLength": 4}, nullable(TEXT)),
        ({"type": ["string", "null"]}, nullable(TEXT)),
        ({"type": ["integer", "string"]}, {"anyOf": [{"type": "integer"}, TEXT, NULL]}),
        ({"anyOf": [TEXT, NULL]}, nullable(TEXT)),
        ({"oneOf": [TEXT, {"type": "boolean"}]}, {"anyOf": [TEXT, {"type": "boolean"}, NULL]}),
        ({"enum": ["x", "y"]}, nullable({"type": "string", "enum": ["x", "y"]})),
        ({"type": "string", "enum": ["x", None]}, nullable({"type": "string", "enum": ["x"]})),
        ({"enum": [1, 2]}, nullable({"type": "integer", "enum": [1, 2]})),
        ({"enum": [1, 2.5]}, nullable({"type": "number", "enum": [1, 2.5]})),
        (
            {"enum": ["x", 1, True, None]},
            {
                "anyOf": [
                    {"type": "string", "enum": ["x"]},
                    {"type": "integer", "enum": [1]},
                    {"type": "boolean", "enum": [True]},
                    NULL,
                ]
            },
        ),
        ({"const": "x"}, nullable({"type": "string", "enum": ["x"]})),
        (NULL, NULL),
        ({"type": "array", "items": TEXT, "minItems": 1}, nullable({"type": "array", "items": TEXT})),
        (
            {"type": "array", "items": {"type": ["string", "null"]}},
            nullable({"type": "array", "items": nullable(TEXT)}),
        ),
        (fields(b=TEXT), nullable(closed(b=nullable(TEXT)))),
        (fields(b=TEXT) | {"required": ["b"], "additionalProperties": True}, nullable(closed(b=nullable(TEXT)))),
        ({"properties": {"b": TEXT}}, nullable(closed(b=nullable(TEXT)))),
        (
            {"type": "array", "items": fields(b=fields(c=TEXT))},
            nullable({"type": "array", "items": closed(b=nullable(closed(c=nullable(TEXT))))}),
        ),
        ({"type": "string", "title": "T", "description": "D"}, {"title": "T", "description": "D"} | nullable(TEXT)),
        ({"type": "string", "not": {"const": "x"}, "default": "y", "examples": ["z"]}, nullable(TEXT)),
    ],
)
def test_every_property_is_asked_for_in_the_strict_subset_and_can_be_null(
    schema: JsonSchema, expected: JsonSchema
) -> None:
    assert asked(schema) == expected


def test_references_are_written_out_and_what_stands_beside_them_describes() -> None:
    arm = {"type": "object", "title": "Arm", "description": "of a trial", "properties": {"n": {"type": "integer"}}}
    written = {"title": "Arm", "description": "of a trial"} | closed(n=nullable({"type": "integer"}))
    for holder in ("$defs", "definitions"):
        reference = {"$ref": f"#/{holder}/arm"}
        assert asked(reference, **{holder: {"arm": arm}}) == nullable(written)
        assert asked(reference | {"description": "the main one"}, **{holder: {"arm": arm}}) == {
            "description": "the main one"
        } | nullable(written)
        assert asked({"allOf": [reference]}, **{holder: {"arm": arm}}) == nullable(written)


def test_the_fields_themselves_cannot_be_null_and_keep_their_order() -> None:
    schema = fields(b=TEXT, a=TEXT, c=TEXT) | {"description": "D"}
    assert requested(schema) == {"description": "D"} | closed(b=nullable(TEXT), a=nullable(TEXT), c=nullable(TEXT))
    assert list(requested(schema)["properties"]) == ["b", "a", "c"]


class _Arm(BaseModel):
    name: str = Field(min_length=2)
    patients: int = Field(ge=1)


class _Trial(BaseModel):
    arms: list[_Arm]
    main: _Arm | None = None
    phase: int = Field(ge=1, le=4)


def test_a_schema_that_pydantic_writes_can_be_asked_for_and_judged() -> None:
    schema = checked_schema(_Trial.model_json_schema())
    assert objection(requested(schema)) is None
    good = {"arms": [{"name": "placebo", "patients": 12}], "main": None, "phase": 3}
    assert accepted(schema, good)
    assert accepted(schema, good | {"phase": None, "arms": None})
    assert accepted(schema, good | {"main": {"name": None, "patients": None}})
    with pytest.raises(InvalidAnswer, match=r"^fields\.arms\.0\.patients: 0 is less than the minimum of 1$"):
        judged(schema, good | {"arms": [{"name": "placebo", "patients": 0}]})
    with pytest.raises(InvalidAnswer, match=r"^fields\.main\.name: 'x' is too short$"):
        judged(schema, good | {"main": {"name": "x", "patients": None}})


CONDITIONAL = fields(kind=TEXT, n={"type": "integer"}) | {
    "if": {"properties": {"kind": {"const": "RCT"}}, "required": ["kind"]},
    "then": {"required": ["n"]},
}
EITHER = fields(x=TEXT, y=TEXT) | {"oneOf": [{"required": ["x"]}, {"required": ["y"]}], "required": ["x", "y"]}


@pytest.mark.spec("1.26")
@pytest.mark.parametrize(
    ("schema", "answer", "wrong"),
    [
        (fields(a={"type": "string", "maxLength": 2}), {"a": "xyz"}, "fields.a: 'xyz' is too long"),
        (fields(a={"type": "string", "pattern": "^x"}), {"a": "y"}, "fields.a: 'y' does not match '^x'"),
        # Python's own patterns would take longer than the universe is old
        (fields(a={"type": "string", "pattern": "^(x+x+)+$"}), {"a": "x" * 80 + "!"}, "fields.a: "),
        (fields(a=TEXT) | {"patternProperties": {"^a": {"maxLength": 2}}}, {"a": "abc"}, "fields.a: "),
        (fields(a={"type": "array", "items": TEXT, "minItems": 2}), {"a": ["x"]}, "fields.a: ['x'] is too short"),
        (fields(a={"type": "array", "items": TEXT, "uniqueItems": True}), {"a": ["x", "x"]}, "fields.a: "),
        (fields(a={"type": "array", "items": TEXT}), {"a": [None]}, "fields.a.0: None is not of type 'string'"),
        (fields(a={"enum": ["RCT"]}), {"a": "rct"}, "fields.a: 'rct' is not one of ['RCT']"),
        (fields(a={"enum": [1]}), {"a": True}, "fields.a: True is none of: [1], null"),
        (fields(a={"type": "integer"}), {"a": 1.5}, "fields.a: 1.5 is none of: integer, null"),
        (fields(a=fields(b=TEXT)), {"a": {"b": 1}}, "fields.a.b: 1 is none of: string, null"),
        (fields(a=fields(b=TEXT)), {"a": {}}, "fields.a: 'b' is a required property; answer null"),
        (CONDITIONAL, {"kind": "RCT", "n": None}, "fields: 'n' is a required property; answer null"),
        (EITHER, {"x": "1", "y": "2"}, "fields: "),
        (EITHER, {"x": None, "y": None}, "fields: "),
        (fields(a=TEXT, b=TEXT) | {"minProperties": 1}, {"a": None, "b": None}, "fields: "),
    ],
)
def test_what_the_strict_subset_cannot_say_is_still_judged(
    schema: JsonSchema, answer: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        judged(checked_schema(schema), answer)
    assert str(caught.value).startswith(wrong)


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        (CONDITIONAL, {"kind": "cohort", "n": None}),
        (CONDITIONAL, {"kind": None, "n": None}),
        (EITHER, {"x": "1", "y": None}),
        (fields(a={"type": "string", "minLength": 3}) | {"required": ["a"]}, {"a": None}),
        (fields(a={"enum": ["x", None]}) | {"required": ["a"]}, {"a": None}),
        (fields(a=TEXT) | {"required": ["a"]}, {"a": ""}),  # an empty text says nothing: null
        (fields(a={"type": "integer"}), {"a": 2.0}),  # a JSON integer
    ],
)
def test_null_is_judged_as_not_there_and_never_as_missing(schema: JsonSchema, answer: dict[str, Any]) -> None:
    judged(checked_schema(schema), answer)


def test_a_null_excuses_what_is_missing_and_no_other_value() -> None:
    binary = fields(events={"type": "integer"}, total={"type": "integer"}) | {"required": ["events", "total"]}
    continuous = fields(mean={"type": "number"}, sd={"type": "number", "minimum": 0, "not": {"const": 99}})
    schema = checked_schema(fields(name=TEXT, effect={"anyOf": [binary, continuous]}) | {"required": ["name"]})
    judged(schema, {"name": None, "effect": {"mean": 1, "sd": 2}})
    judged(schema, {"name": None, "effect": {"events": None, "total": 2}})
    for name in (None, "x"):
        for sd in (-1, 99):  # without its required properties, `binary` would take this
            with pytest.raises(InvalidAnswer, match=r"^fields\.effect"):
                judged(schema, {"name": name, "effect": {"mean": 1, "sd": sd}})


def test_what_the_callers_schema_takes_as_it_stands_is_taken() -> None:
    loose = fields(note=TEXT)  # open: it takes what the other one refuses
    schema = checked_schema(fields(name=TEXT, a={"anyOf": [loose, fields(b={"type": "string", "maxLength": 2})]}))
    judged(schema, {"name": None, "a": {"b": "xyz"}})


def test_without_any_null_nothing_is_excused() -> None:
    full = fields(n={"type": "integer"}) | {"required": ["n"]}
    pair = fields(x=TEXT, y=TEXT) | {"maxProperties": 1}
    schema = checked_schema(fields(a={"anyOf": [full, pair]}))
    with pytest.raises(InvalidAnswer, match=r"^fields\.a"):
        judged(schema, {"a": {"x": "1", "y": "2"}})


def test_the_deepest_schema_can_be_asked_for_and_answered() -> None:
    schema: JsonSchema = TEXT
    answer: Any = "x"
    for _ in range(MAX_DEPTH):
        schema, answer = fields(a=schema), {"a": answer}
    assert objection(requested(checked_schema(schema))) is None
    judged(schema, answer)


# Schemas as callers write them, with what makes them hard: definitions, unions, nulls, bounds, optional properties.
DEFINITIONS: JsonSchema = {
    "dose": {"type": "number", "minimum": 0, "exclusiveMaximum": 90, "description": "mg"},
    "pair": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/dose"}, "b": {"type": ["string", "null"], "maxLength": 50}},
        "required": ["a"],
    },
}
leaves: st.SearchStrategy[JsonSchema] = st.sampled_from(
    [
        {"type": "string", "maxLength": 50},
        {"type": "string", "minLength": 3, "enum": ["yes", "no", "unclear"]},
        {"type": "integer", "minimum": 0, "maximum": 60},
        {"type": "number", "exclusiveMinimum": 10},
        {"type": "boolean"},
        {"type": ["integer", "null"], "not": {"const": 7}},
        {"enum": ["a", 1, 2.5, True, None]},
        {"const": "x"},
        {"anyOf": [{"type": "integer", "maximum": 50}, {"type": "string", "enum": ["many", "few"]}]},
        {"$ref": "#/$defs/dose"},
        {"$ref": "#/$defs/pair", "description": "a pair"},
        {"allOf": [{"$ref": "#/$defs/pair"}]},
        {"anyOf": [{"$ref": "#/$defs/pair"}, {"type": "null"}]},
    ]
)


def objects(inner: st.SearchStrategy[JsonSchema]) -> st.SearchStrategy[JsonSchema]:
    @st.composite
    def build(draw: st.DrawFn) -> JsonSchema:
        properties = draw(st.dictionaries(st.sampled_from(["a", "b", "items", "enum", "type"]), inner, min_size=1))
        schema: JsonSchema = {"type": "object", "properties": properties}
        if required := draw(st.lists(st.sampled_from(list(properties)), unique=True)):
            schema["required"] = required
        if draw(st.booleans()):
            schema["additionalProperties"] = draw(st.booleans())
        return schema

    return build()


def extend(inner: st.SearchStrategy[JsonSchema]) -> st.SearchStrategy[JsonSchema]:
    arrays: st.SearchStrategy[JsonSchema] = st.builds(
        lambda items, bounds: {"type": "array", "items": items} | bounds,
        inner,
        st.sampled_from([{}, {"minItems": 1}, {"maxItems": 1}]),
    )
    members = st.lists(inner, min_size=1, max_size=2)
    unions: st.SearchStrategy[JsonSchema] = members.map(lambda drawn: {"anyOf": drawn})
    return st.one_of(objects(inner), arrays, unions)


schemas = objects(st.recursive(leaves, extend, max_leaves=5)).map(lambda schema: schema | {"$defs": DEFINITIONS})


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(part) for name, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value


def with_nulls(schema: Any) -> Any:
    """The schema with null for every property and without other properties: no generated schema has conditions."""
    if isinstance(schema, list):
        return [with_nulls(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {name: with_nulls(part) for name, part in schema.items() if name != "properties"}
    if "properties" not in schema:
        return changed
    properties = {name: {"anyOf": [with_nulls(part), NULL]} for name, part in schema["properties"].items()}
    return changed | closed(**properties)


def has_null(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(has_null(part) for part in inner)


@given(schemas)
def test_whatever_is_asked_for_is_in_the_strict_subset(schema: JsonSchema) -> None:
    before = copy.deepcopy(schema)
    written = requested(checked_schema(schema))
    assert objection(written) is None
    assert portable(written) == written
    assert "$ref" not in str(written).replace("'$ref'", "$ref")
    assert schema == before
    Draft202012Validator.check_schema(written)


@given(schemas, st.integers(0, 10**6))
def test_an_answer_that_was_asked_for_is_judged_as_the_callers_schema_judges_it_without_its_nulls(
    schema: JsonSchema, seed: int
) -> None:
    answer = answer_for(requested(schema), str(seed))
    assert Draft202012Validator(requested(schema)).is_valid(answer)
    present = Draft202012Validator(schema).is_valid(without_nulls(answer))
    expected = present or Draft202012Validator(with_nulls(schema)).is_valid(answer)
    assert accepted(schema, answer) is expected
    event(f"accepted: {expected}, with nulls: {has_null(answer)}")
    if not has_null(answer):  # then nothing that is required can be missing
        assert expected is Draft202012Validator(schema).is_valid(answer)


@given(schemas, st.data())
def test_whatever_the_callers_schema_allows_can_be_answered_with_null_for_what_is_left_out(
    schema: JsonSchema, data: st.DataObject
) -> None:
    drawn = data.draw(instances(schema, schema))
    assert Draft202012Validator(schema).is_valid(drawn["given"])
    assert Draft202012Validator(requested(schema)).is_valid(drawn["filled"])
    assert accepted(schema, drawn["filled"])


SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text("abc", min_size=3, max_size=9),
    "integer": st.integers(11, 50),
    "number": st.integers(11, 50) | st.floats(11, 50),
    "boolean": st.booleans(),
    "null": st.none(),
}


@st.composite
def instances(draw: st.DrawFn, schema: JsonSchema, root: JsonSchema) -> dict[str, Any]:
    """A value that a generated schema allows, and the same with null for every property that it leaves out."""

    def both(value: Any) -> dict[str, Any]:
        return {"given": value, "filled": value}

    if "$ref" in schema:
        return draw(instances(root["$defs"][schema["$ref"].rsplit("/")[-1]], root))
    for union in ("anyOf", "allOf"):
        if union in schema:
            return draw(instances(draw(st.sampled_from(schema[union])), root))
    if "const" in schema:
        return both(schema["const"])
    if "enum" in schema:
        return both(draw(st.sampled_from([v for v in schema["enum"] if Draft202012Validator(schema).is_valid(v)])))
    if schema["type"] == "object":
        given: dict[str, Any] = {}
        filled: dict[str, Any] = {}
        for name, part in schema["properties"].items():
            if name in schema.get("required", ()) or draw(st.booleans()):
                inner = draw(instances(part, root))
                given[name], filled[name] = inner["given"], inner["filled"]
            else:
                filled[name] = None
        return {"given": given, "filled": filled}
    if schema["type"] == "array":
        length = draw(st.integers(schema.get("minItems", 0), schema.get("maxItems", 2)))
        parts = [draw(instances(schema["items"], root)) for _ in range(length)]
        return {"given": [part["given"] for part in parts], "filled": [part["filled"] for part in parts]}
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return both(draw(SCALARS[draw(st.sampled_from(kinds))]))
