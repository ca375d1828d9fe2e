"""An exact one-sided bound on the number of a kind in a finite population, after a random sample of it.

A sample of n out of N records, drawn without replacement, holds k of a kind. Were there K of them in the population, k
or fewer would come with the probability

    P(X <= k; N, K, n) = sum over i = 0 .. k of C(K, i) * C(N - K, n - i) / C(N, n)     (hypergeometric)

The bound is the largest K at which that is still more than 1 - level. Whatever the true number is, the bound lies below
it in at most the share 1 - level of all samples. The binomial bound (Clopper-Pearson) is wider: it cannot use that a
sample of many out of few leaves little unseen.

Source: Buonaccorsi, J. P. (1987), A note on confidence intervals for proportions in finite populations, The American
Statistician 41, 215-218; Wright, T. (1991), Exact Confidence Bounds when Sampling from Small Finite Universes, Lecture
Notes in Statistics 66, Springer.
"""

from fractions import Fraction
from math import comb, exp, lgamma

LEVEL = 0.95


def most_in_population(found: int, sample: int, population: int, level: float = LEVEL) -> int:
    """The largest number of a kind in the population that the sample leaves possible; at least `found`.

    Computed in whole numbers: nothing is rounded.

    Raises `ValueError` where not 0 <= found <= sample <= population, or not 0 < level < 1.
    """
    if not 0 <= found <= sample <= population:
        raise ValueError(f"{found!r} found in {sample!r} of {population!r} is no sample")
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, not at {level!r}")
    wrong = 1 - Fraction(str(level))
    ways = comb(population, sample)
    low, high = found, population - (sample - found)  # possible; the bound lies from here to there
    while low < high:
        middle = (low + high + 1) // 2
        if _ways_up_to(found, sample, population, middle) * wrong.denominator > wrong.numerator * ways:
            low = middle
        else:
            high = middle - 1
    return low


def probability_up_to(found: int, sample: int, population: int, kind: int, above: float = 1.0) -> float:
    """P(X <= found; population, kind, sample) as a number: quick for populations of any size.

    Exact but for the rounding of the logarithms of factorials, which is about 1e-10 of the probability. Where it is
    known to reach `above` it may be any number from there on.
    """
    fewest, most = max(0, sample - (population - kind)), min(sample, kind)
    if found < fewest or found >= most:
        return float(found >= most)
    if (found + 1) * (population + 2) > (sample + 1) * (kind + 1):  # beyond the mode: the other tail is the short one
        return 1 - _tail(found + 1, most, 1, sample, population, kind)
    return _tail(found, fewest, -1, sample, population, kind, above)


def log_probability(found: int, sample: int, population: int, kind: int) -> float:
    """The logarithm of P(X = found; population, kind, sample), for a number that can be found."""
    others = population - kind
    return log_comb(kind, found) + log_comb(others, sample - found) - log_comb(population, sample)


def log_comb(n: int, k: int) -> float:
    """The logarithm of C(n, k), for 0 <= k <= n."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _tail(first: int, last: int, step: int, sample: int, population: int, kind: int, above: float = 1.0) -> float:
    """The sum of the probabilities from `first` away from the mode to `last`, as far as they count."""
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


def _ways_up_to(found: int, sample: int, population: int, kind: int) -> int:
    """Return in how many of all samples at most `found` are of the kind."""
    first = max(0, sample - (population - kind))
    if first > found:
        return 0
    ways = total = comb(kind, first) * comb(population - kind, sample - first)
    for i in range(first, found):
        ways = ways * (kind - i) * (sample - i) // ((i + 1) * (population - kind - sample + i + 1))
        total += ways
    return total
