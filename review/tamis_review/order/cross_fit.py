"""Decided records as text models see them that were not trained on them: what such a model is worth for the unread."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .exploration import by_chance
from .normal_scores import normal_scores
from .text_features import TextFeatures
from .text_model import train

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
