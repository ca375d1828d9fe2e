"""The confusion matrix of decisions against a human's, and the figures that are made of it."""

from math import atanh, sqrt, tanh
from statistics import NormalDist

from tamis_schemas.values.frozen import Frozen

from .figure import LEVEL, Figure, proportion

NO_INCLUDES = "no record is included by the human"
NO_EXCLUDES = "no record is excluded by the human"
NOTHING_KEPT = "no record is kept by the system"
NOTHING_DROPPED = "no record is excluded by the system"


class Matrix(Frozen):
    """The counts of records: kept or dropped by the system, included or excluded by the human."""

    tp: int = 0  # kept, and included by the human
    fp: int = 0  # kept, and excluded by the human
    fn: int = 0  # dropped, although the human included it: lost evidence
    tn: int = 0  # dropped, and excluded by the human

    @property
    def n(self) -> int:
        return self.tp + self.fp + self.fn + self.tn


def sensitivity(matrix: Matrix, level: float = LEVEL) -> Figure:
    """The share of the human's includes that the system keeps (recall): TP / (TP + FN), with its Wilson interval."""
    return proportion(matrix.tp, matrix.tp + matrix.fn, NO_INCLUDES, level)


def specificity(matrix: Matrix, level: float = LEVEL) -> Figure:
    """The share of the human's excludes that the system drops: TN / (TN + FP), with its Wilson interval."""
    return proportion(matrix.tn, matrix.tn + matrix.fp, NO_EXCLUDES, level)


def precision(matrix: Matrix, level: float = LEVEL) -> Figure:
    """The share of what the system keeps that the human includes: TP / (TP + FP), with its Wilson interval."""
    return proportion(matrix.tp, matrix.tp + matrix.fp, NOTHING_KEPT, level)


def f1(matrix: Matrix, level: float = LEVEL) -> Figure:
    """The harmonic mean of precision and sensitivity: 2 TP / (2 TP + FP + FN).

    Its interval: F* = TP / (TP + FP + FN) is a proportion of the records that the system or the human takes, and
    F1 = 2 F* / (1 + F*) rises with it, so the ends of its Wilson interval, transformed alike, are those of F1.

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
    """Matthews' correlation of the two decisions, -1 to 1: (TP TN - FP FN) / sqrt((TP+FP)(TP+FN)(TN+FP)(TN+FN)).

    Its interval: the delta method on Fisher's z = atanh(MCC), under multinomial counts. With shares p of the four
    cells, rows r and columns c, the derivative of MCC by a share is (its cofactor) / sqrt(r1 r0 c1 c0)
    - MCC / 2 * (1 / its row + 1 / its column), and the variance is the sum of p times its square, over n.

    Source: Matthews, B. W. (1975), Comparison of the predicted and observed secondary structure of T4 phage lysozyme,
    Biochimica et Biophysica Acta 405, 442-451. Interval: Itaya, Y., Tamura, J., Hayashi, K., Yamamoto, K. (2024),
    Asymptotic properties of Matthews correlation coefficient, arXiv:2405.12622.
    """
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
