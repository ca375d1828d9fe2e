"""Calibration of a score: the probability of inclusion, from the records decided so far.

Of the records with a score of 0.9, people may include fewer than nine in ten. Decided records show the true share:

| decided so far | fitted curve |
|---|---|
| fewer than 20 includes, or fewer than 20 excludes | none: the score is not calibrated |
| at least 20 of each | Platt's sigmoid of the score's log-odds: it has two parameters, so few records are enough |
| at least 200, with 50 of each | isotonic regression: any rising curve, which needs more records |

A curve is never judged by the records that it was fitted to. The records are divided into ten folds. The probabilities
of a fold come from the curve of the other nine (cross-fitting).

Sources: Platt, J. (1999), Probabilistic outputs for support vector machines, with the fit of Lin, H.-T., Lin, C.-J.,
Weng, R. C. (2007), A note on Platt's probabilistic outputs for support vector machines, Machine Learning 68, 267-276;
Zadrozny, B., Elkan, C. (2002), Transforming classifier scores into accurate multiclass probability estimates, KDD
(isotonic regression by pooling adjacent violators: Ayer, M., and others, 1955, Annals of Mathematical Statistics 26,
641-647); Niculescu-Mizil, A., Caruana, R. (2005), Predicting good probabilities with supervised learning, ICML, for how
many records each method needs.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log
from typing import TypeAlias

from tamis_schemas.records.random_order import sample
from tamis_schemas.values.frozen import Frozen

from .design import Design
from .figure import Reliability
from .judged import Judged

FEWEST = 20  # includes, and excludes: minimum for Platt's sigmoid
ISOTONIC_FROM = 200  # decided records, and
ISOTONIC_OF_EACH = 50  # at least so many includes and excludes
FOLDS = 10
TENTHS = tuple(tenth / 10 for tenth in range(11))
SURE = 1e-6  # minimum distance of a score from 0 and 1, because log-odds need it
STEPS = 100  # of Newton's method; usually ten
CLOSE = 1e-10  # total slope at the optimum


class Method(StrEnum):
    """The method that turns scores into probabilities of inclusion."""

    PLATT = "platt"
    ISOTONIC = "isotonic"


@dataclass(frozen=True, slots=True)
class Platt:
    """Platt's sigmoid: 1 / (1 + exp(-(slope x log-odds of the score + intercept)))."""

    slope: float
    intercept: float

    def probability(self, score: float) -> float:
        """Return the probability of inclusion of a record with this score."""
        return _sigmoid(self.slope * _log_odds(score) + self.intercept)


@dataclass(frozen=True, slots=True)
class Isotonic:
    """The curve of isotonic regression: blocks of scores with their shares of includes, joined by straight lines."""

    scores: tuple[float, ...]  # first and last score of each block, rising
    shares: tuple[float, ...]  # share of includes at each of these scores

    def probability(self, score: float) -> float:
        """Return the probability of inclusion of a record with this score.

        Below the lowest fitted score and above the highest, the probability is constant.
        """
        after = bisect_right(self.scores, score)
        if after == 0:
            return self.shares[0]
        if after == len(self.scores):
            return self.shares[-1]
        low, high = self.scores[after - 1], self.scores[after]
        between = (score - low) / (high - low)
        return self.shares[after - 1] + between * (self.shares[after] - self.shares[after - 1])


Calibrator: TypeAlias = Platt | Isotonic  # a rising curve from a score to the probability of inclusion


def method_for(labels: Sequence[bool]) -> Method | None:
    """Return the calibration method that the number of decided records allows, or None if there are too few.

    `labels`: for each decided record, True for an include and False for an exclude.
    """
    includes = sum(labels)
    rarer = min(includes, len(labels) - includes)
    if rarer < FEWEST:
        return None
    return Method.ISOTONIC if len(labels) >= ISOTONIC_FROM and rarer >= ISOTONIC_OF_EACH else Method.PLATT


def fit(scores: Sequence[float], labels: Sequence[bool]) -> Calibrator | None:
    """Return the curve from score to probability of inclusion, fitted to decided records.

    Return None if there are too few records. `scores`: from 0 to 1. `labels`: True for an include.
    """
    method = method_for(labels)
    return None if method is None else _fit(method, scores, labels)


def cross_fitted(
    scores: Sequence[float], labels: Sequence[bool], indices: Sequence[int], *, seed: int = 0
) -> list[float] | None:
    """Return each record's probability of inclusion, or None if there are too few records.

    The curve for a record's fold is fitted to the records of the other folds.

    Args:
        scores: from 0 to 1.
        labels: True for an include.
        indices: unique numbers of the records.
        seed: together with `indices`, it decides each record's fold.
    """
    method = method_for(labels)
    if method is None:
        return None
    fold = _folds(labels, indices, seed)
    curves = []
    for left_out in range(FOLDS):
        others = [at for at in range(len(scores)) if fold[at] != left_out]
        curves.append(_fit(method, [scores[at] for at in others], [labels[at] for at in others]))
    return [curves[number].probability(score) for number, score in zip(fold, scores, strict=True)]


def _folds(labels: Sequence[bool], indices: Sequence[int], seed: int) -> list[int]:
    """Return the number of each record's fold. Each fold gets includes and excludes."""
    dealt: dict[int, int] = {}
    for included in (True, False):
        members = [index for index, label in zip(indices, labels, strict=True) if label is included]
        dealt |= {index: place % FOLDS for place, index in enumerate(sample(members, len(members), seed=seed))}
    return [dealt[index] for index in indices]


