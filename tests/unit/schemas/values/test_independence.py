"""The chi-square test of independence, against arithmetic written out and tabulated values."""

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas.values.independence import chi_square, upper_tail


def test_the_statistic_is_the_written_one() -> None:
    # Of 100 and 100, 30 and 10 failed: expected 20, 80 in both. (10² + 10²)/20 + (10² + 10²)/80 = 10 + 2.5.
    found = chi_square([30, 10], [100, 100])
    assert found is not None
    assert isclose(found.statistic, 12.5)
    assert found.degrees == 1
    assert isclose(found.p, 0.000407, abs_tol=1e-6)  # 2·(1 - Φ(√12.5)) = 2·(1 - Φ(3.535534))


@pytest.mark.parametrize(
    ("statistic", "degrees", "p"),
    [
        # The 5 % and 1 % points of the usual tables.
        (3.841459, 1, 0.05),
        (5.991465, 2, 0.05),
        (7.814728, 3, 0.05),
        (9.487729, 4, 0.05),
        (6.634897, 1, 0.01),
        (11.344867, 3, 0.01),
        (13.276704, 4, 0.01),
        (0.0, 1, 1.0),
        (0.0, 4, 1.0),
    ],
)
def test_the_tail_is_that_of_the_tables(statistic: float, degrees: int, p: float) -> None:
    assert isclose(upper_tail(statistic, degrees), p, abs_tol=1e-6)


@pytest.mark.parametrize(
    ("failed", "totals", "why"),
    [
        ([3], [10], "one group"),
        ([0, 0], [100, 100], "nothing failed: 0 expected"),
        ([100, 100], [100, 100], "everything failed: 0 expected not to"),
        ([1, 1], [3, 1000], "2·3/1003 expected in the first group"),
        ([4, 4, 4, 4], [100, 100, 100, 100], "4 expected in four of eight cells"),
    ],
)
def test_too_few_are_not_tested(failed: list[int], totals: list[int], why: str) -> None:
    assert chi_square(failed, totals) is None, why


def test_a_fifth_of_the_cells_may_be_small() -> None:
    # 12 of 232 failed: expected 5.17, 5.17 and 1.66 failures, and the others many: one cell of six is below 5.
    assert chi_square([5, 5, 2], [100, 100, 32]) is not None
    # 10 of 232: 4.3, 4.3 and 1.4: three of six.
    assert chi_square([4, 4, 2], [100, 100, 32]) is None


def test_equal_shares_show_nothing() -> None:
    found = chi_square([10, 20, 30], [100, 200, 300])
    assert found is not None
    assert isclose(found.statistic, 0.0, abs_tol=1e-9)
    assert isclose(found.p, 1.0, abs_tol=1e-6)


@pytest.mark.parametrize(("failed", "totals"), [([5], [4]), ([-1, 2], [4, 4]), ([0, 0], [4, 0])])
def test_what_is_no_share_is_refused(failed: list[int], totals: list[int]) -> None:
    with pytest.raises(ValueError, match="no shares"):
        chi_square(failed, totals)


@given(st.integers(1, 12), st.floats(0, 200), st.floats(0, 50))
def test_the_tail_falls_and_stays_a_probability(degrees: int, statistic: float, more: float) -> None:
    here, beyond = upper_tail(statistic, degrees), upper_tail(statistic + more, degrees)
    assert 0.0 <= beyond <= here + 1e-12 <= 1.0 + 1e-12
