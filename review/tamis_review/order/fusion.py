"""Fusion: the model's score and the text model's, weighted by how well each tells what people included so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tamis_schemas.extras import needs

from .logistic import predict, regress
from .normal_scores import normal_scores
from .text_features import EXTRA, TextFeatures
from .text_model import train

if TYPE_CHECKING:
    import numpy as np
from typing import TYPE_CHECKING

from .exploration import by_chance

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, eq=False)
class Unseen:
    """The decided records, each judged by a text model that was trained on others alone."""

    rows: "np.ndarray"
    included: "np.ndarray"  # 1 or 0
    text: "np.ndarray"  # the normal score of its place among those that the same model was not trained on
    margins: "np.ndarray"  # of the sharp machine; the broad one's grow with the number of labels
    unread_margins: "np.ndarray"  # of the unread rows, the mean over the same models


def judge_unseen(
    features: TextFeatures, unread: "np.ndarray", labels: Mapping[int, bool], *, folds: int, seed: int
) -> Unseen:
    """Judge each decided record by a model of the other folds.

    Args:
        features: of all records.
        unread: the rows without a label.
        labels: by row, True for included; at least as many of each kind as there are folds.
        folds: two or more.
        seed: deals includes and excludes to the folds, each in turn.
    """
    import numpy as np

    dealt = [by_chance([row for row in labels if labels[row] is kind], seed) for kind in (True, False)]
    parts, unread_margins = [], np.zeros(len(unread))
    for fold in range(folds):
        held = np.asarray([row for kind in dealt for row in kind[fold::folds]], dtype=np.int64)
        margins = train(features, {row: labels[row] for row in labels.keys() - set(held.tolist())})
        text = normal_scores(-margins.places(np.concatenate([held, unread]), len(labels)))[: len(held)]
        included = np.asarray([labels[row] for row in held.tolist()], dtype=np.float64)
        parts.append((held, included, text, margins.sharp[held]))
        unread_margins += margins.sharp[unread] / folds
    rows, said, texts, judged = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Unseen(rows, said, texts, judged, unread_margins)


FOLDS = 5
UNDECIDED = 0.5  # the score of a record that has none
FEWEST = 5  # includes, and excludes, for a probability
HALF_WAY = 10.0  # includes at which the text model is expected to weigh as much as the score
SPREAD = 0.5  # of a weight about what is expected
SMALLEST = 1e-6  # standard deviation of margins: where all are the same they say nothing


@dataclass(frozen=True, eq=False)
class Fused:
    """What is known of every record that nobody has decided on: arrays with one value for each of `rows`."""

    rows: "np.ndarray"
    order: "np.ndarray"  # the higher the sooner
    model: "np.ndarray | None"  # the model's score as a normal score; None where no record has one
    text: "np.ndarray | None"  # the same of the text model; None without an include or without an exclude
    text_weight: float  # of text beside model, 0 to 1
    probability: "np.ndarray | None"  # of inclusion; None with too few decisions


def fuse(features: TextFeatures, scores: Sequence[float | None], labels: Mapping[int, bool], *, seed: int = 0) -> Fused:
    """Return one value for each record without a label, from its score and its text.

    Scores and text are normal scores of their places. The order is text_weight * text + (1 - text_weight) * model; the
    weights are those of a logistic regression of the decided records, whose text is judged by a model that was
    not trained on them, and which begins at i / (i + `HALF_WAY`) for the text with i includes (`regress`).
    """
    with needs(EXTRA):
        import numpy as np
    given = np.asarray([UNDECIDED if score is None else score for score in scores], dtype=np.float64)
    model = normal_scores(given) if any(score is not None for score in scores) else None
    rows = np.asarray([row for row in range(len(features)) if row not in labels], dtype=np.int64)
    of_rows = None if model is None else model[rows]
    included = sum(labels.values())
    fewest = min(included, len(labels) - included)
    if not fewest or not len(rows):
        return Fused(rows, np.zeros(len(rows)) if of_rows is None else of_rows, of_rows, None, 0.0, None)
    margins = train(features, labels)
    text = normal_scores(-margins.places(rows, len(labels)))
    if fewest == 1:
        weight = 1.0 if model is None else _expected(included)
        order = text if of_rows is None else weight * text + (1 - weight) * of_rows
        return Fused(rows, order, of_rows, text, weight, None)
    unseen = judge_unseen(features, rows, labels, folds=min(FOLDS, fewest), seed=seed)
    weight = 1.0 if model is None else _text_weight(unseen, model, included)
    order = text if of_rows is None else weight * text + (1 - weight) * of_rows
    return Fused(
        rows=rows,
        order=order,
        model=of_rows,
        text=text,
        text_weight=weight,
        probability=_probability(unseen, rows, model) if fewest >= FEWEST else None,
    )


def _expected(included: int) -> float:
    """Return the text model's weight that is expected after so many includes, whatever they say of it."""
    return included / (included + HALF_WAY)


def _text_weight(unseen: Unseen, model: "np.ndarray", included: int) -> float:
    """Return the weight of text beside model, by what tells the included records from the excluded ones."""
    import numpy as np

    expected = _expected(included)
    columns = np.column_stack([unseen.text, model[unseen.rows]])
    _, *weights = regress(columns, unseen.included, expected=[expected, 1 - expected], spread=SPREAD)
    text, score = (max(0.0, float(weight)) for weight in weights)
    return text / (text + score) if text + score else expected


def _probability(unseen: Unseen, rows: "np.ndarray", model: "np.ndarray | None") -> "np.ndarray":
    """Return the probability of inclusion of rows by the sharp machine's margin and by the score."""
    import numpy as np

    def columns(margins: "np.ndarray", at: "np.ndarray") -> "np.ndarray":
        return np.column_stack([margins] if model is None else [margins, model[at]])

    known = columns(unseen.margins, unseen.rows)
    centre, scale = known.mean(axis=0), np.maximum(known.std(axis=0), SMALLEST)
    weights = regress((known - centre) / scale, unseen.included, expected=[1.0] * known.shape[1], spread=1.0)
    return predict((columns(unseen.unread_margins, rows) - centre) / scale, weights)
