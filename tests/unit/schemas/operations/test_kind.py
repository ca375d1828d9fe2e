"""What operations say of their values, and everybody else asks them: verdicts, and what a human may decide."""

from typing import Any

import pytest

from tamis_schemas import (
    Answer,
    Extract,
    ExtractFields,
    Filter,
    Inclusion,
    InvalidParameters,
    Judge,
    Operation,
    Score,
)
from tamis_schemas.ledger.verdicts import text_of
from tamis_schemas.operations import OPERATIONS, OperationKind, kind_of, operation_name, verdict
from tamis_schemas.operations.criteria import SearchCriteria

INCLUSION = Inclusion(criteria=SearchCriteria(research_question="Does it?", inclusion_criteria=["humans"]))
FILTER = Filter(criteria="Is it?")
SCORE = Score(criteria="How good?", max_value=10, interval=0.5)
FIELDS = ExtractFields(
    schema={
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "design": {"type": "string"}},
        "required": ["n"],
    },
    instructions="How many?",
)


def extract(output_type: Any, **more: Any) -> Extract:
    return Extract(instruction="Which?", output_type=output_type, **more)


def test_filter_and_inclusion_decide_and_no_other_operation_does() -> None:
    assert {operation_name(kind) for kind in OPERATIONS if kind.decides()} == {"filter", "inclusion"}
    assert {operation_name(kind) for kind in OPERATIONS if kind.reads_chunks} == {"extract", "extract_fields"}
    assert {operation_name(kind) for kind in OPERATIONS if not kind.needs_record} == {"answer"}


def test_a_kind_is_found_by_its_name_and_one_of_a_later_release_decides_nothing() -> None:
    for kind in OPERATIONS:
        assert kind_of(operation_name(kind)) is kind
    assert kind_of("divination") is OperationKind
    assert not kind_of("divination").decides()


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Filter, True, True),
        (Filter, False, False),
        (Filter, 1, None),  # a number is no answer to a question
        (Filter, 0, None),
        (Filter, "true", None),
        (Filter, None, None),
        (Inclusion, "include", True),
        (Inclusion, "exclude", False),
        (Inclusion, "uncertain", None),
        (Inclusion, True, None),
        (Score, 1.0, None),
        (Score, True, None),
        (Extract, "include", None),
        (Judge, "explicit", None),
        (OperationKind, None, None),
    ],
)
def test_a_value_includes_excludes_or_does_neither(
    kind: type[OperationKind], value: object, expected: bool | None
) -> None:
    assert kind.verdict(value) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), ("include", True), (False, False), ("exclude", False), (1, None), ("uncertain", None), (None, None)],
)
def test_without_its_operation_a_value_has_the_verdict_of_whichever_decides(
    value: object, expected: bool | None
) -> None:
    assert verdict(value) is expected


def test_what_includes_is_written_in_sql_as_json_without_quotes() -> None:
    assert (text_of(Filter.includes), text_of(Filter.excludes)) == ("true", "false")
    assert (text_of(Inclusion.includes), text_of(Inclusion.excludes)) == ("include", "exclude")
    assert text_of(Score.includes) is None


@pytest.mark.parametrize(
    ("operation", "text", "expected"),
    [
        (INCLUSION, " Include ", "include"),
        (INCLUSION, "exclude", "exclude"),
        (FILTER, "Yes", True),
        (FILTER, "exclude", False),
        (SCORE, " 7.5 ", 7.5),
        (SCORE, "10", 10.0),
        (extract("number"), "3", 3.0),
        (extract("boolean"), "no", False),
        (extract("text"), "  a cohort ", "a cohort"),
        (extract("enum", enum_values=["RCT", "cohort"]), "cohort", "cohort"),
        (FIELDS, '{"n": 3}', {"n": 3, "design": None}),
        (FIELDS, '{"n": null, "design": "cohort"}', {"n": None, "design": "cohort"}),
    ],
)
def test_what_a_person_writes_is_read_as_the_operations_own_value(
    operation: Operation, text: str, expected: object
) -> None:
    found = operation.value_of_text(text)
    assert found == expected
    assert type(found) is type(expected)
    assert operation.checked_value(found) == expected  # what was read once is a decision


