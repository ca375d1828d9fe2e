"""Clopper-Pearson: the quantiles of the beta distribution, and a coverage that holds for every proportion.

The libraries that the figures are held against load for seconds: each test imports its own, and collecting none.
"""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.quality.exact import lower_bound, upper_bound

SHARES = st.integers(1, 3_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LEVELS = st.floats(0.5, 0.999)


@pytest.mark.parametrize(
    ("count", "total", "upper", "lower"),
    [
        (0, 59, 1 - 0.05 ** (1 / 59), 0.0),  # nothing of 59: (1 - p)^59 = 0.05
        (59, 59, 1.0, 0.05 ** (1 / 59)),  # all of 59: p^59 = 0.05
        (0, 1, 0.95, 0.0),
        (1, 1, 1.0, 0.05),
        (0, 0, 1.0, 0.0),  # nothing was seen: everything is possible
    ],
)
def test_bounds_at_the_ends_are_those_of_the_closed_forms(count: int, total: int, upper: float, lower: float) -> None:
    assert upper_bound(count, total) == pytest.approx(upper, abs=1e-12)
    assert lower_bound(count, total) == pytest.approx(lower, abs=1e-12)


@given(SHARES, LEVELS)
def test_bounds_are_the_quantiles_of_the_beta_distribution(share: tuple[int, int], level: float) -> None:
    from scipy.stats import beta

    count, total = share
    if count < total:
        assert upper_bound(count, total, level) == pytest.approx(beta.ppf(level, count + 1, total - count), abs=1e-9)
    if count:
        assert lower_bound(count, total, level) == pytest.approx(
            beta.ppf(1 - level, count, total - count + 1), abs=1e-9
        )


@given(SHARES)
def test_the_interval_is_that_of_statsmodels(share: tuple[int, int]) -> None:
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(*share, alpha=0.05, method="beta")
    assert lower_bound(*share, 0.975) == pytest.approx(low, abs=1e-9)
    assert upper_bound(*share, 0.975) == pytest.approx(high, abs=1e-9)


@given(SHARES, LEVELS)
def test_the_bounds_of_a_count_are_those_of_its_rest_mirrored(share: tuple[int, int], level: float) -> None:
    count, total = share
    assert upper_bound(count, total, level) == pytest.approx(1 - lower_bound(total - count, total, level), abs=1e-12)


@pytest.mark.parametrize("total", [1, 7, 40])
@pytest.mark.parametrize("true", [0.01, 0.05, 0.3, 0.5, 0.77, 0.99])
def test_the_upper_bound_is_too_low_in_at_most_one_of_twenty_samples(total: int, true: float) -> None:
    """Over all samples, not over some: the probability of each count is written out."""
    missed = sum(
        comb(total, k) * true**k * (1 - true) ** (total - k) for k in range(total + 1) if upper_bound(k, total) < true
    )
    assert missed <= 0.05


@pytest.mark.parametrize(("count", "total", "level"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 1.0), (1, 2, 0.0)])
def test_what_is_no_proportion_or_no_level_is_refused(count: int, total: int, level: float) -> None:
    for bound in (upper_bound, lower_bound):
        with pytest.raises(ValueError, match=r"proportion|level"):
            bound(count, total, level)
