"""An extraction's answer: a value of the type asked for, null for what is not present, or an error."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_double.answers import answer_for
from llm_double.strictness import objection
from tamis_schemas import EvaluationResult
from tamis_schemas.operations.extract import Extract
from tamis_worker.llm.dialect import bounded, portable
from tamis_worker.operations import extract
from tamis_worker.operations.answer_model import InvalidAnswer
from tamis_worker.operations.prompt import SYSTEM_END, escape_headings
from tamis_worker.quotes.not_present import means_not_present

DESIGNS = ["RCT", "cohort", "case-control", "meta-analysis", "other"]
TEXT = Extract(instruction="What is the study design?")
NUMBER = Extract(instruction="How many participants?", output_type="number")
BOOLEAN = Extract(instruction="Was it blinded?", output_type="boolean")
ENUM = Extract(instruction="Classify the study design", output_type="enum", enum_values=DESIGNS)
ALL = [TEXT, NUMBER, BOOLEAN, ENUM]
ITEM = {"title": "Cancer treatment study"}


def result_of(operation: Extract, data: object) -> EvaluationResult:
    result = extract.parse(operation, data).result
    assert isinstance(result, EvaluationResult)
    return result


def value_of(operation: Extract, value: object) -> object:
    return result_of(operation, {"reasoning": "r", "value": value, "confidence": 0.5}).value


@pytest.mark.spec("1.4", "1.38", "1.44")
def test_an_extraction_says_what_spec_1_writes() -> None:
    system, user = extract.messages(TEXT, ITEM)
    assert (system.role, user.role) == ("system", "user")
    assert system.content == (
        "You are an extraction function that extracts specific information from data.\n"
        "Given source data and an instruction, extract the requested value.\n"
        "If the information is not present in the source data, return null for value.\n"
        "\n" + SYSTEM_END
    )
    assert user.content == (
        "## Source Data\ntitle: Cancer treatment study\n\n## Instruction\nWhat is the study design?"
    )


def test_the_values_of_an_enum_are_told_one_a_line() -> None:
    _, user = extract.messages(ENUM, ITEM)
    assert user.content.endswith(
        "## Instruction\nClassify the study design\n\nAllowed values:\n"
        "- RCT\n- cohort\n- case-control\n- meta-analysis\n- other"
    )


@pytest.mark.spec("1.5")
def test_reasoning_is_asked_for_before_the_value_and_only_if_wanted() -> None:
    assert list(extract.response_schema(TEXT)["properties"]) == ["reasoning", "value", "confidence"]
    bare = Extract(instruction="x", include_reasoning=False)
    assert list(extract.response_schema(bare)["properties"]) == ["value", "confidence"]
    assert extract.parse(bare, {"value": "x", "confidence": 0.5}).result.reasoning is None


@pytest.mark.spec("1.14", "1.51")
@pytest.mark.parametrize(
    ("operation", "schema"),
    [
        (TEXT, {"type": "string", "minLength": 1, "maxLength": 2000}),
        (NUMBER, {"type": "number"}),
        (BOOLEAN, {"type": "boolean"}),
        (ENUM, {"type": "string", "enum": DESIGNS}),
    ],
)
def test_every_value_can_be_null(operation: Extract, schema: object) -> None:
    written = extract.response_schema(operation)
    assert written["properties"]["value"] == {"anyOf": [schema, {"type": "null"}]}
    assert objection(portable(written)) is None


@pytest.mark.parametrize("operation", ALL, ids=lambda operation: operation.output_type)
@pytest.mark.parametrize("dialect", [bounded, portable])
def test_every_answer_that_the_schema_allows_is_a_result(operation: Extract, dialect: Any) -> None:
    found = []
    for seed in range(50):
        answer = answer_for(dialect(extract.response_schema(operation)), str(seed))
        answer["confidence"] = min(answer["confidence"], 1.0)  # portable schemas have lost their bounds
        found.append(result_of(operation, answer).value)
    assert None in found
    assert any(value is not None for value in found)


@pytest.mark.spec("1.34")
@pytest.mark.parametrize("operation", ALL, ids=lambda operation: operation.output_type)
def test_null_means_not_present_and_is_no_error(operation: Extract) -> None:
    result = result_of(operation, {"reasoning": "r", "value": None, "confidence": 0})
    assert (result.value, result.error, result.confidence) == (None, None, 0.0)


@pytest.mark.spec("1.13")
@pytest.mark.parametrize(
    ("operation", "given", "value"),
    [
        (TEXT, "randomized controlled trial", "randomized controlled trial"),
        (TEXT, " two\nlines ", "two\nlines"),
        (TEXT, "null hypothesis", "null hypothesis"),
        (TEXT, "42", "42"),
        (TEXT, "x" * 5000, "x" * 5000),
        (NUMBER, 1250, 1250),
        (NUMBER, 0, 0),
        (NUMBER, -3, -3),
        (NUMBER, 1250.0, 1250.0),
        (NUMBER, 0.05, 0.05),
        (NUMBER, 2**70, 2**70),
        (BOOLEAN, True, True),
        (BOOLEAN, False, False),
        (ENUM, "cohort", "cohort"),
        (ENUM, "RCT", "RCT"),
    ],
)
def test_a_value_keeps_its_type(operation: Extract, given: object, value: object) -> None:
    result = value_of(operation, given)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.spec("1.13", "1.14")
@pytest.mark.parametrize(
    ("operation", "given", "wrong"),
    [
        (TEXT, 42, "42 is no text"),
        (TEXT, True, "True is no text"),
        (TEXT, ["RCT"], "an array is no text"),
        (TEXT, {"design": "RCT"}, "an object is no text"),
        (NUMBER, "1250", "'1250' is no number"),
        (NUMBER, True, "True is no number"),
        (NUMBER, False, "False is no number"),
        (NUMBER, float("nan"), "nan is no number"),
        (NUMBER, float("inf"), "inf is no number"),
        (NUMBER, [1], "an array is no number"),
        (BOOLEAN, "true", "'true' is no boolean"),
        (BOOLEAN, "yes", "'yes' is no boolean"),
        (BOOLEAN, 1, "1 is no boolean"),
        (BOOLEAN, 0, "0 is no boolean"),
        (ENUM, "rct", "'rct' is none of RCT, cohort"),
        (ENUM, "Cohort", "'Cohort' is none of"),
        (ENUM, " cohort", "' cohort' is none of"),
        (ENUM, "RCT, cohort", "'RCT, cohort' is none of"),
        (ENUM, ["RCT"], "an array is none of"),
        (ENUM, 1, "1 is none of"),
    ],
)
def test_a_value_of_another_type_is_refused_never_converted(operation: Extract, given: object, wrong: str) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        value_of(operation, given)
    assert str(caught.value).startswith(f"value: {wrong}")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"reasoning": "r", "confidence": 0.5}, "value"),
        ({"reasoning": "r", "value": "x"}, "confidence"),
        ({"reasoning": "r", "value": "x", "confidence": 95}, "confidence"),
        ({"reasoning": [], "value": "x", "confidence": 0.5}, "reasoning"),
        ({"reasoning": "r", "value": "x", "confidence": 0.5, "unit": "mg"}, "unit"),
        ("x", "answer"),
        (None, "answer"),
    ],
)
def test_a_field_that_is_missing_wrong_or_too_many_is_named(given: object, field: str) -> None:
    with pytest.raises(InvalidAnswer, match=f"^{field}: "):
        extract.parse(TEXT, given)


def test_an_answer_that_is_nested_without_end_is_refused_in_few_words() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    with pytest.raises(InvalidAnswer, match=r"^value: an array is no text$"):
        value_of(TEXT, deep)


json_values = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())
TYPES: dict[str, tuple[type, ...]] = {"text": (str,), "number": (int, float), "boolean": (bool,), "enum": (str,)}


@given(st.sampled_from(ALL), json_values)
def test_whatever_is_answered_the_value_is_what_was_written_or_refused(operation: Extract, value: Any) -> None:
    try:
        result = value_of(operation, value)
    except InvalidAnswer:
        return
    if means_not_present(value):
        assert result is None
        return
    assert result == (value.strip() if isinstance(value, str) else value)
    assert result is None or type(result) in TYPES[operation.output_type]


@given(st.text(st.sampled_from("#ab \n\r\t\x0b\x0c\x1c\x85\u2028\u2029\u3000"), max_size=40))
def test_no_words_of_a_caller_begin_a_heading_and_none_is_lost(text: str) -> None:
    kept = escape_headings(text)
    assert not [line for line in kept.splitlines() if line.lstrip().startswith("#")]
    assert kept.replace("\\", "").split() == text.split()
    assert len(kept.splitlines()) <= len(text.splitlines())
