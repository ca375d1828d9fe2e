"""The confusion matrix: its figures as scikit-learn has them, and reasons where there are none.

The libraries that the figures are held against load for seconds: each test imports its own, and collecting none.
"""

import random
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.quality.figure import Matrix, f1, mcc, precision, sensitivity, specificity

COUNTS = st.integers(0, 60)
MATRICES = st.builds(Matrix, tp=COUNTS, fp=COUNTS, fn=COUNTS, tn=COUNTS)
PAPER = Matrix(tp=32, fp=97, fn=4, tn=388)


def test_the_arithmetic_written_out() -> None:
    assert sensitivity(PAPER).value == pytest.approx(32 / 36)
    assert specificity(PAPER).value == pytest.approx(388 / 485)
    assert precision(PAPER).value == pytest.approx(32 / 129)
    assert f1(PAPER).value == pytest.approx(64 / 165)  # 2 * 32 / (2 * 32 + 97 + 4)
    # (32 * 388 - 97 * 4) / sqrt(129 * 36 * 485 * 392)
    assert mcc(PAPER).value == pytest.approx(12028 / sqrt(129 * 36 * 485 * 392))


@given(MATRICES)
def test_the_figures_are_those_of_scikit_learn(matrix: Matrix) -> None:
    from sklearn.metrics import f1_score, matthews_corrcoef, precision_score, recall_score

    system = [1] * (matrix.tp + matrix.fp) + [0] * (matrix.fn + matrix.tn)
    human = [1] * matrix.tp + [0] * matrix.fp + [1] * matrix.fn + [0] * matrix.tn
    for found, theirs in (
        (sensitivity(matrix), lambda: recall_score(human, system)),
        (specificity(matrix), lambda: recall_score(human, system, pos_label=0)),
        (precision(matrix), lambda: precision_score(human, system)),
        (f1(matrix), lambda: f1_score(human, system)),
        (mcc(matrix), lambda: matthews_corrcoef(human, system)),
    ):
        if found.value is None:
            assert found.reason
        else:
            assert found.value == pytest.approx(theirs(), abs=1e-9)


@given(MATRICES)
def test_every_figure_lies_in_its_range_and_within_its_interval(matrix: Matrix) -> None:
    for figure, least in (
        *((of(matrix), 0.0) for of in (sensitivity, specificity, precision, f1)),
        (mcc(matrix), -1.0),
    ):
        if figure.value is None:
            assert figure.low is figure.high is None
        elif figure.low is None:
            assert figure.reason
        else:
            assert least <= figure.low <= figure.value + 1e-12
            assert figure.value - 1e-12 <= figure.high <= 1.0


@given(MATRICES)
def test_the_intervals_of_proportions_are_wilsons(matrix: Matrix) -> None:
    from statsmodels.stats.proportion import proportion_confint

    found = sensitivity(matrix)
    if found.value is not None:
        low, high = proportion_confint(matrix.tp, matrix.tp + matrix.fn, method="wilson")
        assert (found.low, found.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


def test_the_interval_of_f1_is_wilsons_of_f_star_transformed() -> None:
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(32, 32 + 97 + 4, method="wilson")
    found = f1(PAPER)
    assert found.low == pytest.approx(2 * low / (1 + low))
    assert found.high == pytest.approx(2 * high / (1 + high))


@pytest.mark.parametrize("figure", [f1, mcc])
def test_the_intervals_of_f1_and_mcc_hold_the_truth_about_as_often_as_they_say(figure) -> None:
    """2,000 samples of 500 records from one true table; a share of 0.95 has a standard error of 0.005."""
    draw = random.Random(20260101)
    shares = {"tp": 0.06, "fp": 0.19, "fn": 0.01, "tn": 0.74}
    truth = figure(Matrix(**{name: round(share * 100_000) for name, share in shares.items()})).value
    held = 0
    for _ in range(2_000):
        cells = draw.choices(list(shares), list(shares.values()), k=500)
        found = figure(Matrix(**{name: cells.count(name) for name in shares}))
        held += found.low <= truth <= found.high
    assert 0.93 <= held / 2_000 <= 0.97


@pytest.mark.parametrize(
    ("matrix", "without"),
    [
        (Matrix(), {sensitivity, specificity, precision, f1, mcc}),
        (Matrix(tp=3, fn=1), {specificity, mcc}),  # the human excluded none
        (Matrix(fp=3, tn=1), {sensitivity, mcc}),  # the human included none
        (Matrix(fn=3, tn=1), {precision, mcc}),  # the system kept none
        (Matrix(tp=3, fp=1), {mcc}),  # the system excluded none
        (Matrix(tn=4), {sensitivity, precision, f1, mcc}),
    ],
)
def test_a_figure_without_a_denominator_is_none_with_a_reason(matrix: Matrix, without: set[object]) -> None:
    for figure in (sensitivity, specificity, precision, f1, mcc):
        found = figure(matrix)
        assert (found.value is None) == (figure in without), figure
        assert (found.reason is not None) == (found.value is None), figure


@pytest.mark.parametrize(("matrix", "value"), [(Matrix(tp=3, tn=9), 1.0), (Matrix(fp=3, fn=9), -1.0)])
def test_a_correlation_without_exceptions_has_no_interval_and_says_so(matrix: Matrix, value: float) -> None:
    found = mcc(matrix)
    assert found.value == pytest.approx(value)
    assert found.low is None
    assert found.reason is not None
