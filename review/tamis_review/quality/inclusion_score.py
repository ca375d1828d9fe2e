"""The score for inclusion: one number that ranks records, for every kind of endpoint.

| the batch's decided records | the score of a record |
|---|---|
| at least 99 % have a probability, from the tokens of the answer | the probability |
| if not: at least 99 % have a grade of relevance, 0 to 100 | the grade / 100 |
| if neither | the confidence if the record is included, 1 - confidence if it is excluded |

All scores of a batch are on one scale, because equal scores of different scales have different meanings. A record
without a number on the scale has no score, and is referred to a human. Labels do not influence the choice of the scale,
so a threshold's guarantee holds on every scale.
"""

from enum import StrEnum

from tamis_schemas.values.frozen import Frozen

DIGITS = 12  # of a score, so that 1 - 0.9 ties with 0.1
MOST = 100  # largest grade of relevance
ENOUGH = 0.99  # share of the decided records


class ScoreScale(StrEnum):
    """The kind of number that a batch's scores come from."""

    PROBABILITY = "probability"
    RELEVANCE = "relevance"
    CONFIDENCE = "confidence"


class ScoreBasis(Frozen):
    """The kind of a batch's scores, and how many of the batch's records have a probability or a relevance."""

    scale: ScoreScale = ScoreScale.CONFIDENCE
    decided: int = 0  # records that the model included or excluded
    with_probability: int = 0  # of the decided records
    with_relevance: int = 0  # of the decided records

    @classmethod
    def counted(cls, decided: int, with_probability: int, with_relevance: int) -> "ScoreBasis":
        """Return the score basis of a batch with these counts.

        The scores are a kind of number that at least the share `ENOUGH` of the decided records have.
        """
        scale = ScoreScale.CONFIDENCE
        if decided and with_probability >= ENOUGH * decided:
            scale = ScoreScale.PROBABILITY
        elif decided and with_relevance >= ENOUGH * decided:
            scale = ScoreScale.RELEVANCE
        return cls(scale=scale, decided=decided, with_probability=with_probability, with_relevance=with_relevance)

    @property
    def without(self) -> int:
        """Return how many decided records lack the number that the batch's scores come from."""
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
    """Return how strongly a model's decision on a record supports its inclusion, from 0 to 1.

    Return None if the record lacks the number that `scale` uses.
    """
    match scale:
        case ScoreScale.PROBABILITY:
            return probability
        case ScoreScale.RELEVANCE:
            return None if relevance is None else relevance / MOST
    return confidence if included else round(1 - confidence, DIGITS)
