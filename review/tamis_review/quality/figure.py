"""Figures that compare decisions and scores with a human's labels, each with its interval or the reason for none.

The figures come from the confusion matrix of decisions, from the ranks of the human's includes by score
(discrimination), or from the share of right decisions at each confidence (calibration).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import atanh, ceil, sqrt, tanh
from statistics import NormalDist, fmean, variance

from tamis_schemas import Proportion, wilson
from tamis_schemas.values.frozen import Frozen

LEVEL = 0.95
BINS = 10
NO_INCLUDES = "no record is included by the human"
NO_EXCLUDES = "no record is excluded by the human"
NOTHING_KEPT = "no record is kept by the system"
NOTHING_DROPPED = "no record is excluded by the system"


class Figure(Frozen):
    """A number with its interval. A number or interval that cannot be computed is None, and `reason` says why."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = LEVEL  # confidence of the interval
    count: int | None = None  # the numerator, if the figure is a proportion
    total: int | None = None  # the denominator, if the figure is a proportion
    reason: str | None = None  # reason for a missing value or interval


def proportion(count: int, total: int, nothing: str, level: float = LEVEL) -> Figure:
    """Return count / total with its Wilson interval. If `total` is 0, the value is None with the reason `nothing`."""
    share = wilson(count, total, level)
    reason = nothing if share.estimate is None else None
    return Figure(value=share.estimate, reason=reason, **share.model_dump(exclude={"estimate"}))


class Matrix(Frozen):
    """The counts of records: kept or dropped by the system, included or excluded by the human."""

    tp: int = 0  # kept, and included by the human
    fp: int = 0  # kept, and excluded by the human
    fn: int = 0  # dropped, but included by the human: lost evidence
    tn: int = 0  # dropped, and excluded by the human

    @property
    def n(self) -> int:
        return self.tp + self.fp + self.fn + self.tn


def sensitivity(matrix: Matrix, level: float = LEVEL) -> Figure:
    """Return the share of the human's includes that the system keeps (recall): TP / (TP + FN), with Wilson interval."""
    return proportion(matrix.tp, matrix.tp + matrix.fn, NO_INCLUDES, level)


def specificity(matrix: Matrix, level: float = LEVEL) -> Figure:
    """Return the share of the human's excludes that the system drops: TN / (TN + FP), with its Wilson interval."""
    return proportion(matrix.tn, matrix.tn + matrix.fp, NO_EXCLUDES, level)


def precision(matrix: Matrix, level: float = LEVEL) -> Figure:
    """Return the share of kept records that the human includes: TP / (TP + FP), with its Wilson interval."""
    return proportion(matrix.tp, matrix.tp + matrix.fp, NOTHING_KEPT, level)


def f1(matrix: Matrix, level: float = LEVEL) -> Figure:
    """Return the harmonic mean of precision and sensitivity: 2 TP / (2 TP + FP + FN).

    F1 = 2 F* / (1 + F*) with the proportion F* = TP / (TP + FP + FN). The same formula turns F*'s Wilson interval into
    F1's interval.

    Source: Hand, D. J., Christen, P., Kirielle, N. (2021), F*: an interpretable transformation of the F-measure,
    Machine Learning 110, 451-456.
    """
    taken = matrix.tp + matrix.fp + matrix.fn
    share = proportion(matrix.tp, taken, "no record is kept by the system or included by the human", level)
    if share.value is None or share.low is None or share.high is None:
        return Figure(reason=share.reason)
    value, low, high = (2 * end / (1 + end) for end in (share.value, share.low, share.high))
    return Figure(value=value, low=low, high=high, level=level)


def mcc(matrix: Matrix, level: float = LEVEL) -> Figure:
    """Return Matthews' correlation of the two decisions: (TP TN - FP FN) / sqrt((TP+FP)(TP+FN)(TN+FP)(TN+FN)).

    The interval comes from the delta method on Fisher's z = atanh(MCC), for multinomial counts.

    Source: Matthews, B. W. (1975), Comparison of the predicted and observed secondary structure of T4 phage lysozyme,
    Biochimica et Biophysica Acta 405, 442-451. Interval: Itaya, Y., Tamura, J., Hayashi, K., Yamamoto, K. (2024),
    Asymptotic properties of Matthews correlation coefficient, arXiv:2405.12622.
    """
    # The matrix has the shares p, the row sums r and the column sums c. MCC's derivative by the share of a cell in row
    # r and column c is d = cofactor / sqrt(r1 r0 c1 c0) - MCC / 2 * (1 / r + 1 / c). The variance is (sum of p * d^2) /
    # n.
    sides = {
        NO_INCLUDES: matrix.tp + matrix.fn,
        NO_EXCLUDES: matrix.tn + matrix.fp,
        NOTHING_KEPT: matrix.tp + matrix.fp,
        NOTHING_DROPPED: matrix.tn + matrix.fn,
    }
    for reason, size in sides.items():
        if not size:
            return Figure(reason=reason)
    n = matrix.n
    tp, fp, fn, tn = (count / n for count in (matrix.tp, matrix.fp, matrix.fn, matrix.tn))
    below = sqrt((tp + fn) * (tn + fp) * (tp + fp) * (tn + fn))
    value = max(-1.0, min(1.0, (tp * tn - fp * fn) / below))
    if not matrix.fp + matrix.fn or not matrix.tp + matrix.tn:
        return Figure(value=value, reason="system and human agree on all records or on none: no interval")
    cells = (  # share, cofactor, row, column
        (tp, tn, tp + fn, tp + fp),
        (tn, tp, tn + fp, tn + fn),
        (fn, -fp, tp + fn, tn + fn),
        (fp, -fn, tn + fp, tp + fp),
    )
    slopes = ((p, cofactor / below - value / 2 * (1 / row + 1 / column)) for p, cofactor, row, column in cells)
    variance = sum(p * slope * slope for p, slope in slopes) / n
    half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(variance) / (1 - value * value)
    return Figure(value=value, low=tanh(atanh(value) - half), high=tanh(atanh(value) + half), level=level)


