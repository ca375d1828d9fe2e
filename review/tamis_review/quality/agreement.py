"""The agreement of two raters on the same records, compared with the agreement expected by chance.

Cohen's kappa and Gwet's AC1 define chance differently. Kappa uses each rater's shares of verdicts. If both raters
exclude nearly all records, chance explains most of the agreement, and kappa is low. AC1 assumes chance agreement only
for records that are hard to judge, so it stays high.

For two categories the intervals use the profile likelihood. A value is inside the interval if 2 * (log L(best) - log
L(value)) <= limit. L(value) is the largest likelihood of the observed table, if kappa or AC1 has this value. The
interval exists even if the raters agree on everything, and stays within -1 to 1.

    limit = chi2 + (-2 log(1 - level) - chi2) / (1 + y),   y = min(agreed yes, agreed no, disagreed)

For large samples, chi2 is the right limit: the chi-square quantile with one degree of freedom. For an empty cell, -2
log(1 - level) is right (the rule of three). The formula for tables between the two cases is not derived: `python -m
benchmarks.calibration` measures its coverage.

Source: Venzon, D. J., Moolgavkar, S. H. (1988), A method for computing profile-likelihood-based confidence intervals,
Applied Statistics 37, 87-94; Hanley, J. A., Lippman-Hand, A. (1983), If nothing goes wrong, is everything all right?,
JAMA 249, 1743-1745.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import log, sqrt
from statistics import NormalDist

from tamis_schemas.values.frozen import Frozen

LEVEL = 0.95
TWO = 2  # categories: their intervals hold at any table size
GOLDEN = (3 - sqrt(5)) / 2
TOLERANCE = 1e-5  # of the search range for the best shares
STEPS = 60  # of that search; usually about twelve to twenty-four
ROUNDS = 60  # of the search for an end
CLOSE = 1e-6  # distance to the end
IMPOSSIBLE = -1e9  # log likelihood of impossible shares; lower the further they are from possible ones


class Cell(Frozen):
    """One cell of the table of two raters' verdicts."""

    first_said: str
    second_said: str
    n: int  # records with this pair of verdicts, the first rater's first


class Agreement(Frozen):
    """The agreement of two raters. A figure that cannot be computed is None; `no_kappa` or `no_ac1` says why."""

    n: int  # records that both raters judged
    observed: float | None  # share of records with agreement
    kappa: float | None = None
    kappa_low: float | None = None
    kappa_high: float | None = None
    ac1: float | None = None
    ac1_low: float | None = None
    ac1_high: float | None = None
    level: float = LEVEL  # confidence of both intervals
    no_kappa: str | None = None
    no_ac1: str | None = None
    cells: tuple[Cell, ...] = ()  # the whole table, row by row; empty if no record was judged by both


@dataclass(frozen=True)
class Table:
    """The counts of two raters' verdicts, yes or no, on the same records."""

    both: int  # yes by both
    first: int  # yes by the first rater alone
    second: int  # yes by the second rater alone
    neither: int

    @property
    def disagreed(self) -> int:
        return self.first + self.second

    @property
    def likelihood(self) -> float:
        """Return the log likelihood of the table's own shares, which is the largest possible."""
        counts = (self.both, self.first, self.second, self.neither)
        n = sum(counts)
        return sum(count * log(count / n) for count in counts if count)


def agreement(pairs: Sequence[tuple[str, str]], *, categories: Sequence[str] = (), level: float = LEVEL) -> Agreement:
    """Return the agreement of two raters, from their pairs of verdicts.

        kappa = (po - pe) / (1 - pe),  pe = sum over k of p(k) * q(k)
        AC1   = (po - pe) / (1 - pe),  pe = sum over k of m(k) * (1 - m(k)) / (K - 1),  m(k) = (p(k) + q(k)) / 2

    po is the share of records with agreement. p(k) and q(k) are the raters' shares of category k. K is the number of
    categories. For two categories the intervals come from `profile_interval`. For more categories they are normal
    intervals with the sources' variances, cut at -1 and 1, and too narrow for small samples.

    Args:
        pairs: a pair of verdicts for each record, in any order.
        categories: all possible verdicts, if some may not occur. AC1 depends on their number.
        level: the confidence of the intervals.

    Source: Cohen, J. (1960), A coefficient of agreement for nominal scales, Educational and Psychological Measurement
    20, 37-46; its variance: Fleiss, J. L., Cohen, J., Everitt, B. S. (1969), Large sample standard errors of kappa and
    weighted kappa, Psychological Bulletin 72, 323-327. Gwet, K. L. (2008), Computing inter-rater reliability and its
    variance in the presence of high agreement, British Journal of Mathematical and Statistical Psychology 61, 29-48.
    """
    n = len(pairs)
    if not n:
        nothing = "no record was judged by both"
        return Agreement(n=0, observed=None, level=level, no_kappa=nothing, no_ac1=nothing)
    counts = Counter(pairs)
    cells = {pair: count / n for pair, count in counts.items()}
    names = {*categories, *(name for pair in cells for name in pair)}
    first = {name: sum(share for (verdict, _), share in cells.items() if verdict == name) for name in names}
    second = {name: sum(share for (_, other), share in cells.items() if other == name) for name in names}
    observed = sum(count for (a, b), count in counts.items() if a == b) / n
    figures: dict[str, float | str] = {}
    table = None
    if len(names) == TWO:
        no, yes = sorted(names)
        table = Table(both=counts[yes, yes], first=counts[yes, no], second=counts[no, yes], neither=counts[no, no])

    def add(
        name: str,
        chance: float,
        slope: Callable[[str, str], float],
        likelihood_at: Callable[[Table, float], float],
    ) -> None:
        """Add kappa or AC1 (`name`) with its interval to `figures`.

        `chance`: the agreement expected by chance. `slope`: its derivative with respect to a cell's share.
        """
        value = (observed - chance) / (1 - chance)
        if table is not None:
            low, high = profile_interval(table, value, level, likelihood_at)
        else:
            weights = {(a, b): ((a == b) - (1 - value) * slope(a, b)) / (1 - chance) for a, b in cells}
            mean = sum(share * weights[cell] for cell, share in cells.items())
            variance = sum(share * (weights[cell] - mean) ** 2 for cell, share in cells.items()) / n
            half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(variance)
            low, high = max(-1.0, value - half), min(1.0, value + half)
        figures.update({name: value, f"{name}_low": low, f"{name}_high": high})

    if len({name for pair in cells for name in pair}) == 1:
        figures["no_kappa"] = "both put every record into the same category: all agreement could be by chance"
    else:
        chance = sum(first[name] * second[name] for name in names)
        add("kappa", chance, lambda a, b: first[b] + second[a], likelihood_at_kappa)

    if len(names) == 1:
        figures["no_ac1"] = "only one category exists: disagreement was impossible"
    else:
        mean = {name: (first[name] + second[name]) / 2 for name in names}
        others = len(names) - 1
        chance = sum(share * (1 - share) for share in mean.values()) / others
        add("ac1", chance, lambda a, b: (1 - mean[a] - mean[b]) / others, likelihood_at_ac1)
    order = [*dict.fromkeys((*categories, *sorted(names)))]
    every = tuple(Cell(first_said=a, second_said=b, n=counts[a, b]) for a, b in product(order, order))
    return Agreement.model_validate({"n": n, "observed": observed, "level": level, "cells": every, **figures})


