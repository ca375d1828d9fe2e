"""A filter's answer: a boolean with a confidence, or an error."""

import pytest

from tamis_schemas import EvaluationResult, Filter
from tamis_worker.operations import InvalidAnswer
from tamis_worker.operations import filter as filter_

WITH = Filter(criteria="Is it?")
WITHOUT = Filter(criteria="Is it?", include_reasoning=False)


@pytest.mark.spec("1.5", "1.49")
def test_reasoning_is_asked_for_before_the_value() -> None:
    assert list(filter_.response_schema(WITH)["properties"]) == ["reasoning", "value", "confidence"]
    assert list(filter_.response_schema(WITHOUT)["properties"]) == ["value", "confidence"]


@pytest.mark.spec("1.48")
@pytest.mark.parametrize("operation", [WITH, WITHOUT])
def test_the_schema_is_strict(operation: Filter) -> None:
    schema = filter_.response_schema(operation)
    assert schema["additionalProperties"] is False
    assert schema["required"] == list(schema["properties"])


@pytest.mark.spec("1.5")
def test_a_valid_answer_is_a_result() -> None:
    result = filter_.parse(WITH, {"reasoning": "r", "value": False, "confidence": 1}).result
    assert isinstance(result, EvaluationResult)
    assert (result.value, result.confidence, result.reasoning, result.error) == (False, 1.0, "r", None)


@pytest.mark.spec("1.36", "1.39")
@pytest.mark.parametrize("confidence", [0.0, 0.1, 0.39])
@pytest.mark.parametrize("value", [True, False])
def test_a_low_confidence_is_an_answer_all_the_same(value: bool, confidence: float) -> None:
    result = filter_.parse(WITH, {"reasoning": "r", "value": value, "confidence": confidence}).result
    assert isinstance(result, EvaluationResult)
    assert (result.value, result.confidence, result.error) == (value, confidence, None)


def test_reasoning_that_was_not_asked_for_is_none() -> None:
    assert filter_.parse(WITHOUT, {"value": True, "confidence": 0.5}).result.reasoning is None


@pytest.mark.spec("1.8", "1.32")
@pytest.mark.parametrize(
    ("answer", "field"),
    [
        ({"reasoning": "r", "value": "true", "confidence": 0.5}, "value"),
        ({"reasoning": "r", "value": 1, "confidence": 0.5}, "value"),
        ({"reasoning": "r", "value": None, "confidence": 0.5}, "value"),
        ({"reasoning": "r", "confidence": 0.5}, "value"),
        ({"reasoning": "r", "value": True, "confidence": 1.2}, "confidence"),
        ({"reasoning": "r", "value": True, "confidence": -0.1}, "confidence"),
        ({"reasoning": "r", "value": True, "confidence": "0.9"}, "confidence"),
        ({"reasoning": "r", "value": True, "confidence": float("nan")}, "confidence"),
        ({"reasoning": "r", "value": True, "confidence": True}, "confidence"),
        ({"reasoning": "r", "value": True}, "confidence"),
        ({"reasoning": 3, "value": True, "confidence": 0.5}, "reasoning"),
        ({"reasoning": "r", "value": True, "confidence": 0.5, "more": 1}, "more"),
        ([], "answer"),
        (None, "answer"),
        ("true", "answer"),
    ],
)
def test_anything_else_is_refused_naming_the_field(answer: object, field: str) -> None:
    with pytest.raises(InvalidAnswer, match=f"^{field}: "):
        filter_.parse(WITH, answer)