def auc(included: Sequence[float], excluded: Sequence[float], level: float = LEVEL) -> Figure:
    """Return the area under the ROC curve: the probability that an include scores above an exclude. A tie counts half.

    The interval is normal with DeLong's variance, cut at 0 and 1.

    Args:
        included: the scores of the records that the human includes.
        excluded: the scores of the records that the human excludes.
        level: the confidence of the interval.

    Source: DeLong, E. R., DeLong, D. M., Clarke-Pearson, D. L. (1988), Comparing the areas under two or more correlated
    receiver operating characteristic curves, Biometrics 44, 837-845; by midranks: Sun, X., Xu, W. (2014), Fast
    implementation of DeLong's algorithm, IEEE Signal Processing Letters 21, 1389-1393.
    """
    m, n = len(included), len(excluded)
    if not m or not n:
        return Figure(reason=f"{NO_EXCLUDES if m else NO_INCLUDES} among the records that the model decided")
    everyone = midranks([*included, *excluded])
    above = [(rank - own_rank) / n for rank, own_rank in zip(everyone[:m], midranks(included), strict=True)]
    below = [1 - (rank - own_rank) / m for rank, own_rank in zip(everyone[m:], midranks(excluded), strict=True)]
    value = fmean(above)
    if m < 2 or n < 2:
        return Figure(value=value, reason="an interval needs two includes and two excludes")
    spread = variance(above) / m + variance(below) / n
    if not spread:
        return Figure(value=value, reason="all includes have the same order relative to the excludes: no interval")
    half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(spread)
    return Figure(value=value, low=max(0.0, value - half), high=min(1.0, value + half), level=level)


def wss(ranks: Sequence[float], included: Sequence[bool], recall: float = 0.95) -> Figure:
    """Return the work saved over sampling: WSS@R = (TN + FN) / N - (1 - R), from -(1 - R) to R.

    People read from the highest rank until they have found the share R of the includes. TN + FN records stay unread.
    Records of equal rank are read together.

    Args:
        ranks: one for each record; the highest is read first.
        included: for each record, whether the human includes it.
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
    """Return the rank of each value, from 1 for the smallest; equal values share the mean of their ranks."""
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values]


class Bin(Frozen):
    """The decisions whose confidence is at least `low` and below `high`. The last bin includes confidence 1."""

    low: float
    high: float
    n: int
    confidence: float | None  # mean confidence of the decisions; None if there are no decisions
    right: Proportion  # share of these decisions that the human agrees with


class Reliability(Frozen):
    """The reliability curve, and its mean distance from the diagonal."""

    n: int
    bins: tuple[Bin, ...]
    ece: Figure  # expected calibration error, 0 to 1
    right: Proportion  # over all decisions
    confidence: float | None  # mean over all decisions


def reliability(
    decisions: Sequence[tuple[float, bool]], level_of: Callable[[Sequence[int]], float | None] = lambda _: LEVEL
) -> Reliability:
    """Return the reliability curve of decisions, in `BINS` bins of equal width.

        ECE = sum over bins of n(b) / n * |share right(b) - mean confidence(b)|,  n(b) of the n decisions in bin b

    Args:
        decisions: for each decision, its confidence and whether the human agreed; in any order.
        level_of: returns the confidence level of a bin's interval, or None for no interval. Its argument has the
            positions of the bin's decisions in `decisions`.

    Source: Naeini, M. P., Cooper, G. F., Hauskrecht, M. (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI 29; Guo, C., Pleiss, G., Sun, Y., Weinberger, K. Q. (2017), On calibration of modern neural networks,
    ICML, PMLR 70, 1321-1330.
    """
    held: list[list[int]] = [[] for _ in range(BINS)]
    for at, (confidence, _) in enumerate(decisions):
        held[min(int(confidence * BINS), BINS - 1)].append(at)

    def bin_of(place: int, members: Sequence[int]) -> Bin:
        n, level = len(members), level_of(members)
        right = wilson(sum(decisions[at][1] for at in members), n, LEVEL if level is None else level)
        ends = {"low": None, "high": None} if level is None else {}
        return Bin(
            low=place / BINS,
            high=(place + 1) / BINS,
            n=n,
            confidence=sum(decisions[at][0] for at in members) / n if n else None,
            right=right.model_copy(update={"level": LEVEL, **ends}),
        )

    bins = tuple(bin_of(place, members) for place, members in enumerate(held))
    n = len(decisions)
    away = sum(
        interval.n * abs(interval.right.estimate - interval.confidence)
        for interval in bins
        if interval.right.estimate is not None and interval.confidence is not None
    )
    ece = Figure(value=away / n) if n else Figure(reason="the model decided no labelled record")
    everything = bin_of(0, range(n))
    return Reliability(n=n, bins=bins, ece=ece, right=everything.right, confidence=everything.confidence)
