"""Intervals of kappa and AC1 for two categories: by the profile likelihood, for tables of any size.

A value of the coefficient belongs to the interval where some table of true shares that has it explains the counts
nearly as well as the best of all does: 2 * (log L(best) - log L(best with this value)) <= limit. So an interval exists
where the variance of the large sample is 0 (raters who agree on everything), does not leave -1 to 1, and is wide where
a category is rare.

The limit of a large sample is the quantile of the chi-square distribution with one degree of freedom. Where a cell is
empty, only one end can be wrong, and the value is further off than that quantile allows for: 3 / n is then the upper
bound of a share (the rule of three), of which the limit is -2 log(1 - level). In between

    limit = chi2 + (-2 log(1 - level) - chi2) / (1 + y),   y = min(agreed yes, agreed no, disagreed)

That is a rule by measurement, not by theory: `python -m benchmarks.calibration` measures its coverage over prevalences,
agreements and sizes, and docs/quality.md has it.

Source: Venzon, D. J., Moolgavkar, S. H. (1988), A method for computing profile-likelihood-based confidence intervals,
Applied Statistics 37, 87-94; Hanley, J. A., Lippman-Hand, A. (1983), If nothing goes wrong, is everything all right?,
JAMA 249, 1743-1745.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt
from statistics import NormalDist

GOLDEN = (3 - sqrt(5)) / 2
TOLERANCE = 1e-5  # of the range in which the best shares are sought
STEPS = 60  # of that search; a dozen or two are usual
ROUNDS = 60  # of the search for an end
CLOSE = 1e-6  # to the end
IMPOSSIBLE = -1e9  # the log likelihood of shares that are none; worse the further they are from being any


@dataclass(frozen=True)
class Table:
    """The counts of two raters' verdicts on the same records."""

    both: int
    first: int  # by the first alone
    second: int
    neither: int

    @property
    def disagreed(self) -> int:
        return self.first + self.second

    @property
    def likelihood(self) -> float:
        """The logarithm of the largest that any shares give the table."""
        counts = (self.both, self.first, self.second, self.neither)
        n = sum(counts)
        return sum(count * log(count / n) for count in counts if count)


def kappa_interval(table: Table, value: float, level: float) -> tuple[float, float]:
    """The ends around Cohen's kappa, which is `value`; of a table in which both categories occur."""
    return _ends(table, value, level, likelihood_at_kappa)


def ac1_interval(table: Table, value: float, level: float) -> tuple[float, float]:
    """The ends around Gwet's AC1, which is `value`; of a table of at least one record."""
    return _ends(table, value, level, likelihood_at_ac1)


def deviance_limit(table: Table, level: float) -> float:
    """The largest 2 * (log L(best) - log L(value)) of a value within the interval."""
    large = NormalDist().inv_cdf((1 + level) / 2) ** 2
    least = min(table.both, table.neither, table.disagreed)
    return large + (-2 * log(1 - level) - large) / (1 + least)


@lru_cache(maxsize=1_024)  # a page and a report ask again and again, and an end takes thousands of likelihoods
def _ends(
    table: Table, value: float, level: float, likelihood_at: Callable[[Table, float], float]
) -> tuple[float, float]:
    least = table.likelihood - deviance_limit(table, level) / 2

    def end(outside: float) -> float:
        """Find an end by false position, a half where the function is steep on one side (the Illinois rule)."""
        inside, above, below = value, table.likelihood - least, likelihood_at(table, outside) - least
        if below >= 0:
            return outside
        for _ in range(ROUNDS):
            if abs(outside - inside) < CLOSE:
                break
            share = above / (above - below) if below > IMPOSSIBLE / 2 else 1 / 2
            tried = inside + min(0.95, max(0.05, share)) * (outside - inside)
            surplus = likelihood_at(table, tried) - least
            if surplus >= 0:
                inside, above, below = tried, surplus, below / 2
            else:
                outside, below, above = tried, surplus, above / 2
        return inside

    return end(-1.0), end(1.0)