def _fit(method: Method, scores: Sequence[float], labels: Sequence[bool]) -> Calibrator:
    return _isotonic(scores, labels) if method is Method.ISOTONIC else _platt(scores, labels)


def _isotonic(scores: Sequence[float], labels: Sequence[bool]) -> Isotonic:
    """Return the curve of isotonic regression, computed by pooling adjacent violators.

    Records with equal scores form a block. A block is joined with the previous block as long as its share of includes
    is not larger than the previous block's share.
    """
    tied: dict[float, list[bool]] = {}
    for score, label in sorted(zip(scores, labels, strict=True)):
        tied.setdefault(score, []).append(label)
    blocks: list[tuple[float, float, int, int]] = []  # first score, last score, includes, records
    for score, members in tied.items():
        block = (score, score, sum(members), len(members))
        while blocks and blocks[-1][2] * block[3] >= block[2] * blocks[-1][3]:
            first, _, includes, records = blocks.pop()
            block = (first, score, includes + block[2], records + block[3])
        blocks.append(block)
    places = [(score, includes / n) for first, last, includes, n in blocks for score in dict.fromkeys((first, last))]
    return Isotonic(tuple(score for score, _ in places), tuple(share for _, share in places))


def _platt(scores: Sequence[float], labels: Sequence[bool]) -> Platt:
    """Return Platt's sigmoid. Newton's method with halved steps fits it to Platt's softened targets.

    If includes become rarer as the score rises, the result is a constant curve.
    """
    includes = sum(labels)
    excludes = len(labels) - includes
    high, low = (includes + 1) / (includes + 2), 1 / (excludes + 2)
    odds = [_log_odds(score) for score in scores]
    targets = [high if label else low for label in labels]
    slope, intercept = 0.0, log((includes + 1) / (excludes + 1))
    loss = _loss(odds, targets, slope, intercept)
    for _ in range(STEPS):
        by_slope = by_intercept = 0.0
        slope_twice = both = intercept_twice = 1e-12  # keep the curvature divisible
        for odd, target in zip(odds, targets, strict=True):
            p = _sigmoid(slope * odd + intercept)
            by_slope += odd * (p - target)
            by_intercept += p - target
            slope_twice += odd * odd * p * (1 - p)
            both += odd * p * (1 - p)
            intercept_twice += p * (1 - p)
        if abs(by_slope) + abs(by_intercept) < CLOSE:
            break
        area = slope_twice * intercept_twice - both * both
        if area <= 0:  # all scores are equal
            break
        to_slope = (intercept_twice * by_slope - both * by_intercept) / area
        to_intercept = (slope_twice * by_intercept - both * by_slope) / area
        step = 1.0
        while step > CLOSE:
            tried = _loss(odds, targets, slope - step * to_slope, intercept - step * to_intercept)
            if tried < loss:
                break
            step /= 2
        else:
            break
        slope, intercept, loss = slope - step * to_slope, intercept - step * to_intercept, tried
    return Platt(slope, intercept) if slope > 0 else Platt(0.0, log((includes + 1) / (excludes + 1)))


def _loss(odds: Sequence[float], targets: Sequence[float], slope: float, intercept: float) -> float:
    total = 0.0
    for odd, target in zip(odds, targets, strict=True):
        p = min(1 - 1e-15, max(1e-15, _sigmoid(slope * odd + intercept)))
        total -= target * log(p) + (1 - target) * log(1 - p)
    return total


def _log_odds(score: float) -> float:
    bounded = min(1 - SURE, max(SURE, score))
    return log(bounded / (1 - bounded))


def _sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))


class CalibratedPoint(Frozen):
    """A score, and the probability of inclusion that the calibration assigns to it."""

    score: float
    probability: float


class CalibratedScore(Frozen):
    """The calibration of the score by people's labels, from the labelled records that have a score."""

    includes: int  # by the human, among the records with a score
    excludes: int
    folds: int = FOLDS
    method: Method | None = None  # None: not calibrated
    reason: str | None = None  # reason for no calibration
    before: Reliability  # of the raw score; `right` counts the records that the human included
    after: Reliability | None = None  # of the cross-fitted probability
    points: tuple[CalibratedPoint, ...] = ()  # of the curve from all labelled records


def calibrated(scored: Sequence[Judged], design: Design, *, seed: int = 0) -> CalibratedScore:
    """Return the calibration of the score by people's labels. `scored`: records that all have a label and a score."""
    scores = [record.score for record in scored if record.score is not None]
    labels = [record.included for record in scored]
    includes = sum(labels)
    method, whole = method_for(labels), fit(scores, labels)
    fitted = cross_fitted(scores, labels, [record.index for record in scored], seed=seed)
    counts = {"includes": includes, "excludes": len(labels) - includes}
    before = design.reliability(scored, lambda record: record.score, lambda record: record.included)
    if whole is None or fitted is None:
        why = f"calibration needs {FEWEST} includes and {FEWEST} excludes that the model decided"
        return CalibratedScore(**counts, before=before, reason=why)
    points = tuple(CalibratedPoint(score=tenth, probability=whole.probability(tenth)) for tenth in TENTHS)
    fitted_at = dict(zip((record.index for record in scored), fitted, strict=True))
    after = design.reliability(scored, lambda record: fitted_at[record.index], lambda record: record.included)
    return CalibratedScore(**counts, method=method, before=before, after=after, points=points)
