"""AUC and work saved: as scikit-learn has them, by brute force, and under changes that must not matter.

The libraries that the figures are held against load for seconds: each test imports its own, and collecting none.
"""

from itertools import product
from math import inf
from statistics import fmean, variance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.quality.figure import auc, wss

SCORES = st.lists(st.integers(0, 12).map(lambda n: n / 12), min_size=1, max_size=40)
RANKED = st.lists(st.tuples(st.integers(-1, 9).map(lambda n: -inf if n < 0 else n / 9), st.booleans()), min_size=1)


def test_the_arithmetic_written_out() -> None:
    # 0.9 beats both, 0.4 beats one and ties with the other: (1 + 1 + 1 + 0.5) / 4
    assert auc([0.9, 0.4], [0.4, 0.1]).value == pytest.approx(0.875)


@given(SCORES, SCORES)
def test_the_area_is_that_of_scikit_learn_ties_included(included: list[float], excluded: list[float]) -> None:
    from sklearn.metrics import roc_auc_score

    theirs = roc_auc_score([1] * len(included) + [0] * len(excluded), included + excluded)
    assert auc(included, excluded).value == pytest.approx(theirs, abs=1e-9)


@given(SCORES, SCORES)
def test_the_interval_is_delongs_by_brute_force(included: list[float], excluded: list[float]) -> None:
    found = auc(included, excluded)
    if found.low is None:
        assert found.reason
        return
    wins = {(x, y): (x > y) + (x == y) / 2 for x, y in product(included, excluded)}
    by_include = [fmean(wins[x, y] for y in excluded) for x in included]
    by_exclude = [fmean(wins[x, y] for x in included) for y in excluded]
    spread = variance(by_include) / len(included) + variance(by_exclude) / len(excluded)
    assert found.low == pytest.approx(max(0.0, found.value - 1.959963984540054 * spread**0.5), abs=1e-9)
    assert found.high == pytest.approx(min(1.0, found.value + 1.959963984540054 * spread**0.5), abs=1e-9)


@given(SCORES, SCORES)
def test_a_rising_change_of_all_scores_changes_nothing_and_turning_them_round_mirrors(
    included: list[float], excluded: list[float]
) -> None:
    before = auc(included, excluded).value
    assert auc([x**3 - 7 for x in included], [x**3 - 7 for x in excluded]).value == pytest.approx(before, abs=1e-12)
    assert auc([-x for x in included], [-x for x in excluded]).value == pytest.approx(1 - before, abs=1e-12)


@pytest.mark.parametrize(
    ("included", "excluded", "value", "reason"),
    [
        ([], [0.3], None, "no record is included by the human among the records that the model decided"),
        ([0.3], [], None, "no record is excluded by the human among the records that the model decided"),
        ([0.9], [0.1, 0.2], 1.0, "an interval needs two includes and two excludes"),
        ([0.9, 0.8], [0.1, 0.2], 1.0, "all includes have the same order relative to the excludes: no interval"),
        ([0.5] * 4, [0.5] * 9, 0.5, "all includes have the same order relative to the excludes: no interval"),
    ],
)
def test_without_two_kinds_or_a_spread_there_is_a_reason(
    included: list[float], excluded: list[float], value: float | None, reason: str
) -> None:
    found = auc(included, excluded)
    assert (found.value, found.reason) == (value, reason)
    assert found.low is None


@pytest.mark.parametrize(
    ("ranks", "included", "value"),
    [
        # 20 includes first, then 80 others: the 19th include is enough, 81 are not read.
        ([1 - place / 100 for place in range(100)], [place < 20 for place in range(100)], 0.81 - 0.05),
        # All tie: everything is read together, and nothing is saved.
        ([0.5] * 100, [place < 20 for place in range(100)], -0.05),
        # Referred records are read first, whatever the model thought.
        ([inf, 0.9, 0.2, 0.1], [True, True, False, False], 0.5 - 0.05),
        # An include that a rule excluded is found last, with everything that rules exclude.
        ([0.9, 0.2, -inf, -inf], [True, False, True, False], -0.05),
    ],
)
def test_the_work_saved_is_what_lies_below_the_last_include_that_is_wanted(
    ranks: list[float], included: list[bool], value: float
) -> None:
    assert wss(ranks, included).value == pytest.approx(value)


@given(RANKED, st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_the_work_saved_lies_in_its_range_and_falls_with_the_recall(
    records: list[tuple[float, bool]], recall: float
) -> None:
    ranks, included = [rank for rank, _ in records], [label for _, label in records]
    found = wss(ranks, included, recall)
    if not any(included):
        assert found.value is None
        assert found.reason
        return
    assert -(1 - recall) - 1e-12 <= found.value <= recall + 1e-12
    read = 1 - (found.value + 1 - recall)
    assert read <= 1 - (wss(ranks, included, 1.0).value) + 1e-12


def test_exactly_95_percent_of_the_includes_are_enough() -> None:
    """0.95 of 20 is 19, not 20: no rounding of floats asks for one more."""
    ranks = [float(place) for place in range(40, 0, -1)]
    for n in (20, 40):
        labels = [place < n for place in range(40)]
        assert wss(ranks, labels).value == pytest.approx((40 - 0.95 * n) / 40 - 0.05)
