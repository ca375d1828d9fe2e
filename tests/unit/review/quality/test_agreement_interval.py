"""The intervals of kappa and AC1 for two categories: tables of any size have one, and it is wide enough."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tamis_review.quality.agreement import (
    Table,
    agreement,
    deviance_limit,
    likelihood_at_ac1,
    likelihood_at_kappa,
    profile_interval,
)

COUNTS = st.integers(0, 30)


def kappa_deviance(table: Table, kappa: float) -> float:
    """Twice the loss of log likelihood where kappa is this: 0 at the estimate."""
    return 2 * (table.likelihood - likelihood_at_kappa(table, kappa))


def ac1_deviance(table: Table, ac1: float) -> float:
    """The same for AC1."""
    return 2 * (table.likelihood - likelihood_at_ac1(table, ac1))


def kappa_of(both: float, first: float, second: float, neither: float) -> float:
    p, q = both + first, both + second
    chance = p * q + (1 - p) * (1 - q)
    return (both + neither - chance) / (1 - chance)


def ac1_of(both: float, first: float, second: float, neither: float) -> float:
    mean = both + (first + second) / 2
    chance = 2 * mean * (1 - mean)
    return (both + neither - chance) / (1 - chance)


def test_the_limit_is_the_quantile_of_a_large_table_and_the_rule_of_three_of_one_with_an_empty_cell() -> None:
    from scipy.stats import chi2  # takes a second: not for whoever only collects

    large = deviance_limit(Table(10**9, 10**9, 10**9, 10**9), 0.95)
    assert large == pytest.approx(chi2.ppf(0.95, 1), abs=1e-6)
    # Nothing went wrong in n: of a share of 3 / n that has the probability e^-3 = 0.05, and 2 * 3 is the limit.
    assert deviance_limit(Table(0, 0, 0, 20), 0.95) == pytest.approx(2 * -math.log(0.05))
    # y = min(3, 1, 10) = 1: half way
    assert deviance_limit(Table(3, 1, 0, 10), 0.95) == pytest.approx((3.841459 + 5.991465) / 2, abs=1e-5)


def test_raters_who_agree_on_everything_have_an_interval() -> None:
    found = agreement([("exclude", "exclude")] * 20, categories=("include", "exclude"))
    assert found.ac1 == 1.0
    # The shares with AC1 = g that explain 20 agreements best put all in one category or disagree by 1 - po; the least
    # po is that with 2 * 20 * log(1 / po) = 5.99, 0.861; and AC1 = (po - pe) / (1 - pe), pe = 2 m (1 - m), m = 0.0695.
    m = (1 - 0.05 ** (1 / 20)) / 2
    po, pe = 0.05 ** (1 / 20), 2 * m * (1 - m)
    assert found.ac1_low == pytest.approx((po - pe) / (1 - pe), abs=1e-4)
    assert found.ac1_high == 1.0
    both = agreement([("exclude", "exclude")] * 15 + [("include", "include")] * 5)
    assert both.kappa == 1.0
    assert 0.5 < both.kappa_low < 0.75


@settings(max_examples=12, deadline=None)
@given(COUNTS, COUNTS, COUNTS, COUNTS)
@example(0, 0, 11, 0)
@example(4, 0, 2, 6)
@example(5, 0, 15, 6)
def test_the_ends_are_where_the_deviance_reaches_the_limit(a: int, b: int, c: int, d: int) -> None:
    table = Table(a, b, c, d)
    n = a + b + c + d
    if not n or n in (a, d):
        return
    shares = [count / n for count in (a, b, c, d)]
    for estimate, likelihood_at, deviance in (
        (kappa_of(*shares), likelihood_at_kappa, kappa_deviance),
        (ac1_of(*shares), likelihood_at_ac1, ac1_deviance),
    ):
        assert deviance(table, estimate) == pytest.approx(0, abs=1e-2)
        low, high = profile_interval(table, estimate, 0.95, likelihood_at)
        assert -1 <= low <= estimate + 1e-6
        assert estimate - 1e-6 <= high <= 1
        for end in (low, high):
            if -1 < end < 1:
                assert deviance(table, end) == pytest.approx(deviance_limit(table, 0.95), abs=2e-2)
    assert profile_interval(Table(d, c, b, a), kappa_of(*shares), 0.95, likelihood_at_kappa) == pytest.approx(
        profile_interval(table, kappa_of(*shares), 0.95, likelihood_at_kappa), abs=1e-6
    )


def test_no_shares_of_a_grid_explain_a_table_better_than_the_search_finds() -> None:
    table, steps = Table(4, 2, 1, 13), 20
    best: dict[int, float] = {}
    for i in range(1, steps):
        for j in range(1, steps - i):
            for k in range(1, steps - i - j):
                shares = [part / steps for part in (i, j, k, steps - i - j - k)]
                fit = sum(n * math.log(p) for n, p in zip((4, 2, 1, 13), shares, strict=True))
                kappa = kappa_of(*shares)
                assert 2 * (table.likelihood - fit) >= kappa_deviance(table, kappa) - 1e-3 if fit > -18 else True
                best[round(kappa * 10)] = max(fit, best.get(round(kappa * 10), -math.inf))
    # The best of the grid comes near to what is found: the search does not stop beside the peak.
    assert 2 * (table.likelihood - best[5]) == pytest.approx(kappa_deviance(table, 0.5), abs=0.3)