def deviance_limit(table: Table, level: float) -> float:
    """Return the largest 2 * (log L(best) - log L(value)) of a value inside the interval, for this table.

    L(value) is the largest likelihood of the table, if kappa or AC1 has this value. For a large table, the result is
    near the chi-square quantile with one degree of freedom. If the raters never agree on "yes", never agree on "no" or
    never disagree, the result is -2 log(1 - level).
    """
    large = NormalDist().inv_cdf((1 + level) / 2) ** 2
    return large + (-2 * log(1 - level) - large) / (1 + min(table.both, table.neither, table.disagreed))


@lru_cache(maxsize=1_024)  # pages and reports repeat the question, and an end takes thousands of likelihoods
def profile_interval(
    table: Table, value: float, level: float, likelihood_at: Callable[[Table, float], float]
) -> tuple[float, float]:
    """Return the profile-likelihood interval around `value`, the table's kappa or AC1.

    `likelihood_at`: `likelihood_at_kappa`, which needs a table with both categories, or `likelihood_at_ac1`, which
    needs at least one record.
    """
    least = table.likelihood - deviance_limit(table, level) / 2

    def end(outside: float) -> float:
        """Return the interval's end between `value` and `outside`, by false position with the Illinois rule."""
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
    """Return the largest log likelihood of the table, under shares of verdicts with this AC1.

    The search runs over m, the mean of the raters' shares of "yes". For each m, the share of agreement is po = AC1 + (1
    - AC1) * 2 m (1 - m). Both raters say "yes" for the share m - (1 - po) / 2, and "no" for (1 + po) / 2 - m.
    """
    # The disagreements can be split freely; the table's own split has the largest likelihood.
    divided = sum(count * log(count / table.disagreed) for count in (table.first, table.second) if count)

    def likelihood(m: float) -> float:
        po = ac1 + (1 - ac1) * 2 * m * (1 - m)
        cells = ((table.both, m - (1 - po) / 2), (table.neither, (1 + po) / 2 - m), (table.disagreed, 1 - po))
        return divided + _log_likelihood(*cells)

    return _largest(likelihood, 0.0, 1.0)


def likelihood_at_kappa(table: Table, kappa: float) -> float:
    """Return the largest log likelihood of the table, under shares of verdicts with this kappa.

    The search runs over the mean m and the difference b of the raters' shares of "yes". For each m and b, both raters
    say "yes" for the share (1 - kappa) (m^2 - b^2 / 4) + kappa m.
    """
    # The raters' shares are p = m + b / 2 and q = m - b / 2. With x the share with two "yes", po - pe = 2 (x - p q) and
    # 1 - pe = p + q - 2 p q. So x = p q + kappa * (p + q - 2 p q) / 2.

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

    least = max(0.0, -kappa / (1 - kappa)) if kappa < 1 else 0.0  # a smaller mean allows too few joint "yes"
    return _largest(likelihood, least, 1 - least)


def _widest(mean: float, kappa: float) -> float:
    """Return the largest difference of the raters' shares of "yes" at which no cell of the table is below 0."""
    if kappa >= 1:
        return 0.0
    rest = 1 - mean
    agreed = [4 * share * (share + kappa / (1 - kappa)) for share in (mean, rest)]
    widest = min(2 * mean, 2 * rest, *(sqrt(max(0.0, square)) for square in agreed))
    # Disagreements: (1 - kappa) (m (1 - m) + b^2 / 4) >= |b| / 2.
    bend = 1 - 4 * (1 - kappa) ** 2 * mean * rest
    return widest if bend < 0 else min(widest, (1 - sqrt(bend)) / (1 - kappa))


def _log_likelihood(*cells: tuple[int, float]) -> float:
    """Return the sum of count * log(share). Shares below 0 give a penalty, which grows with their distance from 0."""
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
    """Return the largest value from `low` to `high` of a function with one peak, by Brent's method.

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
        first_term = (best - second) * (at_third - at_best)
        second_term = (best - third) * (at_second - at_best)
        above, below = (best - third) * second_term - (best - second) * first_term, 2 * (first_term - second_term)
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
