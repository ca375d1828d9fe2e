"""Exact bounds on a proportion, and on a count in a finite population, after a random sample.

The bounds on a proportion (Clopper-Pearson) are quantiles of the beta distribution. A bound is wrong with at most the
probability 1 - level, for every true proportion and sample size.

The bound on a count is for a sample of n out of N records, drawn without replacement. If K records of the population
are of some kind, the sample contains k or fewer of them with the probability

    P(X <= k; N, K, n) = sum over i = 0 .. k of C(K, i) * C(N - K, n - i) / C(N, n)     (hypergeometric)

The bound is the largest K for which this probability exceeds 1 - level. It is narrower than Clopper-Pearson's bound,
because a large sample leaves few records unseen.

Source: Clopper, C. J., Pearson, E. S. (1934), The use of confidence or fiducial limits illustrated in the case of the
binomial, Biometrika 26, 404-413. Buonaccorsi, J. P. (1987), A note on confidence intervals for proportions in finite
populations, The American Statistician 41, 215-218; Wright, T. (1991), Exact Confidence Bounds when Sampling from Small
Finite Universes, Lecture Notes in Statistics 66, Springer.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, exp, expm1, lgamma, log, log1p

from tamis_schemas.values.proportion import check_proportion

LEVEL = 0.95
ROUNDS = 200  # of bisection, which ends at two neighbouring numbers
TERMS = 100_000  # of the continued fraction, which needs about the square root of the sample's size
TINY = 1e-300  # replaces 0 where the fraction would divide by it


def largest(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the largest number from `low` to `high` that meets the condition `holds`.

    `low` must meet the condition. If a number fails, all larger numbers must fail too.
    """
    return low + bisect_left(range(low + 1, high + 1), True, key=lambda number: not holds(number))


def upper_bound(count: float, total: float, level: float = 0.95) -> float:
    """Return the upper Clopper-Pearson bound of a proportion, after `count` of `total` observations.

    The true proportion is at most this bound with at least the probability `level`. Without observations the bound is
    1. Counts may be fractions, because the counts of a sample in blocks are divided by the design effect.

    Raises `ValueError` if not 0 <= count <= total, or not 0 < level < 1.
    """
    check_proportion(count, total, level)
    if count == total:
        return 1.0
    if count == 0:
        return -expm1(log1p(-level) / total)  # (1 - p)^total = 1 - level
    return _quantile(level, count + 1, total - count)


def lower_bound(count: float, total: float, level: float = 0.95) -> float:
    """Return the lower Clopper-Pearson bound of a proportion, after `count` of `total` observations.

    The true proportion is at least this bound with at least the probability `level`. Without observations the bound is
    0. Raises the errors of `upper_bound`.
    """
    check_proportion(count, total, level)
    return 1 - upper_bound(total - count, total, level)


@lru_cache(maxsize=4_096)  # the search for a threshold repeats the same bounds
def _quantile(share: float, a: float, b: float) -> float:
    """Return the quantile `share` of the beta distribution with the parameters `a` and `b`."""
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
    """Return the regularised incomplete beta function: the share of a beta distribution below x.

    Source: NIST Digital Library of Mathematical Functions, 8.17.4 (symmetry) and 8.17.22 (the continued fraction).
    """
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1) / (a + b + 2):  # beyond it only the mirrored fraction converges fast
        return 1.0 - beta_below(1.0 - x, b, a)
    weight = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    return weight * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of `beta_below`, 1 / (1 + d1 / (1 + d2 / ...)), by Lentz's modified method."""
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


def most_in_population(found: int, sample: int, population: int, level: float = LEVEL) -> int:
    """Return an upper bound on the number of records of a kind in a population.

    `found`: the number of records of this kind in a random sample of `sample` records. The bound is right with at least
    the probability `level`, and is computed without rounding.

    Raises `ValueError` if not 0 <= found <= sample <= population, or not 0 < level < 1.
    """
    if not 0 <= found <= sample <= population:
        raise ValueError(f"{found!r} found in {sample!r} of {population!r} is no sample")
    if not 0 < level < 1:
        raise ValueError(f"a level must be between 0 and 1, not {level!r}")
    wrong = 1 - Fraction(str(level))
    ways = comb(population, sample)

    def possible(kind: int) -> bool:
        return _ways_up_to(found, sample, population, kind) * wrong.denominator > wrong.numerator * ways

    return largest(found, population - (sample - found), possible)


def probability_up_to(found: int, sample: int, population: int, kind: int, above: float = 1.0) -> float:
    """Return the probability that a random sample has at most `found` records of a kind (hypergeometric).

    `sample` of the `population` records are drawn. `kind` records of the population are of this kind. The relative
    error is about 1e-10. A result of `above` or more only means that the probability is at least `above`.
    """
    fewest, most = max(0, sample - (population - kind)), min(sample, kind)
    if found < fewest or found >= most:
        return float(found >= most)
    if (found + 1) * (population + 2) > (sample + 1) * (kind + 1):  # beyond the mode the other tail is shorter
        return 1 - _tail(found + 1, most, 1, sample, population, kind)
    return _tail(found, fewest, -1, sample, population, kind, above)


def convolved(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Return the distribution of the sum of two independent counts: the probabilities of 0, 1, 2, ..."""
    whole = [0.0] * (len(first) + len(second) - 1)
    for place, probability in enumerate(first):
        for more, share in enumerate(second):
            whole[place + more] += probability * share
    return whole


def log_probability(found: int, sample: int, population: int, kind: int) -> float:
    """Return the logarithm of the probability that a sample has exactly `found` records of a kind.

    `sample` of the `population` records are drawn. `kind` records of the population are of this kind. `found` must be a
    possible number.
    """
    others = population - kind
    return log_comb(kind, found) + log_comb(others, sample - found) - log_comb(population, sample)


def log_comb(n: int, k: int) -> float:
    """Return the logarithm of the binomial coefficient C(n, k), for 0 <= k <= n."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _tail(first: int, last: int, step: int, sample: int, population: int, kind: int, above: float = 1.0) -> float:
    """Return the probability that a sample has between `first` and `last` records of a kind.

    `sample` of the `population` records are drawn. `kind` records of the population are of this kind. The probabilities
    are summed from `first` to `last` in steps of `step`, 1 or -1. They must decrease, and negligible terms are omitted.
    The sum may end as soon as it is at least `above`.
    """
    others = population - kind
    term = exp(log_probability(first, sample, population, kind))
    total = term
    for i in range(first, last, step):
        if step > 0:
            term *= (kind - i) * (sample - i) / ((i + 1) * (others - sample + i + 1))
        else:
            term *= i * (others - sample + i) / ((kind - i + 1) * (sample - i + 1))
        total += term
        if term < total * 1e-17 or total >= above:
            break
    return min(1.0, total)


def _ways_up_to(count: int, sample: int, population: int, kind: int) -> int:
    """Return how many of all possible samples have at most `count` records of a kind.

    `sample` of the `population` records are drawn. `kind` records of the population are of this kind.
    """
    first = max(0, sample - (population - kind))
    if first > count:
        return 0
    ways = total = comb(kind, first) * comb(population - kind, sample - first)
    for i in range(first, count):
        ways = ways * (kind - i) * (sample - i) // ((i + 1) * (population - kind - sample + i + 1))
        total += ways
    return total
