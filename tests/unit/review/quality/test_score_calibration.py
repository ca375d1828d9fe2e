"""A score calibrated by decided records: tables with the arithmetic written out, and the laws of both curves."""

import random
from itertools import pairwise
from math import exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.quality.figure import reliability
from tamis_review.quality.score_calibration import (
    FOLDS,
    Isotonic,
    Method,
    Platt,
    _folds,
    _isotonic,
    _platt,
    cross_fitted,
    fit,
    method_for,
)


@pytest.mark.parametrize(
    ("includes", "excludes", "method"),
    [
        (0, 0, None),
        (19, 500, None),
        (500, 19, None),
        (20, 20, Method.PLATT),
        (49, 500, Method.PLATT),
        (50, 149, Method.PLATT),
        (50, 150, Method.ISOTONIC),
        (150, 50, Method.ISOTONIC),
    ],
)
def test_a_curve_is_fitted_once_there_are_enough_decisions_to_bear_it(
    includes: int, excludes: int, method: Method | None
) -> None:
    labels = [True] * includes + [False] * excludes
    assert method_for(labels) is method
    scores = [0.8] * includes + [0.3] * excludes
    curve = fit(scores, labels)
    assert {None: type(None), Method.PLATT: Platt, Method.ISOTONIC: Isotonic}[method] is type(curve)
    assert (cross_fitted(scores, labels, range(len(labels))) is None) is (method is None)


def test_adjacent_violators_are_pooled_and_equal_scores_are_one_block() -> None:
    # 0.1: 0 of 1 | 0.2: 1 of 1, 0.3: 0 of 1 -> 1 of 2 | 0.5: 2 of 3 | 0.9: 1 of 1
    scores = [0.5, 0.1, 0.3, 0.5, 0.9, 0.2, 0.5]
    labels = [True, False, False, False, True, True, True]
    curve = _isotonic(scores, labels)
    assert curve == Isotonic((0.1, 0.2, 0.3, 0.5, 0.9), (0.0, 0.5, 0.5, 2 / 3, 1.0))
    assert [curve.probability(score) for score in (0.0, 0.25, 1.0)] == [0.0, 0.5, 1.0]
    assert curve.probability(0.4) == pytest.approx(0.5 + (2 / 3 - 0.5) / 2)  # half way between two blocks
    assert _isotonic([0.5] * 4, [True, False, False, False]) == Isotonic((0.5,), (0.25,))


def test_platts_sigmoid_finds_the_numbers_that_made_the_labels() -> None:
    """100 records at each of five log-odds x, of which the share 1 / (1 + exp(-(2 x + 1))) is included."""
    scores: list[float] = []
    labels: list[bool] = []
    for odds in (-2.0, -1.0, 0.0, 1.0, 2.0):
        share = round(1000 / (1 + exp(-(2 * odds + 1))))
        scores += [1 / (1 + exp(-odds))] * 1000
        labels += [place < share for place in range(1000)]
    curve = _platt(scores, labels)
    assert curve.slope == pytest.approx(2, abs=0.05)
    assert curve.intercept == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("scores", [[0.5] * 40, [0.0] * 20 + [1.0] * 20, [1.0] * 20 + [0.0] * 20])
def test_scores_that_say_nothing_everything_or_the_opposite_are_no_trouble(scores: list[float]) -> None:
    labels = [False] * 20 + [True] * 20
    curve = _platt(scores, labels)
    low, high = curve.probability(0.0), curve.probability(1.0)
    if scores[0] < scores[-1]:
        assert low == pytest.approx(1 / 22)  # Platt's targets: (20 + 1) / (20 + 2) for an include
        assert high == pytest.approx(21 / 22)
    else:
        assert low == high == 0.5
    assert curve.probability(0.3) == pytest.approx(curve.probability(0.3))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=60))
def test_both_curves_rise_stay_within_bounds_and_keep_the_mean(records: list[tuple[int, bool]]) -> None:
    scores, labels = [score / 20 for score, _ in records], [label for _, label in records]
    for curve in (_isotonic(scores, labels), _platt(scores, labels)):
        values = [curve.probability(step / 50) for step in range(51)]
        assert all(0 <= value <= 1 for value in values)
        assert all(one <= other + 1e-12 for one, other in pairwise(values))
    mean = sum(_isotonic(scores, labels).probability(score) for score in scores) / len(scores)
    assert mean == pytest.approx(sum(labels) / len(labels))


def test_a_record_is_read_by_a_curve_that_has_not_seen_it() -> None:
    labels = [place % 4 == 0 for place in range(120)]
    scores = [0.5 + 0.3 * label for label in labels]
    indices = [7 * place for place in range(120)]
    usual = cross_fitted(scores, labels, indices)
    assert usual is not None
    turned = list(labels)
    turned[0] = not turned[0]  # its own fold's curve does not see it, all the others do
    fold = _folds(labels, indices, 0)
    changed = cross_fitted(scores, turned, indices)
    assert changed is not None
    assert _folds(labels, indices, 0) == fold
    assert {fold.count(one) for one in range(FOLDS)} == {12}
    assert all(sum(labels[at] for at in range(120) if fold[at] == one) == 3 for one in range(FOLDS))
    assert cross_fitted(scores, labels, indices, seed=0) == usual
    assert _folds(labels, indices, 1) != fold


def test_the_own_label_of_a_record_does_not_reach_its_probability() -> None:
    """Random labels: a curve that has seen them follows them, a cross-fitted one cannot."""
    draw = random.Random(3)
    scores = [draw.random() for _ in range(400)]
    labels = [draw.random() < 0.3 for _ in range(400)]
    seen = fit(scores, labels)
    unseen = cross_fitted(scores, labels, range(400))
    assert seen is not None
    assert unseen is not None

    def loss(probabilities: list[float]) -> float:
        return sum((p - label) ** 2 for p, label in zip(probabilities, labels, strict=True)) / 400

    rate = sum(labels) / 400
    assert loss([seen.probability(score) for score in scores]) < loss([rate] * 400) < loss(unseen)


def test_calibration_mends_a_score_that_is_too_sure() -> None:
    """Scores whose log-odds are thrice the true ones: what says 0.95 (log-odds 3) is right in 0.73 (1)."""
    draw = random.Random(1)
    truth = [draw.gauss(-0.5, 1.0) for _ in range(2000)]
    labels = [draw.random() < 1 / (1 + exp(-odds)) for odds in truth]
    scores = [1 / (1 + exp(-3 * odds)) for odds in truth]
    for few in (200, 2000):  # both methods
        part, said = labels[:few], scores[:few]
        fitted = cross_fitted(said, part, range(few))
        assert fitted is not None
        before = reliability(list(zip(said, part, strict=True))).ece.value
        after = reliability(list(zip(fitted, part, strict=True))).ece.value
        assert before is not None
        assert after is not None
        assert after < before / 1.5
    curve = _platt(scores, labels)
    assert log(curve.probability(0.5) / (1 - curve.probability(0.5))) == pytest.approx(0, abs=0.15)
    assert curve.slope == pytest.approx(1 / 3, abs=0.05)
