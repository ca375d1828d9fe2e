"""What two readers overlook, and how many includes that hides."""

from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.quality.certificate import DoubleRead, most_true_includes
from tamis_review.quality.exact import upper_bound


def test_the_miss_rate_comes_from_what_one_of_two_readers_missed() -> None:
    # Of 60 includes 4 were missed by one reader. theta <= 0.1461 (Clopper-Pearson, 95 %), mu = theta / (2 - theta)
    theta = upper_bound(4, 60, 0.95)
    assert theta == pytest.approx(0.1461, abs=1e-4)
    assert DoubleRead(60, 4).miss_rate(0.95) == pytest.approx(0.1461 / 1.8539, abs=1e-4)
    assert DoubleRead(60, 4).miss_rate(0.95, readers=2) == pytest.approx((0.1461 / 1.8539) ** 2, abs=1e-5)


def test_without_an_include_that_two_read_nothing_is_known_of_what_they_overlook() -> None:
    assert DoubleRead(0, 0).miss_rate(0.95) == 1.0
    assert most_true_includes(0, 1.0, 0.05) is None


@pytest.mark.parametrize(("first", "second"), [(0.05, 0.05), (0.02, 0.2), (0.0, 0.3), (0.5, 0.01)])
def test_two_readers_who_differ_miss_no_more_than_is_said(first: float, second: float) -> None:
    """theta = (A (1 - B) + B (1 - A)) / (1 - A B); a share of a great many includes."""
    theta = (first * (1 - second) + second * (1 - first)) / (1 - first * second)
    said = DoubleRead(10**7, round(theta * 10**7))
    assert said.miss_rate(0.5) >= (first + second) / 2 - 1e-5
    assert said.miss_rate(0.5, readers=2) >= first * second - 1e-5


def test_the_number_of_true_includes_is_the_largest_that_the_readers_number_leaves_possible() -> None:
    # Nine seen, a reader overlooks one in ten. P(Bin(T, 0.9) <= 9): T = 12: 1 - (12 * 0.9^11 * 0.1 + 0.9^12 +
    # 66 * 0.9^10 * 0.01) = 0.111; T = 13: 0.034
    assert most_true_includes(9, 0.1, 0.05) == 12
    # None seen: 0.1^T > 0.05 for T = 1 alone
    assert most_true_includes(0, 0.1, 0.05) == 1
    assert most_true_includes(9, 0.0, 0.05) == 9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 40), st.floats(0.01, 0.6), st.floats(0.005, 0.3))
def test_it_is_the_binomial_tail_summed_one_by_one(seen: int, rate: float, doubt: float) -> None:
    def tail(total: int) -> float:
        return sum(comb(total, i) * (1 - rate) ** i * rate ** (total - i) for i in range(min(seen, total) + 1))

    most = most_true_includes(seen, rate, doubt)
    assert most is not None
    assert most == seen or tail(most) > doubt * (1 - 1e-9)
    assert tail(most + 1) <= doubt * (1 + 1e-9)


def test_more_missed_than_included_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot have been missed"):
        DoubleRead(3, 4)
