"""Agreement of two raters on the same records, and the part of it that is more than chance.

Cohen's kappa and Gwet's AC1 differ in what they hold to be chance. Kappa takes each rater's own shares: where nearly
all records are excluded by both, chance alone explains most of the agreement, and kappa is low although hardly a record
is judged differently. AC1 takes chance to act only where a record is hard to judge, and does not drop there.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from math import sqrt
from statistics import NormalDist

from tamis_schemas.values.frozen import Frozen

from .agreement_interval import Table, ac1_interval, kappa_interval

LEVEL = 0.95
TWO = 2  # categories, for which there is an interval for tables of any size


class Cell(Frozen):
    """One cell of the table of two raters."""

    first_said: str
    second_said: str
    n: int  # records on which the first said the one and the second the other


class Agreement(Frozen):
    """The agreement of two raters; a figure that cannot be computed is None, and its `no_...` says why."""

    n: int  # records that both judged
    observed: float | None  # the share on which they agree
    kappa: float | None = None
    kappa_low: float | None = None
    kappa_high: float | None = None
    ac1: float | None = None
    ac1_low: float | None = None
    ac1_high: float | None = None
    level: float = LEVEL  # of both intervals
    no_kappa: str | None = None
    no_ac1: str | None = None
    cells: tuple[Cell, ...] = ()  # the whole table, row by row; empty where no record was judged by both


def agreement(pairs: Sequence[tuple[str, str]], *, categories: Sequence[str] = (), level: float = LEVEL) -> Agreement:
    """The agreement over records that two raters judged: pairs of what the one and the other said.

    kappa = (po - pe) / (1 - pe),  pe = sum over k of p(k) * q(k)
    AC1   = (po - pe) / (1 - pe),  pe = sum over k of m(k) * (1 - m(k)) / (K - 1),  m(k) = (p(k) + q(k)) / 2

    po is the share of records on which they agree, p(k) and q(k) are the shares that each put into category k, K is the
    number of categories. Of two categories the intervals are those of `agreement_interval`, for tables of any size. Of
    more they are those of the normal distribution around the figure, cut at -1 and 1, with the large-sample variances
    of the sources (the delta method): too narrow for small samples.

    Args:
        pairs: one for each record, in any order.
        categories: what could have been said, where it may be that nobody said some of it; AC1 depends on their number.
        level: of the intervals.

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
    first = {name: sum(share for (one, _), share in cells.items() if one == name) for name in names}
    second = {name: sum(share for (_, other), share in cells.items() if other == name) for name in names}
    observed = sum(count for (one, other), count in counts.items() if one == other) / n
    figures: dict[str, float | str] = {}
    table = _table(pairs, sorted(names)) if len(names) == TWO else None

    if len({name for pair in cells for name in pair}) == 1:
        figures["no_kappa"] = "both put every record into the same category: all agreement could be chance"
    else:
        chance = sum(first[name] * second[name] for name in names)
        figures |= _figure("kappa", n, observed, chance, cells, lambda one, other: first[other] + second[one], level)
        if table is not None:
            figures |= _between("kappa", kappa_interval(table, float(figures["kappa"]), level))

    if len(names) == 1:
        figures["no_ac1"] = "only one category is known: nothing could have been judged differently"
    else:
        mean = {name: (first[name] + second[name]) / 2 for name in names}
        others = len(names) - 1
        chance = sum(share * (1 - share) for share in mean.values()) / others
        figures |= _figure(
            "ac1", n, observed, chance, cells, lambda one, other: (1 - mean[one] - mean[other]) / others, level
        )
        if table is not None:
            figures |= _between("ac1", ac1_interval(table, float(figures["ac1"]), level))
    order = [*dict.fromkeys((*categories, *sorted(names)))]
    every = tuple(Cell(first_said=one, second_said=other, n=counts[one, other]) for one, other in product(order, order))
    return Agreement.model_validate({"n": n, "observed": observed, "level": level, "cells": every, **figures})


def _table(pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> Table:
    no, yes = names
    counts = Counter(pairs)
    return Table(both=counts[yes, yes], first=counts[yes, no], second=counts[no, yes], neither=counts[no, no])


def _between(name: str, ends: tuple[float, float]) -> dict[str, float | str]:
    return {f"{name}_low": ends[0], f"{name}_high": ends[1]}


def _figure(
    name: str,
    n: int,
    observed: float,
    chance: float,
    cells: dict[tuple[str, str], float],
    slope: Callable[[str, str], float],
    level: float,
) -> dict[str, float | str]:
    """The figure and its interval; `slope` is the derivative of the chance agreement by the share of a cell."""
    value = (observed - chance) / (1 - chance)
    weights = {(one, other): ((one == other) - (1 - value) * slope(one, other)) / (1 - chance) for one, other in cells}
    mean = sum(share * weights[cell] for cell, share in cells.items())
    variance = sum(share * (weights[cell] - mean) ** 2 for cell, share in cells.items()) / n
    half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(variance)
    return {name: value, f"{name}_low": max(-1.0, value - half), f"{name}_high": min(1.0, value + half)}
