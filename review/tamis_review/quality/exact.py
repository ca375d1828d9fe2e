"""Exact bounds on a proportion (Clopper-Pearson), from the quantiles of the beta distribution.

The probability that a bound is wrong is at most what its level leaves, for every true proportion and every size of
sample; it is often less, so the bounds are wider than approximate ones.

Source: Clopper, C. J., Pearson, E. S. (1934), The use of confidence or fiducial limits illustrated in the case of the
binomial, Biometrika 26, 404-413.
"""

from functools import lru_cache
from math import exp, expm1, lgamma, log, log1p

from tamis_schemas import Proportion
from tamis_schemas.values.proportion import check_proportion

ROUNDS = 200  # of bisection; it ends where two neighbouring numbers are reached
TERMS = 100_000  # of the continued fraction; it needs about the square root of the sample's size
TINY = 1e-300  # stands for 0 where the fraction would divide by it


def upper_bound(count: float, total: float, level: float = 0.95) -> float:
    """The largest proportion at which `count` or fewer out of `total` still come with probability 1 - level.

    The true proportion lies at or below it with at least the probability `level`. Without observations it is 1. Counts
    need not be whole: those of a sample in blocks are divided by its design effect.

    Raises `ValueError` where not 0 <= count <= total, or not 0 < level < 1.
    """
    check_proportion(count, total, level)
    if count == total:
        return 1.0
    if count == 0:
        return -expm1(log1p(-level) / total)  # (1 - p)^total = 1 - level
    return _quantile(level, count + 1, total - count)


def lower_bound(count: float, total: float, level: float = 0.95) -> float:
    """The smallest proportion at which `count` or more out of `total` still come with probability 1 - level.

    The true proportion lies at or above it with at least the probability `level`. Without observations it is 0. Raises
    as `upper_bound` does.
    """
    check_proportion(count, total, level)
    if count == 0:
        return 0.0
    if count == total:
        return float((1 - level) ** (1 / total))
    return _quantile(1 - level, count, total - count + 1)


def interval(count: int, total: int, level: float = 0.95) -> Proportion:
    """The two-sided interval: each end may be wrong with half of what the level leaves; None where the total is 0.

    Raises as `upper_bound` does.
    """
    check_proportion(count, total, level)
    if total == 0:
        return Proportion(count=0, total=0, estimate=None, low=None, high=None, level=level)
    side = (1 + level) / 2
    low, high = lower_bound(count, total, side), upper_bound(count, total, side)
    return Proportion(count=count, total=total, estimate=count / total, low=low, high=high, level=level)


@lru_cache(maxsize=4_096)  # who looks for a threshold asks for the same bounds again and again
def _quantile(share: float, a: float, b: float) -> float:
    """The x below which this share of a beta distribution lies."""
    low, high = 0.0, 1.0
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if beta_below(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def beta_below(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function: the share of a beta distribution that lies below x.

    Source: NIST Digital Library of Mathematical Functions, 8.17.4 (symmetry) and 8.17.22 (the continued fraction).
    """
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1) / (a + b + 2):  # beyond it the fraction of the mirrored distribution is the one that converges fast
        return 1.0 - beta_below(1.0 - x, b, a)
    weight = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    return weight * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """1 / (1 + d1 / (1 + d2 / (1 + ...))), by the modified method of Lentz."""
    above, below = 1.0, 1.0 / _kept_from_zero(1.0 - (a + b) * x / (a + 1))
    value = below
    for m in range(1, TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for part in (even, odd):
            below = 1.0 / _kept_from_zero(1.0 + part * below)
            above = _kept_from_zero(1.0 + part / above)
            step = above * below
            value *= step
        if abs(step - 1.0) < 1e-16:
            break
    return value


def _kept_from_zero(number: float) -> float:
    return number if abs(number) > TINY else TINY
