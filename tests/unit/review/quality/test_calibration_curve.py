"""The reliability curve: bins, their shares, and how far they lie from the diagonal.

The libraries that the figures are held against load for seconds: each test imports its own, and collecting none.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.quality.figure import reliability

DECISIONS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=80)


def test_the_arithmetic_written_out() -> None:
    # 0.95 and 0.93: one right, |0.5 - 0.94| = 0.44; four of 0.62: three right, |0.75 - 0.62| = 0.13
    found = reliability([(0.95, True), (0.93, False), *[(0.62, True)] * 3, (0.62, False)])
    assert found.ece.value == pytest.approx(2 / 6 * 0.44 + 4 / 6 * 0.13)
    assert [one.n for one in found.bins] == [0, 0, 0, 0, 0, 0, 4, 0, 0, 2]
    assert (found.right.count, found.right.total) == (4, 6)
    assert found.confidence == pytest.approx((0.95 + 0.93 + 4 * 0.62) / 6)


def test_a_bin_begins_where_it_says_and_the_last_one_holds_1() -> None:
    found = reliability([(place / 10, True) for place in range(11)])
    assert [one.n for one in found.bins] == [1] * 9 + [2]
    below = reliability([(place / 10 - 1e-6, True) for place in range(1, 11)])
    assert [one.n for one in below.bins] == [1] * 10


@given(DECISIONS)
def test_the_error_lies_between_0_and_1_and_the_bins_hold_every_decision(decisions: list[tuple[float, bool]]) -> None:
    found = reliability(decisions)
    assert sum(one.n for one in found.bins) == found.n == len(decisions)
    if decisions:
        assert 0 <= found.ece.value <= 1 + 1e-12
    else:
        assert found.ece.value is None
        assert found.ece.reason


@given(st.lists(st.tuples(st.integers(0, 99).map(lambda n: (n + 0.5) / 100), st.booleans()), min_size=1, max_size=80))
def test_the_curve_is_that_of_scikit_learn(decisions: list[tuple[float, bool]]) -> None:
    """Between the edges of the bins: on them, theirs end where ours begin."""
    from sklearn.calibration import calibration_curve

    shares, confidences = calibration_curve(
        [right for _, right in decisions], [sure for sure, _ in decisions], n_bins=10
    )
    found = [one for one in reliability(decisions).bins if one.n]
    assert [one.right.estimate for one in found] == pytest.approx(list(shares), abs=1e-9)
    assert [one.confidence for one in found] == pytest.approx(list(confidences), abs=1e-9)


def test_a_confidence_that_is_always_right_and_always_sure_has_no_error() -> None:
    assert reliability([(1.0, True)] * 7).ece.value == 0
    assert reliability([(1.0, False)] * 7).ece.value == 1