def likelihood_at_ac1(table: Table, ac1: float) -> float:
    """The largest log likelihood with this AC1: over the mean share m of "yes", from which it takes all shares.

    po = AC1 + (1 - AC1) * 2 m (1 - m); both say yes in m - (1 - po) / 2, both say no in (1 + po) / 2 - m. How the
    disagreements are divided is free, and best as they are in the table.
    """
    divided = sum(count * log(count / table.disagreed) for count in (table.first, table.second) if count)

    def likelihood(m: float) -> float:
        po = ac1 + (1 - ac1) * 2 * m * (1 - m)
        cells = ((table.both, m - (1 - po) / 2), (table.neither, (1 + po) / 2 - m), (table.disagreed, 1 - po))
        return divided + _log_likelihood(*cells)

    return _largest(likelihood, 0.0, 1.0)


def likelihood_at_kappa(table: Table, kappa: float) -> float:
    """The largest log likelihood with this kappa: over the mean m of the two raters' shares of "yes", and how far they
    lie apart.

    With shares p and q, both say yes in p q + kappa * (p + q - 2 p q) / 2: po - pe is twice the first term's surplus
    over p q, and 1 - pe is p + q - 2 p q. With p = m + b / 2 and q = m - b / 2 that is (1 - kappa) (m^2 - b^2 / 4) +
    kappa m, and no cell is below 0 for all b from -B to B, of which `_widest` is the largest.
    """

    def likelihood(mean: float) -> float:
        def apart(between: float) -> float:
            both = (1 - kappa) * (mean**2 - between**2 / 4) + kappa * mean
            first, second = mean + between / 2 - both, mean - between / 2 - both
            neither = 1 - 2 * mean + both
            return _log_likelihood(
                (table.both, both), (table.first, first), (table.second, second), (table.neither, neither)
            )

        widest = _widest(mean, kappa)
        return _largest(apart, -widest, widest)

    least = max(0.0, -kappa / (1 - kappa)) if kappa < 1 else 0.0  # for a smaller mean, both cannot say yes so seldom
    return _largest(likelihood, least, 1 - least)


def _widest(mean: float, kappa: float) -> float:
    """Return how far the raters' shares may lie apart, so that no cell of a table with this kappa is below 0."""
    if kappa >= 1:
        return 0.0
    rest = 1 - mean
    agreed = [4 * share * (share + kappa / (1 - kappa)) for share in (mean, rest)]
    widest = min(2 * mean, 2 * rest, *(sqrt(max(0.0, square)) for square in agreed))
    # Those on whom they disagree: (1 - kappa) (m (1 - m) + b^2 / 4) >= |b| / 2.
    bend = 1 - 4 * (1 - kappa) ** 2 * mean * rest
    return widest if bend < 0 else min(widest, (1 - sqrt(bend)) / (1 - kappa))


def _log_likelihood(*cells: tuple[int, float]) -> float:
    """The sum of count * log(share); where a share is none, by how much it is none."""
    total = wrong = 0.0
    impossible = False
    for count, share in cells:
        if share > 0:
            total += count * log(share)
        else:
            wrong += share
            impossible = impossible or count > 0
    if wrong < -1e-12:  # more than rounding
        return IMPOSSIBLE * (1 - wrong)
    return IMPOSSIBLE if impossible else total


def _largest(function: Callable[[float], float], low: float, high: float) -> float:
    """The largest value of a function with one peak, by steps to the top of a parabola, or else of the golden section.

    Source: Brent, R. P. (1973), Algorithms for Minimization without Derivatives, Prentice-Hall, chapter 5.
    """
    near = TOLERANCE * (high - low)
    best = second = third = low + GOLDEN * (high - low)
    at_best = at_second = at_third = function(best)
    step = before = 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if abs(best - middle) <= 2 * near - (high - low) / 2:
            break
        one = (best - second) * (at_third - at_best)
        other = (best - third) * (at_second - at_best)
        above, below = (best - third) * other - (best - second) * one, 2 * (one - other)
        top = best + above / below if below else best
        if abs(before) > near and low + near < top < high - near and abs(top - best) < abs(before) / 2:
            before, step = step, top - best
        else:
            before = (high if best < middle else low) - best
            step = GOLDEN * before
        tried = best + (step if abs(step) >= near else near if step > 0 else -near)
        at_tried = function(tried)
        if at_tried >= at_best:
            low, high = (best, high) if tried >= best else (low, best)
            third, second, best = second, best, tried
            at_third, at_second, at_best = at_second, at_best, at_tried
            continue
        low, high = (tried, high) if tried < best else (low, tried)
        if at_tried >= at_second or second == best:
            third, second, at_third, at_second = second, tried, at_second, at_tried
        elif at_tried >= at_third or third in (best, second):
            third, at_third = tried, at_tried
    return at_best
