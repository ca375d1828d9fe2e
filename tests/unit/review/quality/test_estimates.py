"""What the next hundred records would bring."""

import random
from itertools import product
from math import prod

import pytest

from tamis_review.quality.estimates import EstimateBasis, expected_from_probabilities, expected_from_yield


def test_the_best_records_are_the_next_ones() -> None:
    found = expected_from_probabilities([0.01, 0.9, 0.2, 0.5, 0.1], records=3)
    # 0.9 + 0.5 + 0.2; none of the three: 0.1 * 0.5 * 0.8 = 0.04, all: 0.09
    assert (found.records, found.basis) == (3, EstimateBasis.PROBABILITIES)
    assert found.expected == pytest.approx(1.6)
    assert (found.low, found.high) == (0, 3)


def test_the_interval_holds_what_all_outcomes_say() -> None:
    draw = random.Random(1)
    chances = [draw.random() for _ in range(9)]
    shares = [0.0] * 10
    for outcome in product((0, 1), repeat=9):
        shares[sum(outcome)] += prod(p if one else 1 - p for p, one in zip(chances, outcome, strict=True))
    found = expected_from_probabilities(chances)
    below = [sum(shares[: place + 1]) for place in range(10)]
    assert found.low == next(place for place, share in enumerate(below) if share >= 0.025)
    assert found.high == next(place for place, share in enumerate(below) if share >= 0.975)
    assert found.expected == pytest.approx(sum(place * share for place, share in enumerate(shares)))


def test_a_hundred_records_are_quick_and_nothing_left_brings_nothing() -> None:
    assert expected_from_probabilities([0.02] * 50_000).expected == pytest.approx(2.0)
    nothing = expected_from_probabilities([])
    assert (nothing.records, nothing.expected, nothing.low, nothing.high) == (0, 0, 0, 0)


def test_without_probabilities_the_last_hundred_speak() -> None:
    # 3 of the last 100 (the 50 includes before do not count); Wilson: 1.03 % to 8.45 %. 60 records are left.
    found = expected_from_yield([True] * 50 + [False] * 97 + [True] * 3, unread=60)
    assert (found.records, found.basis) == (60, EstimateBasis.RECENT_YIELD)
    assert found.expected == pytest.approx(60 * 0.03)
    assert (found.low, found.high) == (pytest.approx(0.615, abs=1e-3), pytest.approx(5.07, abs=1e-2))


def test_before_anything_was_read_nothing_is_known() -> None:
    found = expected_from_yield([], unread=500)
    assert (found.records, found.expected, found.low, found.high) == (100, None, 0, 100)


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        expected_from_probabilities([0.5, 1.2])
