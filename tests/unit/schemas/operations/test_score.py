"""A scale has two ends, and an interval that leads from one to the other."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tamis_schemas.operations.score import MAX_STEPS, Score


@pytest.mark.spec("1.10")
def test_a_scale_goes_from_0_to_1_with_reasoning_unless_said_otherwise() -> None:
    score = Score(criteria=" Rate it. ")
    assert (score.criteria, score.min_value, score.max_value, score.interval, score.include_reasoning) == (
        "Rate it.",
        0.0,
        1.0,
        None,
        True,
    )
    assert score.steps is None


def test_stored_parameters_give_the_scale_back() -> None:
    score = Score(criteria="x", min_value=1, max_value=10, interval=0.5, include_reasoning=False)
    assert Score.model_validate_json(score.model_dump_json()) == score
    assert Score.model_validate(score.model_dump(mode="json")) == score


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"criteria": " "}, "criteria"),
        ({"min_value": 2}, "max_value 1.0 is below min_value 2.0"),
        ({"min_value": 1}, "max_value equals min_value"),
        ({"min_value": True}, "min_value"),
        ({"max_value": "10"}, "max_value"),
        ({"max_value": float("inf")}, "max_value"),
        ({"min_value": float("nan")}, "min_value"),
        ({"max_value": 10**400}, "max_value"),
        ({"min_value": -1.7e308, "max_value": 1.7e308}, "too far"),
        ({"interval": 0}, "interval 0.0 must be greater than 0"),
        ({"interval": -0.5}, "interval -0.5 must be greater than 0"),
        ({"interval": float("nan")}, "interval"),
        ({"interval": float("inf")}, "interval"),
        ({"interval": 0.3}, "interval 0.3 does not divide the range .* fits 3.33333 times"),
        ({"interval": 2}, "interval 2.0 does not divide"),
        ({"interval": 1.00001}, "does not divide"),
        ({"min_value": 1, "max_value": 10, "interval": 4}, "fits 2.25 times"),
        ({"interval": 0.33333}, "does not divide"),  # 3.00003 times
        ({"interval": 0.5 / MAX_STEPS}, "more than 1000000 steps"),
        ({"interval": 5e-324}, "more than 1000000 steps"),
        ({"min_value": 1e16, "max_value": 1e16 + 4, "interval": 1}, "too small to distinguish"),
        # From 2^52 on there are no halves: the last but one, 2^52 + 1.5, would be the last.
        ({"min_value": 2.0**52 - 1, "max_value": 2.0**52 + 2, "interval": 0.5}, "too small to distinguish"),
        ({"max_value": 5e-324, "interval": 1e300}, "does not divide"),  # 5e-324 / 1e300 is 0.0 as a float
        ({"intervall": 0.5}, "intervall"),
    ],
)
def test_a_scale_that_is_none_is_refused_naming_the_field(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        Score.model_validate({"criteria": "x"} | changes)


@pytest.mark.spec("1.11")
@pytest.mark.parametrize(
    ("low", "high", "interval", "values"),
    [
        (0, 1, 0.25, [0.0, 0.25, 0.5, 0.75, 1.0]),
        (0, 1, 0.1, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),  # 3 * 0.1 is 0.30000000000000004
        (1, 5, 1, [1.0, 2.0, 3.0, 4.0, 5.0]),
        (-1, 1, 0.5, [-1.0, -0.5, 0.0, 0.5, 1.0]),
        (0.1, 0.7, 0.2, [0.1, 0.3, 0.5, 0.7]),
        (0, 1, 1 / 3, [0.0, 1 / 3, 2 / 3, 1.0]),
        (0, 1, 0.3333333333, [0.0, 1 / 3, 2 / 3, 1.0]),  # 3.0000000003 times: 1e-10 off
        (0, 10, 10, [0.0, 10.0]),
    ],
)
def test_the_grid_begins_at_the_least_value_and_ends_at_the_greatest(
    low: float, high: float, interval: float, values: list[float]
) -> None:
    score = Score(criteria="x", min_value=low, max_value=high, interval=interval)
    assert score.steps == len(values) - 1
    assert [score.grid_value(k) for k in range(len(values))] == values


@given(st.integers(-1000, 1000), st.integers(1, 200), st.sampled_from([1, 2, 4, 10, 100, 1000]), st.data())
def test_every_grid_value_is_its_own_and_what_lies_between_is_none(
    first: int, steps: int, parts: int, data: st.DataObject
) -> None:
    low, high = float(Fraction(first, parts)), float(Fraction(first + steps, parts))
    score = Score(criteria="x", min_value=low, max_value=high, interval=1 / parts)
    k = data.draw(st.integers(0, steps))
    value = score.grid_value(k)
    assert value == float(Fraction(first + k, parts))
    assert score.on_grid(value) == value
    assert score.on_grid(low + k * (1 / parts)) == value  # as a program would count, with its rounding
    beside = value + (0.3 if k < steps else -0.3) / parts
    assert score.on_grid(beside) is None


def test_a_number_beside_the_grid_is_snapped_within_a_billionth_of_the_range_only() -> None:
    score = Score(criteria="x", min_value=0, max_value=10, interval=0.5)
    assert score.on_grid(7.5 + 9e-9) == 7.5  # 10 * 1e-9 = 1e-8
    assert score.on_grid(7.5 + 1.1e-8) is None


def test_without_an_interval_every_number_is_a_value() -> None:
    assert Score(criteria="x").on_grid(0.123456789) == 0.123456789
