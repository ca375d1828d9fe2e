"""An answer is brought into the shape of its schema where that takes no guess; what was otherwise is noted."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_double.answers import answer_for
from seven_operations import SEVEN, Asked
from tamis_worker.llm.answer_reading import MOST_NOTES, WRAPPERS, ReadAnswer, read_answer
from tamis_worker.llm.chat import Schema
from tamis_worker.llm.json_answer import Malformed

TEXT: Schema = {"type": "string"}
NULL: Schema = {"type": "null"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
DESIGN: Schema = {"type": "string", "enum": ["RCT", "cohort", "case-control", "not met"]}
GRID: Schema = {"type": "number", "enum": [0, 0.5, 1]}


def objects(*, closed: bool | None = True, **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "required": list(properties)}
    return schema if closed is None else schema | {"additionalProperties": not closed}


def any_of(*branches: Schema) -> Schema:
    return {"anyOf": list(branches)}


def read(value: object, schema: Schema) -> ReadAnswer:
    return read_answer(json.dumps(value), schema)


def of(value: object, schema: Schema) -> object:
    """What a value becomes under the key `a`."""
    answer = read({"a": value}, objects(a=schema)).value
    assert isinstance(answer, dict)
    return answer["a"]


PLAIN: list[tuple[Schema, str, object]] = [
    (NUMBER, "0.9", 0.9),
    (NUMBER, " 12 ", 12),
    (NUMBER, "-3", -3),
    (NUMBER, "0", 0),
    (NUMBER, "85", 85),  # no guess: whether 85 will do is for the operation to say
    (NUMBER, "1.50", 1.5),
    (INTEGER, "40", 40),
    (BOOLEAN, "true", True),
    (BOOLEAN, " FALSE ", False),
    (BOOLEAN, "Yes", True),
    (BOOLEAN, "no", False),
    ({"type": "string", "enum": ["include", "exclude"]}, "Included", "include"),
    ({"type": "string", "enum": ["include", "exclude"]}, "EXCLUDED", "exclude"),
    ({"enum": [1, True]}, "yes", True),
    (GRID, "0.5", 0.5),
    (GRID, "1.0", 1),
    (any_of(INTEGER, NULL), "40", 40),
    (any_of(BOOLEAN, NULL), "True", True),
    (any_of(INTEGER, NUMBER), "40", 40),
    (any_of(INTEGER, NUMBER), "4.5", 4.5),
    (any_of(any_of(INTEGER, NULL), BOOLEAN), "40", 40),
    ({"type": "boolean", "enum": [True]}, "true", True),
    (DESIGN, "rct", "RCT"),
    (DESIGN, " Cohort ", "cohort"),
    (DESIGN, "case_control", "case-control"),
    (DESIGN, "Case Control", "case-control"),
    (DESIGN, "not_met", "not met"),
    (any_of(DESIGN, NULL), "NOT-MET", "not met"),
    (any_of(DESIGN, {"type": "integer", "enum": [1, 2]}), "2", 2),
]


@pytest.mark.parametrize(("schema", "written", "expected"), PLAIN)
def test_a_text_that_can_mean_one_value_only_is_that_value(schema: Schema, written: str, expected: object) -> None:
    value = of(written, schema)
    assert value == expected
    assert type(value) is type(expected)
    (note,) = read({"a": written}, objects(a=schema)).deviations
    assert note.startswith(f"a: {written!r} read as ")


UNTOUCHED: list[tuple[Schema, object]] = [
    *[(NUMBER, text) for text in ("85%", "0,9", "1,250", "high", "", " ", "1e5", "+5", ".5", "5.", "007", "0x10")],
    *[(NUMBER, text) for text in ("NaN", "inf", "12 mg", "1 2", "true", "\u0663", "9" * 41, "N/A", "null")],
    *[(NUMBER, value) for value in (True, None, [0.9], {"value": 0.9}, [], 12, 0.5)],
    *[(INTEGER, value) for value in ("4.0", "4.5", 4.0, True)],
    *[
        (BOOLEAN, value)
        for value in ("yes, but", "none", "y", "n", "1", "0", "maybe", "T", "truely", "", 1, 0, None, [True])
    ],
    *[(GRID, value) for value in ("0.4", "half", 0.4, True)],
    *[(DESIGN, value) for value in ("", "RC T", "RCT.", "RCT (blinded)", "-RCT", "casecontrol", 1, ["RCT"], None)],
    *[(TEXT, value) for value in ("0.9", " padded ", "TRUE", "null", "", 42, True, None, ["x"], {"x": "y"})],
    *[(any_of(TEXT, NULL), value) for value in ("0.9", "null", 42, None)],
    (any_of(TEXT, INTEGER), "40"),
    (any_of(DESIGN, BOOLEAN), "maybe"),
    (any_of(BOOLEAN, {"type": "string", "enum": ["TRUE", "FALSE"]}), "true"),
    (any_of(objects(n=INTEGER), objects(n=NUMBER)), {"n": "5"}),  # which of the two is meant?
    ({"type": "string", "enum": ["a b", "a-b"]}, "A_B"),
    ({"type": "string", "enum": ["Met", "MET"]}, "met"),
    ({"type": "string", "enum": ["1", "0"]}, "-1"),
    ({"type": "string", "enum": ["+", "-"]}, ""),
    ({"type": "string", "enum": ["+", "-"]}, "_"),
    ({"type": "string", "enum": ["include", "included"]}, "included"),
    ({"type": "string", "enum": ["include", "exclude"]}, "including"),
    ({}, "0.9"),
    ({"type": ["number", "null"]}, "0.9"),
    ({"$ref": "#/$defs/n"}, "0.9"),
    ({"type": "array"}, ["0.9"]),
    ({"type": "array", "items": NUMBER}, "0.9"),
    (objects(n=NUMBER), "0.9"),
    (objects(n=NUMBER), [{"n": 1}]),
    ({"type": "object"}, {"n": "1"}),
]


@pytest.mark.parametrize(("schema", "value"), UNTOUCHED)
def test_anything_else_stays_as_it_is_for_the_operation_to_judge(schema: Schema, value: object) -> None:
    answer = read({"a": value}, objects(a=schema))
    assert json.dumps(answer.value) == json.dumps({"a": value})
    assert answer.deviations == ()


def test_lists_and_objects_are_read_at_every_level() -> None:
    arm = objects(name=TEXT, size=any_of(INTEGER, NULL))
    schema = objects(arms={"type": "array", "items": arm}, main=any_of(arm, NULL))
    given = {"arms": [{"name": "1", "size": "12"}, {"Name": "b", "size": None}], "main": {"name": "c", "SIZE": "7"}}
    assert read(given, schema) == ReadAnswer(
        {"arms": [{"name": "1", "size": 12}, {"name": "b", "size": None}], "main": {"name": "c", "size": 7}},
        (
            "arms.0.size: '12' read as a number",
            "arms.1: 'Name' read as 'name'",
            "main: 'SIZE' read as 'size'",
            "main.size: '7' read as a number",
        ),
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"Value": 1, " unit ": "mg"}, {"value": 1, "unit": "mg"}),
        ({"value": 1, "unit": "mg", "note": "x"}, {"value": 1, "unit": "mg"}),
        # Of two names that differ in case alone neither is dropped, and neither is taken for the other.
        ({"value": 1, "Value": 2, "unit": "mg"}, {"value": 1, "Value": 2, "unit": "mg"}),
        ({"VALUE": 1, "Value": 2, "unit": "mg"}, {"VALUE": 1, "Value": 2, "unit": "mg"}),
        ({"value": 1, " value": 1, "unit": "mg"}, {"value": 1, " value": 1, "unit": "mg"}),
        ({"values": 1, "unit": "mg"}, {"unit": "mg"}),
        ({}, {}),
    ],
)
def test_keys_are_read_in_any_case_and_others_are_left_out(given: object, expected: object) -> None:
    assert read(given, objects(value=NUMBER, unit=TEXT)).value == expected


def test_where_the_schema_has_two_names_that_differ_in_case_a_third_one_is_neither() -> None:
    assert read({"a": 1, "ID": 2, "iD": 3}, objects(a=NUMBER, id=NUMBER, Id=NUMBER)).value == {"a": 1, "ID": 2, "iD": 3}


@pytest.mark.parametrize("closed", [False, None])
def test_a_key_that_the_schema_allows_is_kept(closed: bool | None) -> None:
    schema = objects(closed=closed, value=NUMBER)
    assert read({"value": 1, "note": "x"}, schema) == ReadAnswer({"value": 1, "note": "x"})


ANSWER: Schema = objects(value=NUMBER, unit=TEXT)
SOUND = {"value": 1, "unit": "mg"}
AROUND: list[tuple[object, object]] = [
    ([SOUND], SOUND),
    ({"answer": SOUND}, SOUND),
    ({"Final_Answer": SOUND}, SOUND),
    ([{"result": SOUND}], SOUND),
    ([SOUND, SOUND], [SOUND, SOUND]),
    ([[SOUND]], [[SOUND]]),
    ([1], [1]),
    ([], []),
    ({"answer": [SOUND]}, {}),
    ({"result": {"answer": SOUND}}, {}),
    ({"answer": SOUND, "result": SOUND}, {}),
    ({"draft": SOUND}, {}),
    ({"abstract": SOUND}, {}),
    ({"value": SOUND}, {"value": SOUND}),
    ({"Value": SOUND}, {"value": SOUND}),
]


@pytest.mark.parametrize(("given", "expected"), AROUND)
def test_one_array_and_one_object_around_the_answer_are_taken_off(given: object, expected: object) -> None:
    assert read(given, ANSWER).value == expected


def test_a_name_that_may_hold_an_object_is_no_wrapper() -> None:
    inner = objects(answer=TEXT)
    assert read({"answer": {"answer": "x"}}, objects(answer=inner)).value == {"answer": {"answer": "x"}}
    assert read({"Answer": {"answer": "x"}}, objects(answer=inner)).value == {"answer": {"answer": "x"}}
    union = {"anyOf": [inner, {"type": "null"}]}
    assert read({"answer": {"answer": "x"}}, objects(answer=union)).value == {"answer": {"answer": "x"}}


def test_a_name_that_holds_a_scalar_may_be_the_wrapper_as_well() -> None:
    assert read({"answer": {"answer": "x"}}, objects(answer=TEXT)).value == {"answer": "x"}
    assert read({"Answer": {"answer": "x"}}, objects(answer=TEXT)).value == {"answer": "x"}


def test_an_object_of_whatever_keys_has_no_wrapper_that_it_would_know() -> None:
    assert read({"answer": {"n": "1"}}, {"type": "object"}).value == {"n": "1"}


def test_wrappers_are_written_as_they_are_compared() -> None:
    assert all(name == " ".join(name.casefold().replace("_", " ").replace("-", " ").split()) for name in WRAPPERS)


def test_what_is_noted_is_short_and_names_the_place() -> None:
    given = {"answer": {"Value": "0.9", "unit": "mg", "notes": "The whole abstract. " * 500}}
    assert read(given, ANSWER).deviations == (
        "taken out of 'answer'",
        "'Value' read as 'value'",
        "extra key 'notes' ignored",
        "value: '0.9' read as a number",
    )


def test_notes_are_bounded_in_number_and_in_length() -> None:
    given = {f"{'x' * 500}{n}": "y" for n in range(1_000)} | {"value": "1", "unit": "mg"}
    answer = read(given, objects(value=NUMBER, unit=TEXT))
    assert answer.value == {"value": 1, "unit": "mg"}
    assert len(answer.deviations) == MOST_NOTES + 1
    assert answer.deviations[-1] == f"and {1_001 - MOST_NOTES} more"
    assert max(map(len, answer.deviations)) < 100


@pytest.mark.timeout(10)
def test_a_hostile_answer_is_read_in_linear_time() -> None:
    listed: Schema = {"type": "string", "enum": [f"value {n}" for n in range(1_000)]}
    many = objects(values={"type": "array", "items": any_of(listed, NULL)})
    assert read({"values": ["no"] * 5_000}, many).deviations == ()
    assert len(read({"values": ["VALUE_7"] * 5_000}, many).deviations) == MOST_NOTES + 1
    assert read({"values": [f"a{'_' * 900_000}!"]}, many).deviations == ()
    assert read({"values": ["9" * 900_000]}, objects(values={"type": "array", "items": NUMBER})).deviations == ()


@pytest.mark.parametrize("asked", SEVEN, ids=lambda asked: asked.name)
def test_what_follows_the_schema_is_given_as_it_is(asked: Asked) -> None:
    for seed in range(100):
        answer = answer_for(asked.schema, str(seed))
        assert read(answer, asked.schema) == ReadAnswer(answer)


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | st.sampled_from(["0.9", "True", "rct", "x"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "A ", "b", "answer"]), inner, max_size=3)
    ),
    max_leaves=10,
)
SCHEMA = objects(a=any_of(INTEGER, DESIGN, NULL), b={"type": "array", "items": objects(a=BOOLEAN, b=NUMBER)})


@given(values)
def test_what_was_read_is_read_as_it_is_the_next_time(value: object) -> None:
    once = read(value, SCHEMA)
    if "answer" not in json.dumps(once.value) and not isinstance(once.value, list):
        assert read(once.value, SCHEMA) == ReadAnswer(once.value)


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_text_that_was_asked_for_is_never_touched(text: str, other: str) -> None:
    schema = objects(a=TEXT, b=any_of(TEXT, NULL), c={"type": "array", "items": TEXT})
    given = {"a": text, "b": other, "c": [text, other]}
    try:
        assert read(given, schema) == ReadAnswer(given)
    except Malformed:
        assert "\x00" in text + other
