"""Proportions with intervals."""

from math import sqrt
from statistics import NormalDist

from .frozen import Frozen


class Proportion(Frozen):
    """A count out of a total, with an estimate and an interval. If the total is 0, estimate and interval are None."""

    count: int
    total: int
    estimate: float | None
    low: float | None
    high: float | None
    level: float


def wilson(count: int, total: int, level: float = 0.95) -> Proportion:
    """Return the Wilson score interval of `count` out of `total`, both ends within 0 and 1.

    centre = (p + z²/2n) / (1 + z²/n);  half width = z·√(p(1-p)/n + z²/4n²) / (1 + z²/n)

    p = count / total, n = total, and z is the standard normal quantile of (1 + level) / 2. Without continuity
    correction.

    Source: Wilson, E. B. (1927), Probable inference, the law of succession, and statistical inference, JASA 22,
    209-212.

    Raises `ValueError` unless 0 <= count <= total and 0 < level < 1.
    """
    check_proportion(count, total, level)
    if total == 0:
        return Proportion(count=0, total=0, estimate=None, low=None, high=None, level=level)
    z = NormalDist().inv_cdf((1 + level) / 2)
    p = count / total
    shrink = 1 + z * z / total
    centre = (p + z * z / (2 * total)) / shrink
    half = z * sqrt(p * (1 - p) / total + z * z / (4 * total * total)) / shrink
    # At 0 and at n the interval ends exactly there; rounding would miss it slightly.
    low = 0.0 if count == 0 else max(0.0, centre - half)
    high = 1.0 if count == total else min(1.0, centre + half)
    return Proportion(count=count, total=total, estimate=p, low=low, high=high, level=level)


def check_proportion(count: float, total: float, level: float) -> None:
    """Raise `ValueError` unless 0 <= count <= total and 0 < level < 1."""
    if not 0 <= count <= total:
        raise ValueError(f"{count!r} out of {total!r} is no proportion")
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, not at {level!r}")
