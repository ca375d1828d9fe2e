"""Schemas in the words of the endpoints."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_double.answers import answer_for
from llm_double.strictness import objection
from tamis_schemas import Filter, Inclusion, SearchCriteria
from tamis_worker import operations
from tamis_worker.llm.dialect import PORTABLE, UNIT_INTERVAL, bounded, instruction, portable

CONFIDENCE = {"type": "number", "minimum": 0, "maximum": 1}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "rationale": {"type": "string", "maxLength": 300, "minLength": 1, "description": "one sentence"},
        "verdicts": {
            "type": "object",
            "properties": {"I1": {"type": "string", "enum": ["met", "not met"]}},
            "required": ["I1"],
            "additionalProperties": False,
        },
        "scores": {"type": "array", "items": CONFIDENCE, "maxItems": 3},
        "year": {"type": "integer", "minimum": 1900, "maximum": 2100},
        "p": {"anyOf": [CONFIDENCE, {"type": "null"}]},
        "minimum": {"type": "string"},  # a property may be called like a keyword
    },
    "required": ["rationale", "verdicts", "scores", "year", "p", "minimum"],
    "additionalProperties": False,
}
OPERATIONS = [
    Filter(criteria="Is it a trial?"),
    Inclusion(
        criteria=SearchCriteria(
            research_question="Does it work?", inclusion_criteria=["adults", "trials"], exclusion_criteria=["animals"]
        )
    ),
]


def test_bounded_writes_a_number_from_0_to_1_as_an_enum_of_hundredths() -> None:
    assert bounded(CONFIDENCE) == {"type": "number", "enum": UNIT_INTERVAL}
    assert UNIT_INTERVAL[:3] == [0.0, 0.01, 0.02]
    assert len(UNIT_INTERVAL) == 101
    assert UNIT_INTERVAL[-1] == 1.0


def test_bounded_reaches_into_objects_arrays_and_unions_and_changes_nothing_else() -> None:
    enum = {"type": "number", "enum": UNIT_INTERVAL}
    expected = copy.deepcopy(SCHEMA)
    expected["properties"]["scores"]["items"] = enum
    expected["properties"]["p"]["anyOf"][0] = enum
    assert bounded(SCHEMA) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "number", "minimum": 0, "maximum": 10},
        {"type": "number", "minimum": 0},
        {"type": "integer", "minimum": 0, "maximum": 1},
        {"type": "number", "minimum": 0, "maximum": 1, "enum": [0.5]},
    ],
)
def test_bounded_leaves_other_numbers_alone(schema: dict[str, Any]) -> None:
    assert bounded(schema) == schema


def test_portable_drops_what_strict_modes_refuse_and_keeps_properties_named_like_keywords() -> None:
    assert portable(SCHEMA)["properties"] == {
        "rationale": {"type": "string", "description": "one sentence"},
        "verdicts": SCHEMA["properties"]["verdicts"],
        "scores": {"type": "array", "items": {"type": "number"}},
        "year": {"type": "integer"},
        "p": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "minimum": {"type": "string"},
    }


def test_portable_closes_every_object_and_requires_all_of_its_properties() -> None:
    open_schema = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {}}}}}
    assert portable(open_schema) == {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"b": {}}, "required": ["b"], "additionalProperties": False}
        },
        "required": ["a"],
        "additionalProperties": False,
    }


def test_portable_passes_strict_mode_where_the_schema_itself_does_not() -> None:
    assert objection(SCHEMA) is not None
    assert objection(portable(SCHEMA)) is None


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.operation)
def test_every_operations_schema_passes_strict_mode_when_portable(operation: Filter | Inclusion) -> None:
    (question,) = next(operations.program_of(operation, {"title": "T"}))
    assert objection(portable(question.schema)) is None


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.operation)
def test_every_answer_allowed_by_a_bounded_schema_can_be_parsed(operation: Filter | Inclusion) -> None:
    (question,) = next(operations.program_of(operation, {"title": "T"}))
    for seed in range(50):
        question.parse(answer_for(bounded(question.schema), str(seed)))


@pytest.mark.parametrize("dialect", [bounded, portable])
def test_the_schema_given_is_not_altered(dialect: Any) -> None:
    before = copy.deepcopy(SCHEMA)
    dialect(SCHEMA)
    assert before == SCHEMA


@pytest.mark.parametrize(
    ("given_", "required"), [({"properties": {"a": {}}}, ["a"]), ({"type": "object"}, []), ({"type": "string"}, None)]
)
def test_an_object_is_known_by_its_type_or_by_its_properties(
    given_: dict[str, Any], required: list[str] | None
) -> None:
    closed = {} if required is None else {"additionalProperties": False, "required": required}
    assert portable(given_) == given_ | closed


def test_the_order_of_properties_is_kept_because_models_answer_in_it() -> None:
    for dialect in (bounded, portable):
        assert list(dialect(SCHEMA)["properties"]) == list(SCHEMA["properties"])


def test_the_instruction_holds_the_whole_schema() -> None:
    assert json.loads(instruction(SCHEMA).partition("\n")[2]) == SCHEMA


leaves = st.sampled_from([CONFIDENCE, {"type": "string", "maxLength": 9}, {"enum": [1, "a"]}, {"type": "boolean"}])
schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(lambda p: {"type": "object", "properties": p}),
        inner.map(lambda part: {"type": "array", "items": part, "minItems": 1}),
        st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"anyOf": parts}),
    ),
    max_leaves=6,
)


@given(schemas)
def test_portable_uses_portable_keywords_only_and_is_stable(schema: dict[str, Any]) -> None:
    once = portable(schema)
    assert set(once) <= PORTABLE
    assert objection(once) is None
    assert portable(once) == once


@given(schemas)
def test_bounded_is_stable(schema: dict[str, Any]) -> None:
    assert bounded(bounded(schema)) == bounded(schema)
