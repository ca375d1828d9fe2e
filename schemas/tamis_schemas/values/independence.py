"""Independence of a share and a group: Pearson's chi-square test, for tables of two columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, exp, gamma, sqrt

LEAST_EXPECTED = 1.0  # Cochran's rule: in every cell
USUAL_EXPECTED, USUAL_SHARE = 5.0, 0.8  # and so many in so many of the cells


@dataclass(frozen=True)
class ChiSquare:
    """The statistic, its degrees of freedom, and the probability of one as large or larger without any dependence."""

    statistic: float
    degrees: int
    p: float


def chi_square(failed: Sequence[int], totals: Sequence[int]) -> ChiSquare | None:
    """Pearson's test of whether the share `failed / totals` is the same in every group; None where it says nothing.

    X² = Σ (observed - expected)² / expected over both columns; k - 1 degrees of freedom for k groups.

    None: fewer than two groups, or expected counts too small for the test by Cochran's rule: all at least 1, and four
    fifths of them at least 5.

    Sources: Pearson, K. (1900), Philosophical Magazine 50, 157-175. Cochran, W. G. (1954), Some methods for
    strengthening the common χ² tests, Biometrics 10, 417-451. Without continuity correction.

    Raises `ValueError` where not 0 <= failed <= total, total > 0 in each group.
    """
    if any(not 0 <= bad <= total or total == 0 for bad, total in zip(failed, totals, strict=True)):
        raise ValueError(f"{list(failed)!r} out of {list(totals)!r} are no shares")
    if len(totals) < 2:
        return None
    share = sum(failed) / sum(totals)
    cells = [
        (observed, total * part)
        for bad, total in zip(failed, totals, strict=True)
        for observed, part in ((bad, share), (total - bad, 1 - share))
    ]
    expected = [value for _, value in cells]
    usual = sum(value >= USUAL_EXPECTED for value in expected)
    if min(expected) < LEAST_EXPECTED or usual < USUAL_SHARE * len(expected):
        return None
    statistic = sum((observed - value) ** 2 / value for observed, value in cells)
    degrees = len(totals) - 1
    return ChiSquare(statistic, degrees, upper_tail(statistic, degrees))


def upper_tail(statistic: float, degrees: int) -> float:
    """The probability that a chi-square variable with `degrees` (1 or more) is at least `statistic`.

    Q(x|1) = erfc(√(x/2)), Q(x|2) = e^(-x/2), and Q(x|n+2) = Q(x|n) + (x/2)^(n/2) e^(-x/2) / Γ(n/2 + 1).

    Source: Abramowitz, M., Stegun, I. A. (1964), Handbook of Mathematical Functions, 26.4.4, 26.4.5 and 26.4.8.
    """
    half = statistic / 2
    start = 2 - degrees % 2
    tail = erfc(sqrt(half)) if start == 1 else exp(-half)
    for before in range(start, degrees, 2):
        tail += half ** (before / 2) * exp(-half) / gamma(before / 2 + 1)
    return min(1.0, tail)
