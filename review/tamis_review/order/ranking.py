"""The reading order: which of the records that nobody has decided on a person should read next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tamis_schemas.extras import needs

from .exploration import EXPLORE, by_chance, with_exploration
from .fusion import Fused, fuse
from .text_features import EXTRA, TextFeatures

if TYPE_CHECKING:
    import numpy as np


class Why(StrEnum):
    """The reason why a record stands at its place."""

    MODEL = "model"  # the model's score
    TEXT = "text"  # its text reads as those of the records that people included
    BOTH = "both"
    EXPLORATION = "exploration"  # chance drew it


@dataclass(frozen=True, slots=True)
class Ranked:
    """A record that nobody has decided on."""

    row: int  # its place in the sequences that were given
    why: Why
    probability: float | None  # that people include it; None as long as there are too few decisions
    model_rank: int | None  # its place among the unread by the model's score alone, from 1; None without any score
    text_rank: int | None  # the same by the text model alone; None as long as there is none


@dataclass(frozen=True)
class Ranking:
    """The unread records, the one to read next first."""

    records: tuple[Ranked, ...]
    text_weight: float  # the text model's share in the order, 0 to 1; the rest is the model's score
    decided: int
    included: int


def rank(
    features: TextFeatures,
    scores: Sequence[float | None],
    labels: Mapping[int, bool],
    *,
    seed: int = 0,
    explore: float = EXPLORE,
) -> Ranking:
    """Return the records without a label in the order in which a person should read them.

    As long as people have not included one and excluded another: by score, highest first; without any score as the seed
    draws. Then by the probability of inclusion that score and text model together give (`fusion.fuse`). Of the places a
    share of `explore` goes to records that chance draws. The same seed and labels give the same order.

    Args:
        features: of all records.
        scores: for inclusion, of all records, 0 to 1; None where a record has none, which counts as 0.5.
        labels: by row, True for included: what people decided.
        seed: draws what chance decides: the order of equals, folds, and exploration.
        explore: the share of places that go to chance, 0 to 1.

    Raises:
        ValueError: the arguments do not belong together.
        ConfigurationError: the extra `order` is not installed.
    """
    _check(features, scores, labels, explore)
    with needs(EXTRA):
        import numpy as np
    fused = fuse(features, scores, labels, seed=seed)
    unread = fused.rows.tolist()
    at = {row: place for place, row in enumerate(unread)}
    equals = np.empty(len(unread), dtype=np.int64)  # equals are read in an order that chance draws, not in the file's
    equals[[at[row] for row in by_chance(unread, seed)]] = np.arange(len(unread))
    best = fused.rows[np.lexsort((equals, -fused.order))].tolist()
    order, drawn = with_exploration(best, read=len(labels), share=explore, seed=seed)
    model_ranks, text_ranks = (_ranks(values, equals) for values in (fused.model, fused.text))
    probability = None if fused.probability is None else fused.probability.tolist()
    why = _why(fused)
    return Ranking(
        records=tuple(
            Ranked(
                row,
                Why.EXPLORATION if row in drawn else why[at[row]],
                None if probability is None else probability[at[row]],
                None if model_ranks is None else model_ranks[at[row]],
                None if text_ranks is None else text_ranks[at[row]],
            )
            for row in order
        ),
        text_weight=fused.text_weight,
        decided=len(labels),
        included=sum(labels.values()),
    )


def _why(fused: Fused) -> list[Why]:
    """Return what puts each record where it is: a part counts that gives at least half of what the other one gives."""
    if fused.text is None:
        return [Why.EXPLORATION if fused.model is None else Why.MODEL] * len(fused.rows)
    if fused.model is None:
        return [Why.TEXT] * len(fused.rows)
    texts, models = fused.text_weight * fused.text, (1 - fused.text_weight) * fused.model
    return [_larger(text, model) for text, model in zip(texts.tolist(), models.tolist(), strict=True)]


def _larger(text: float, model: float) -> Why:
    if min(text, model) >= max(text, model) / 2 > 0:
        return Why.BOTH
    return Why.TEXT if text > model else Why.MODEL


def _ranks(values: "np.ndarray | None", equals: "np.ndarray") -> list[int] | None:
    """Return the place of each value, the largest first, from 1."""
    import numpy as np

    if values is None:
        return None
    places = np.empty(len(values), dtype=np.int64)
    places[np.lexsort((equals, -values))] = np.arange(1, len(values) + 1)
    ranks: list[int] = places.tolist()
    return ranks


def _check(features: TextFeatures, scores: Sequence[float | None], labels: Mapping[int, bool], explore: float) -> None:
    if len(scores) != len(features):
        raise ValueError(f"{len(scores)} scores for {len(features)} texts: give None where a record has no score")
    if outside := [row for row in labels if not 0 <= row < len(features)]:
        raise ValueError(f"there is a label for row {outside[0]}, but rows go from 0 to {len(features) - 1}")
    for row, score in enumerate(scores):
        if score is not None and not 0 <= score <= 1:
            raise ValueError(f"the score of row {row} is {score!r}, but it lies between 0 and 1")
    if not 0 <= explore <= 1:
        raise ValueError(f"explore is {explore!r}, but it is a share of places: 0 to 1")
