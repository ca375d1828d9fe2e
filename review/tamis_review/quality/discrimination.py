"""Discrimination: how well scores put the records that a human includes before the others."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, sqrt
from statistics import NormalDist, fmean, variance

from .confusion import NO_EXCLUDES, NO_INCLUDES
from .figure import LEVEL, Figure


def auc(included: Sequence[float], excluded: Sequence[float], level: float = LEVEL) -> Figure:
    """The area under the ROC curve: the probability that an include scores above an exclude, ties counting a half.

    By midranks, so that time grows as sorting does. The interval is that of the normal distribution with DeLong's
    variance, cut at 0 and 1.

    Args:
        included: the scores of the records that the human includes.
        excluded: the scores of the others.
        level: of the interval.

    Source: DeLong, E. R., DeLong, D. M., Clarke-Pearson, D. L. (1988), Comparing the areas under two or more correlated
    receiver operating characteristic curves, Biometrics 44, 837-845; by midranks: Sun, X., Xu, W. (2014), Fast
    implementation of DeLong's algorithm, IEEE Signal Processing Letters 21, 1389-1393.
    """
    m, n = len(included), len(excluded)
    if not m or not n:
        return Figure(reason=f"{NO_EXCLUDES if m else NO_INCLUDES} among those that the model decided")
    everyone = midranks([*included, *excluded])
    above = [(rank - own) / n for rank, own in zip(everyone[:m], midranks(included), strict=True)]
    below = [1 - (rank - own) / m for rank, own in zip(everyone[m:], midranks(excluded), strict=True)]
    value = fmean(above)
    if m < 2 or n < 2:
        return Figure(value=value, reason="an interval needs two includes and two excludes")
    spread = variance(above) / m + variance(below) / n
    if not spread:
        return Figure(value=value, reason="no include is ordered otherwise than the others: no interval")
    half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(spread)
    return Figure(value=value, low=max(0.0, value - half), high=min(1.0, value + half), level=level)


def wss(ranks: Sequence[float], included: Sequence[bool], recall: float = 0.95) -> Figure:
    """Work saved over sampling: what reading in the order of the ranks saves, beside reading in any order.

    WSS@R = (TN + FN) / N - (1 - R), where reading ends at the highest rank at which the share R of the includes is
    found. Records of the same rank are read together: no luck within ties. Between -(1 - R) and R.

    Args:
        ranks: of every record; the highest is read first.
        included: what the human says of each.
        recall: R.

    Source: Cohen, A. M., Hersh, W. R., Peterson, K., Yen, P.-Y. (2006), Reducing workload in systematic review
    preparation using automated citation classification, JAMIA 13, 206-219.
    """
    wanted = ceil(Fraction(str(recall)) * sum(included))
    if not wanted:
        return Figure(reason=NO_INCLUDES)
    last = sorted((rank for rank, include in zip(ranks, included, strict=True) if include), reverse=True)[wanted - 1]
    unread = sum(rank < last for rank in ranks)
    return Figure(value=unread / len(ranks) - float(1 - Fraction(str(recall))))


def midranks(values: Sequence[float]) -> list[float]:
    """The place of each value among all, from 1; equal values share the mean of their places."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + end + 1) / 2
        start = end
    return ranks
