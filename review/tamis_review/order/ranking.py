"""The reading order: the undecided records that a person should read next.

The ranks of the language model's score and of the text model's score are added with weights. A logistic regression of
people's decisions gives the weights: the better a score separates the includes, the higher its weight. The regression
has a prior around expected weights, so a few decisions hardly change the weights.

A place in the order is a rank, not a probability. People read the likeliest records first, so the share of includes
among the records read does not hold for the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tamis_schemas import ReadingReason
from tamis_schemas.extras import needs
from tamis_schemas.records.random_order import sample

from .text_features import EXTRA, TextFeatures, train

if TYPE_CHECKING:
    import numpy as np

FOLDS = 5
UNDECIDED = 0.5  # score of a record without a score
HALF_WAY = 10.0  # includes at which text model and score have equal expected weight
SPREAD = 0.5  # of a weight around its expectation
INTERCEPT_SPREAD = 10.0  # wide: the data set the intercept
STEPS = 100  # of Newton's method; usually about eight
ENOUGH = 1e-9  # length of a step without effect


@dataclass(frozen=True, slots=True)
class Ranked:
    """An undecided record in the reading order, with the reason for its place."""

    row: int  # place in the given sequences
    why: ReadingReason


@dataclass(frozen=True)
class Ranking:
    """The unread records in reading order, beginning with the next record."""

    records: tuple[Ranked, ...]
    text_weight: float  # share of the text model in the order, 0 to 1; the rest is the model's score
    included: int  # records that people included


@dataclass(frozen=True, eq=False)
class Fused:
    """The figures that order the undecided records. Each array has a value for each record of `rows`."""

    rows: "np.ndarray"
    order: "np.ndarray"  # higher comes sooner
    model: "np.ndarray | None"  # the model's score as a normal score; None if no record has a score
    text: "np.ndarray | None"  # the text model's score as a normal score; None before people include and exclude
    text_weight: float  # share of the text model in `order`, 0 to 1


@dataclass(frozen=True, eq=False)
class Unseen:
    """The decided records, each judged by a text model trained on other records."""

    rows: "np.ndarray"
    included: "np.ndarray"  # 1 or 0
    text: "np.ndarray"  # normal score of the record's rank among the records outside the model's training


def rank(
    features: TextFeatures, scores: Sequence[float | None], labels: Mapping[int, bool], *, seed: int = 0
) -> Ranking:
    """Return the records without a label, in reading order.

    The order comes from the scores, and from a text model that is trained on the labels. Until people have included one
    record and excluded another, the scores alone decide; without scores the order is random. Equal arguments give equal
    orders.

    Args:
        features: the text features of all records.
        scores: the model's scores of all records, 0 to 1, higher for inclusion. None counts as `UNDECIDED`.
        labels: row -> people's decision, True for included.
        seed: decides the order of ties, and the folds of the text model's test.

    Raises:
        ValueError: there is not one score per record, or a score or the row of a label is out of range.
        ConfigurationError: the extra `order` is not installed.
    """
    _check(features, scores, labels)
    fused = fuse(features, scores, labels, seed=seed)
    unread = fused.rows.tolist()
    at = {row: place for place, row in enumerate(unread)}
    drawn = [at[row] for row in sample(unread, len(unread), seed=seed)]  # ties keep this random order
    best = sorted(drawn, key=(-fused.order).tolist().__getitem__)
    why = _why(fused)
    return Ranking(
        records=tuple(Ranked(unread[place], why[place]) for place in best),
        text_weight=fused.text_weight,
        included=sum(labels.values()),
    )


def _why(fused: Fused) -> list[ReadingReason]:
    """Return the reason for each record's place in the order: its text, the model's score, both, or chance.

    The figure that orders the records is the sum of a part from the text and a part from the model's score. The reason
    is "both" if both parts are positive, and the smaller part is at least half the larger. Without scores and a text
    model, the reason is chance.
    """
    if fused.text is None:
        return [ReadingReason.EXPLORATION if fused.model is None else ReadingReason.MODEL] * len(fused.rows)
    if fused.model is None:
        return [ReadingReason.TEXT] * len(fused.rows)
    texts, models = fused.text_weight * fused.text, (1 - fused.text_weight) * fused.model
    return [_larger(text, model) for text, model in zip(texts.tolist(), models.tolist(), strict=True)]


def _larger(text: float, model: float) -> ReadingReason:
    if min(text, model) >= max(text, model) / 2 > 0:
        return ReadingReason.BOTH
    return ReadingReason.TEXT if text > model else ReadingReason.MODEL


def _check(features: TextFeatures, scores: Sequence[float | None], labels: Mapping[int, bool]) -> None:
    if len(scores) != len(features):
        raise ValueError(f"{len(scores)} scores for {len(features)} texts: give None for a record without a score")
    if outside := [row for row in labels if not 0 <= row < len(features)]:
        raise ValueError(f"there is a label for row {outside[0]}, but the rows are 0 to {len(features) - 1}")
    for row, score in enumerate(scores):
        if score is not None and not 0 <= score <= 1:
            raise ValueError(f"the score of row {row} is {score!r}, but must be between 0 and 1")


def fuse(features: TextFeatures, scores: Sequence[float | None], labels: Mapping[int, bool], *, seed: int = 0) -> Fused:
    """Return the figures that order the records without a label, from their scores and texts.

    `text` and `model` are normal quantiles of ranks, and order = text_weight * text + (1 - text_weight) * model. The
    weight comes from a logistic regression of the decided records (`regress`). The weight's expected value is i / (i +
    `HALF_WAY`), with i the number of includes.
    """
    with needs(EXTRA):
        import numpy as np
    numbers = np.asarray([UNDECIDED if score is None else score for score in scores], dtype=np.float64)
    model = normal_scores(numbers) if any(score is not None for score in scores) else None
    rows = np.asarray([row for row in range(len(features)) if row not in labels], dtype=np.int64)
    of_rows = None if model is None else model[rows]
    included = sum(labels.values())
    fewest = min(included, len(labels) - included)
    if not fewest or not len(rows):
        return Fused(rows, np.zeros(len(rows)) if of_rows is None else of_rows, of_rows, None, 0.0)
    text = normal_scores(-train(features, labels).places(rows, len(labels)))
    unseen = None if fewest == 1 else judge_unseen(features, rows, labels, folds=min(FOLDS, fewest), seed=seed)
    weight = 1.0 if model is None else _text_weight(unseen, model, included)
    order = text if of_rows is None else weight * text + (1 - weight) * of_rows
    return Fused(rows, order, of_rows, text, weight)


def _text_weight(unseen: Unseen | None, model: "np.ndarray", included: int) -> float:
    """Return the text model's share in the order, 0 to 1, from a regression of people's decisions on text and score.

    If `unseen` is None, return the share expected after `included` includes.
    """
    import numpy as np

    expected = included / (included + HALF_WAY)
    if unseen is None:
        return expected
    columns = np.column_stack([unseen.text, model[unseen.rows]])
    _, *weights = regress(columns, unseen.included, expected=[expected, 1 - expected], spread=SPREAD)
    text, score = (max(0.0, float(weight)) for weight in weights)
    return text / (text + score) if text + score else expected


def judge_unseen(
    features: TextFeatures, unread: "np.ndarray", labels: Mapping[int, bool], *, folds: int, seed: int
) -> Unseen:
    """Return the decided records, each judged by a text model that was trained on the other folds.

    Args:
        features: the text features of all records.
        unread: the rows without a label.
        labels: row -> people's decision, True for included; at least `folds` includes and `folds` excludes.
        folds: the number of parts into which the decided records are divided, two or more.
        seed: decides the fold of each record.
    """
    import numpy as np

    dealt = [sample((row for row in labels if labels[row] is kind), len(labels), seed=seed) for kind in (True, False)]
    parts = []
    for fold in range(folds):
        held = np.asarray([row for kind in dealt for row in kind[fold::folds]], dtype=np.int64)
        margins = train(features, {row: labels[row] for row in labels.keys() - set(held.tolist())})
        text = normal_scores(-margins.places(np.concatenate([held, unread]), len(labels)))[: len(held)]
        included = np.asarray([labels[row] for row in held.tolist()], dtype=np.float64)
        parts.append((held, included, text))
    rows, decisions, texts = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Unseen(rows, decisions, texts)


def regress(columns: "np.ndarray", included: "np.ndarray", *, expected: Sequence[float], spread: float) -> "np.ndarray":
    """Return the most probable intercept, then the most probable weight of each column, by logistic regression.

    The result maximises log L - sum of (weight - expected)^2 / (2 spread^2). L is the likelihood of the records. The
    sum is a normal prior of the weights.

    Args:
        columns: a row per record, a column per value.
        included: 1 for an include, 0 for an exclude.
        expected: the expected weight of each column.
        spread: the standard deviation of weights around their expectation.
    """
    import numpy as np
    from scipy.special import expit, log_expit

    with_ones = np.column_stack([np.ones(len(columns)), columns])
    centre = np.asarray([0.0, *expected])
    precision = np.asarray([INTERCEPT_SPREAD**-2] + [spread**-2] * len(expected))

    def loss(weights: "np.ndarray") -> float:
        likelihood = included * log_expit(with_ones @ weights) + (1 - included) * log_expit(-(with_ones @ weights))
        return float(precision @ (weights - centre) ** 2 / 2 - likelihood.sum())

    weights = centre.copy()
    for _ in range(STEPS):
        probability = expit(with_ones @ weights)
        slope = with_ones.T @ (included - probability) - precision * (weights - centre)
        curve = (with_ones.T * (probability * (1 - probability))) @ with_ones + np.diag(precision)
        step = np.linalg.solve(curve, slope)
        while loss(weights + step) > loss(weights) and np.abs(step).max() > ENOUGH:
            step /= 2  # Newton's method may overshoot
        weights = weights + step
        if np.abs(step).max() <= ENOUGH:
            break
    return weights


def normal_scores(values: "np.ndarray") -> "np.ndarray":
    """Return the normal quantile of (midrank - 1/2) / n for each of n values. Equal values have equal scores."""
    import numpy as np
    from scipy.special import ndtri

    # Midranks as from `scipy.stats.rankdata`, whose import takes half a second.
    _, at, times = np.unique(values, return_inverse=True, return_counts=True)
    midranks = (np.cumsum(times) - (times - 1) / 2)[at]
    return np.asarray(ndtri((midranks - 0.5) / len(values)))
