"""The harmless deviations, and the one that is not."""

from typing import Any

import pytest

from llm_double.personalities.behaviour import Shape
from llm_double.personalities.deviates import WAYS, Deviates
from llm_double.personalities.grammar import unbounded
from llm_double.personalities.percent_confidence import PercentConfidence
from stage.asking import SCHEMA, asked

KINDS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "design": {"anyOf": [{"type": "null"}, {"type": "string", "enum": ["RCT", "not met"]}]},
        "confidence": {"$ref": "#/$defs/unit"},
        "blinded": {"type": "boolean"},
        "title": {"type": "string"},
        "more": {"type": "array", "items": {"type": "string", "enum": ["not met"]}},
    },
    "$defs": {"unit": {"type": "number"}},
}
ANSWER = {"design": "RCT", "confidence": 0.9, "blinded": True, "title": "RCT of x", "more": ["not met"]}


@pytest.mark.parametrize(
    ("way", "changed"),
    [
        ("number_as_text", {"confidence": "0.9"}),
        ("boolean_as_text", {"blinded": "true"}),
        ("other_case", {"design": "rct", "more": ["Not met"]}),
        ("underscored", {"more": ["not_met"]}),
        ("spaced", {"design": " RCT ", "more": [" not met "]}),
        ("extra_key", {"note": "see the abstract"}),
    ],
)
def test_a_way_changes_its_own_kind_of_value_and_no_free_text(way: str, changed: dict[str, Any]) -> None:
    assert Deviates((way,)).value(asked("x"), ANSWER, Shape(KINDS, KINDS)) == {**ANSWER, **changed}


def test_keys_get_another_case_at_every_depth() -> None:
    deviating = Deviates(("other_case_of_keys",)).value(asked("x"), {"a": [{"bc": 1}]}, Shape())
    assert deviating == {"A": [{"Bc": 1}]}


def test_an_object_is_put_into_an_array_or_an_object() -> None:
    assert Deviates(("in_array",)).value(asked("x"), {"a": 1}, Shape()) == [{"a": 1}]
    assert Deviates(("wrapped",)).value(asked("x"), {"a": 1}, Shape()) == {"answer": {"a": 1}}


def test_all_of_them_can_be_had_together() -> None:
    assert Deviates().value(asked("x"), ANSWER, Shape(KINDS)) == [
        {
            "answer": {
                "Design": " rct ",
                "Confidence": "0.9",
                "Blinded": "true",
                "Title": "RCT of x",
                "More": [" Not_met "],
                "Note": "see the abstract",
            }
        }
    ]


def test_a_way_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match=f"'odd'.*{WAYS[0]}"):
        Deviates(("odd",))


CONFIDENT = {"decision": "include", "confidence": 0.85, "met": True}
IN_PERCENT = {"decision": "include", "confidence": 85, "met": True}
ENUM: dict[str, Any] = {
    **SCHEMA,
    "properties": {**SCHEMA["properties"], "confidence": {"type": "number", "enum": [0.85]}},
}


@pytest.mark.parametrize(
    ("enforced", "written"),
    [
        (None, IN_PERCENT),  # nothing binds the model
        (SCHEMA, CONFIDENT),  # a maximum does
        (unbounded(SCHEMA), IN_PERCENT),  # a grammar ignores it
        (unbounded(ENUM), CONFIDENT),  # and obeys an enum
    ],
)
def test_a_confidence_is_in_percent_where_the_enforced_schema_lets_it(
    enforced: dict[str, Any] | None, written: dict[str, Any]
) -> None:
    assert PercentConfidence().value(asked("x"), CONFIDENT, Shape(SCHEMA, enforced)) == written


def test_confidences_are_found_at_every_depth_and_other_numbers_left() -> None:
    value = {"a": [{"model_confidence": 0.5, "year": 1999, "confident": True}], "Confidence": 1}
    assert PercentConfidence().value(asked("x"), value, Shape()) == {
        "a": [{"model_confidence": 50, "year": 1999, "confident": True}],
        "Confidence": 100,
    }
