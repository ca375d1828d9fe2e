"""The score for inclusion: the one number by which a record is put before another, whatever the model's endpoint gives.

| the batch's decided records | the score of a record |
|---|---|
| at least 99 % have a probability, from the tokens of the answer | the probability |
| else, at least 99 % have a grade of relevance | the grade, of 100 |
| else | the confidence of an inclusion; of an exclusion what is left to 1 |

One batch has one scale: 0.9 on one of them is not 0.9 on another, so two are never mixed. The few records that have no
number on the batch's scale have no score, and count as referred to a human. No label has a say in the choice, so what
is promised of a threshold on the score holds on each scale.
"""

from enum import StrEnum

from tamis_schemas.values.frozen import Frozen

DIGITS = 12  # of a score: 1 - 0.9 is to tie with 0.1
MOST = 100  # a grade of relevance
ENOUGH = 0.99  # of the decided records


class ScoreScale(StrEnum):
    """The source of a batch's scores."""

    PROBABILITY = "probability"
    RELEVANCE = "relevance"
    CONFIDENCE = "confidence"


class ScoreBasis(Frozen):
    """The scale of a batch's scores, and how many records of the batch have each."""

    scale: ScoreScale = ScoreScale.CONFIDENCE
    decided: int = 0  # records that the model included or excluded
    with_probability: int = 0  # of them
    with_relevance: int = 0  # of them

    @classmethod
    def counted(cls, decided: int, with_probability: int, with_relevance: int) -> "ScoreBasis":
        """The scale of so many decided records."""
        scale = ScoreScale.CONFIDENCE
        if decided and with_probability >= ENOUGH * decided:
            scale = ScoreScale.PROBABILITY
        elif decided and with_relevance >= ENOUGH * decided:
            scale = ScoreScale.RELEVANCE
        return cls(scale=scale, decided=decided, with_probability=with_probability, with_relevance=with_relevance)

    @property
    def without(self) -> int:
        """Decided records that have no number on the scale."""
        having = {ScoreScale.PROBABILITY: self.with_probability, ScoreScale.RELEVANCE: self.with_relevance}
        return self.decided - having.get(self.scale, self.decided)


def inclusion_score(
    included: bool,
    confidence: float,
    *,
    scale: ScoreScale = ScoreScale.CONFIDENCE,
    probability: float | None = None,
    relevance: float | None = None,
) -> float | None:
    """A model's support for the inclusion of a record that it decided, 0 to 1; None: it has none on this scale."""
    match scale:
        case ScoreScale.PROBABILITY:
            return probability
        case ScoreScale.RELEVANCE:
            return None if relevance is None else relevance / MOST
    return confidence if included else round(1 - confidence, DIGITS)
