"""The Wilson interval, against arithmetic written out."""

from math import isclose, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import wilson

Z = 1.959963984540054  # the 97.5 % point of the standard normal distribution


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        # p = 1/2, n = 10: centre 1/2; half = z/(2·sqrt(n + z²)) = 1.959964/(2·sqrt(13.841459)) = 0.263407
        (5, 10, 0.5 - 0.263407, 0.5 + 0.263407),
        # p = 0: from 0 to z²/(n + z²) = 3.841459/23.841459
        (0, 20, 0.0, 0.161125),
        # p = 1: from n/(n + z²) = 20/23.841459 to 1
        (20, 20, 0.838875, 1.0),
        # p = 0.1, n = 100: centre (0.1 + 0.0192073)/1.0384146 = 0.1147973,
        # half 1.959964·sqrt(0.09/100 + 3.841459/40000)/1.0384146 = 0.0595689
        (10, 100, 0.0552284, 0.1743662),
    ],
)
def test_the_interval_is_the_written_one(count: int, total: int, low: float, high: float) -> None:
    share = wilson(count, total)
    assert share.estimate == count / total
    assert share.low is not None
    assert share.high is not None
    assert isclose(share.low, low, abs_tol=1e-6)
    assert isclose(share.high, high, abs_tol=1e-6)


def test_nothing_out_of_nothing_has_no_estimate() -> None:
    share = wilson(0, 0)
    assert (share.count, share.total, share.estimate, share.low, share.high) == (0, 0, None, None, None)


@pytest.mark.parametrize(("count", "total"), [(-1, 3), (4, 3), (1, 0)])
def test_what_is_no_proportion_is_refused(count: int, total: int) -> None:
    with pytest.raises(ValueError, match="is no proportion"):
        wilson(count, total)


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_a_level_outside_its_range_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        wilson(1, 2, level)


counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_the_interval_holds_the_estimate_and_stays_within_0_and_1(pair: tuple[int, int]) -> None:
    share = wilson(*pair)
    assert share.low is not None
    assert share.high is not None
    assert share.estimate is not None
    assert 0 <= share.low <= share.estimate <= share.high <= 1


@given(counts)
def test_both_ends_solve_the_score_equation(pair: tuple[int, int]) -> None:
    """|p̂ - p| = z·√(p(1-p)/n) at either end: what the interval is derived from."""
    count, total = pair
    share = wilson(count, total)
    for end, trivial in ((share.low, count == 0), (share.high, count == total)):
        assert end is not None
        if not trivial:
            assert isclose(abs(count / total - end), Z * sqrt(end * (1 - end) / total), rel_tol=1e-6, abs_tol=1e-9)


@given(counts)
def test_yes_and_no_mirror_each_other(pair: tuple[int, int]) -> None:
    count, total = pair
    yes, no = wilson(count, total), wilson(total - count, total)
    assert yes.low is not None
    assert no.high is not None
    assert isclose(yes.low, 1 - no.high, abs_tol=1e-12)