@pytest.mark.parametrize(
    ("operation", "text", "message"),
    [
        (INCLUSION, "uncertain", "'uncertain' is not a decision: use include or exclude"),
        (INCLUSION, "yes", "'yes' is not a decision: use include or exclude"),
        (FILTER, "perhaps", "'perhaps' is not a decision: write include or exclude, or yes or no"),
        (SCORE, "high", "'high' is not a number"),
        (SCORE, "11", "11.0 is outside the scale from 0.0 to 10.0"),
        (SCORE, "7.3", "7.3 is not a value of the scale, which goes from 0.0 by 0.5"),
        (SCORE, "nan", "nan is not a number"),
        (extract("number"), "many", "'many' is not a number"),
        (extract("number"), "inf", "inf is not a number; use None if the record does not contain it"),
        (extract("boolean"), "perhaps", "'perhaps' is not a decision: write include or exclude, or yes or no"),
        (extract("text"), " ", "'' is not a text; use None if the record does not contain it"),
        (extract("text"), "a\x00b", "the text contains a character that the ledger cannot store"),
        (extract("enum", enum_values=["RCT", "cohort"]), "case", "'case' is none of RCT, cohort"),
        (FIELDS, "n: 3", "the fields must be one JSON object: Expecting value"),
        (FIELDS, "[3]", "the fields must be an object: a value for each name, null if the record does not contain it"),
        (FIELDS, '{"m": 3}', "'m' is not a field; the fields are n, design"),
        (FIELDS, '{"n": 0}', "n: 0 is less than the minimum of 1"),
        (FIELDS, '{"design": "\\u0000"}', "the fields cannot be stored: it contains a NUL character"),
        (
            Judge(guidelines="Titles count."),
            "explicit",
            "results of judge are not decisions",
        ),
        (Answer(instruct="Why?", resp_format="One", eval_crit="True"), "so", "results of answer are not decisions"),
    ],
)
def test_what_the_operation_could_not_have_given_is_refused_saying_why(
    operation: Operation, text: str, message: str
) -> None:
    with pytest.raises(InvalidParameters) as refused:
        operation.value_of_text(text)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("operation", "value"),
    [
        *((FILTER, value) for value in (1, "true", None)),
        *((INCLUSION, value) for value in (True, None, "uncertain")),
        *((SCORE, value) for value in (True, "7", None)),
        *((FIELDS, value) for value in ([], None)),
        *((extract("number"), value) for value in (True, "3")),
        *((extract("boolean"), 1), (extract("text"), 3)),
    ],
)
def test_a_value_of_another_type_is_no_human_decision(operation: Operation, value: object) -> None:
    with pytest.raises(InvalidParameters):
        operation.checked_value(value)


@pytest.mark.parametrize("operation", [extract("text"), extract("number"), extract("boolean")])
def test_a_human_may_say_that_the_record_does_not_hold_it(operation: Extract) -> None:
    assert operation.checked_value(None) is None


@pytest.mark.parametrize(
    ("operation", "value", "confidence", "words"),
    [
        (FILTER, True, 0.784, "true 0.78"),
        (FILTER, False, 1.0, "false 1.00"),
        (INCLUSION, "include", 0.92, "include 0.92"),
        (INCLUSION, "uncertain", 0.0, "uncertain 0.00"),
        (SCORE, 7.0, 0.5, "7 of 10"),
        (SCORE, 0.5, 0.5, "0.5 of 10"),
        (Judge(guidelines="g"), "contextual", 0.6, "contextual 0.60"),
        (extract("text"), "ketamine", 0.8, "a value 0.80"),
        (extract("number"), 41, 0.8, "a value 0.80"),
        (extract("boolean"), False, 0.8, "a value 0.80"),
        (extract("text"), None, 0.8, "no value 0.80"),
        (FIELDS, {"n": 41, "design": None}, 0.8, "1 of 2 fields 0.80"),
        (Answer(instruct="i", resp_format="r", eval_crit="e"), "Ketamine works.", 0.85, "a value 0.85"),
    ],
)
def test_a_monitor_is_shown_a_result_in_a_few_words_without_anything_that_the_record_says(
    operation: Operation, value: object, confidence: float, words: str
) -> None:
    assert operation.result_words(value, confidence) == words
