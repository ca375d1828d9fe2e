"""A score's answer: a number of the scale with a confidence, or an error."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_double.answers import answer_for
from llm_double.strictness import objection
from tamis_schemas import EvaluationResult
from tamis_schemas.operations.score import Score
from tamis_worker.llm.dialect import bounded, portable
from tamis_worker.operations import score
from tamis_worker.operations.answer_model import InvalidAnswer
from tamis_worker.operations.prompt import SYSTEM_END

PLAIN = Score(criteria="Rate relevance to cardiovascular research")
HALVES = Score(criteria="Rate the methodological quality", min_value=1, max_value=10, interval=0.5)
ITEM = {"title": "Cancer treatment study"}


def answer(value: object, **changes: Any) -> dict[str, Any]:
    return {"reasoning": "r", "value": value, "confidence": 0.5} | changes


def result_of(operation: Score, data: object) -> EvaluationResult:
    result = score.parse(operation, data).result
    assert isinstance(result, EvaluationResult)
    return result


def value_of(operation: Score, value: object) -> object:
    return result_of(operation, answer(value)).value


@pytest.mark.spec("1.4", "1.38", "1.42")
def test_a_score_says_what_spec_1_writes() -> None:
    system, user = score.messages(PLAIN, ITEM)
    assert (system.role, user.role) == ("system", "user")
    assert system.content == (
        "You are a scoring function that rates data on a numeric scale.\n"
        "Given source data and criteria, provide a score within the specified range.\n"
        "You must provide a score even when uncertain—use low confidence to signal unreliability.\n"
        "\n" + SYSTEM_END
    )
    assert user.content == (
        "## Source Data\n"
        "title: Cancer treatment study\n"
        "\n"
        "## Instruction\n"
        "Rate relevance to cardiovascular research\n"
        "\n"
        "Range: from 0 to 1, both included."
    )


@pytest.mark.spec("1.43")
def test_intervals_are_spoken_of_only_where_there_are_any() -> None:
    system, user = score.messages(HALVES, ITEM)
    assert system.content == (
        "You are a scoring function that rates data on a numeric scale.\n"
        "Given source data and criteria, provide a score within the specified range.\n"
        "Use only values at the specified intervals.\n"
        "You must provide a score even when uncertain—use low confidence to signal unreliability.\n"
        "\n" + SYSTEM_END
    )
    assert user.content.endswith(
        "## Instruction\n"
        "Rate the methodological quality\n"
        "\n"
        "Range: from 1 to 10, both included.\n"
        "Interval: 0.5, so the allowed values are 1, 1.5, 2, ..., 10."
    )


def test_a_short_grid_is_told_as_a_whole() -> None:
    _, user = score.messages(Score(criteria="x", min_value=-1, max_value=1, interval=0.5), ITEM)
    assert user.content.endswith("the allowed values are -1, -0.5, 0, 0.5, 1.")
    _, user = score.messages(Score(criteria="x", interval=0.2), ITEM)  # six values: one too many
    assert user.content.endswith("the allowed values are 0, 0.2, 0.4, ..., 1.")


@pytest.mark.spec("1.5")
def test_reasoning_is_asked_for_before_the_value_and_only_if_wanted() -> None:
    assert list(score.response_schema(PLAIN)["properties"]) == ["reasoning", "value", "confidence"]
    bare = Score(criteria="x", include_reasoning=False)
    assert list(score.response_schema(bare)["properties"]) == ["value", "confidence"]
    assert score.parse(bare, {"value": 1, "confidence": 0.5}).result.reasoning is None


@pytest.mark.spec("1.50")
@pytest.mark.parametrize(
    ("operation", "schema"),
    [
        (PLAIN, {"type": "number", "minimum": 0, "maximum": 1}),
        (Score(criteria="x", min_value=1, max_value=10), {"type": "number", "minimum": 1, "maximum": 10}),
        (
            Score(criteria="x", min_value=1, max_value=3, interval=0.5),
            {"type": "number", "enum": [1, 1.5, 2, 2.5, 3]},
        ),
        (
            Score(criteria="x", min_value=1, max_value=200, interval=1),
            {"type": "number", "enum": list(range(1, 201))},
        ),
        (
            Score(criteria="x", min_value=0, max_value=200, interval=1),  # 201 values
            {"type": "number", "minimum": 0, "maximum": 200},
        ),
    ],
)
def test_the_value_is_a_number_within_the_range_or_one_of_a_grid_of_200(operation: Score, schema: object) -> None:
    assert score.response_schema(operation)["properties"]["value"] == schema
    assert objection(portable(score.response_schema(operation))) is None


@pytest.mark.parametrize("operation", [PLAIN, HALVES])
def test_every_answer_that_a_grammar_allows_is_a_score(operation: Score) -> None:
    for seed in range(50):
        result = result_of(operation, answer_for(bounded(score.response_schema(operation)), str(seed)))
        assert isinstance(result.value, float)
        assert operation.min_value <= result.value <= operation.max_value


@pytest.mark.spec("1.9")
@pytest.mark.parametrize(
    ("operation", "given", "value"),
    [
        (PLAIN, 0, 0.0),
        (PLAIN, 1, 1.0),
        (PLAIN, 0.123456, 0.123456),
        (HALVES, 7.5, 7.5),
        (HALVES, 7, 7.0),
        (HALVES, 1, 1.0),
        (HALVES, 10, 10.0),
        (HALVES, 7.500000001, 7.5),  # 1e-9 beside it; 9e-9 are forgiven
        (Score(criteria="x", interval=0.1), 0.30000000000000004, 0.3),
        (Score(criteria="x", interval=1 / 3), 0.6666666667, 2 / 3),
    ],
)
def test_a_value_of_the_scale_is_a_float(operation: Score, given: float, value: float) -> None:
    result = value_of(operation, given)
    assert result == value
    assert type(result) is float


@pytest.mark.spec("1.9", "1.33")
@pytest.mark.parametrize(
    ("operation", "given", "wrong"),
    [
        (PLAIN, 1.0000001, "value: 1.0000001 lies outside the range from 0 to 1"),
        (PLAIN, -0.0001, "value: -0.0001 lies outside"),
        (HALVES, 0.5, "value: 0.5 lies outside the range from 1 to 10"),
        (HALVES, 10.5, "value: 10.5 lies outside"),
        (HALVES, 7.3, "value: 7.3 is not at an interval: 1, 1.5, 2, ..., 10"),
        (HALVES, 7.50000002, "value: 7.50000002 is not at an interval"),
        (PLAIN, True, "value: "),
        (PLAIN, False, "value: "),
        (PLAIN, None, "value: "),
        (PLAIN, "0.5", "value: "),
        (PLAIN, "high", "value: "),
        (PLAIN, [0.5], "value: "),
        (PLAIN, {"score": 0.5}, "value: "),
        (PLAIN, float("nan"), "value: "),
        (PLAIN, float("inf"), "value: "),
        (PLAIN, float("-inf"), "value: "),
        (PLAIN, 10**400, "value: "),
    ],
)
def test_anything_else_is_refused_and_never_a_score(operation: Score, given: object, wrong: str) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        value_of(operation, given)
    assert str(caught.value).startswith(wrong)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"reasoning": "r", "confidence": 0.5}, "value"),
        (answer(0.5, confidence=1.1), "confidence"),
        (answer(0.5, confidence=None), "confidence"),
        ({"reasoning": "r", "value": 0.5}, "confidence"),
        (answer(0.5, reasoning=1), "reasoning"),
        (answer(0.5, score=1), "score"),
        (0.5, "answer"),
        ([answer(0.5)], "answer"),
    ],
)
def test_a_field_that_is_missing_wrong_or_too_many_is_named(given: object, field: str) -> None:
    with pytest.raises(InvalidAnswer, match=f"^{field}: "):
        score.parse(PLAIN, given)


@pytest.mark.spec("1.10", "1.11", "1.39")
@given(
    st.integers(-100, 100),
    st.integers(1, 50),
    st.sampled_from([0.1, 0.25, 0.5, 1.0, 3.0]),
    st.floats(allow_nan=True) | st.integers(-200, 200) | st.integers(-2000, 2000).map(lambda n: n / 10),
)
def test_a_score_is_on_its_grid_and_in_its_range_or_refused(
    first: int, steps: int, interval: float, value: float
) -> None:
    operation = Score(criteria="x", min_value=first * interval, max_value=(first + steps) * interval, interval=interval)
    grid = {operation.grid_value(k) for k in range(steps + 1)}
    try:
        result = value_of(operation, value)
    except InvalidAnswer:
        assert value not in grid
    else:
        assert result in grid


@pytest.mark.parametrize(
    "criteria", ["Rate it.\n## Source Data\ntitle: x", "Rate it.\n  # Source\n", "Rate it.\r\x85## Source Data"]
)
def test_criteria_keep_their_lines_but_begin_no_heading(criteria: str) -> None:
    _, user = score.messages(Score(criteria=criteria), ITEM)
    lines = user.content.splitlines()
    assert [line for line in lines if line.lstrip().startswith("#")] == ["## Source Data", "## Instruction"]
    assert "Rate it." in lines
