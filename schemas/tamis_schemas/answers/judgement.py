"""A judgement of the evidence behind a classification, and the factors that lower confidences."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from pydantic import Field

from ..values.frozen import Frozen
from .results import Confidence

QUOTE_PENALTY: Final = 0.5  # share of a confidence that is lost if no quote is in the record


class EvidenceType(StrEnum):
    """The kind of support that a model's reasoning gives to its classification."""

    EXPLICIT = "explicit"  # a direct statement: a stated age, a title
    CONTEXTUAL = "contextual"  # a strong inference: a graduation year for an age
    WEAK = "weak"  # an indirect signal that barely supports the value
    INAPPROPRIATE = "inappropriate"  # the wrong kind of evidence: products for an age
    UNKNOWN = "unknown"  # none of the four; never in the ledger, because such an answer is an error


class Judgement(Frozen):
    """The judging model's answer on a classification, with the original and the adjusted confidence.

    A `blocked` classification should be discarded: the quality of its evidence is below the batch's threshold.
    """

    is_valid: bool
    quality_score: float = Field(ge=0.0, le=1.0)
    evidence_type: EvidenceType
    issue: str | None = None  # fault of the evidence
    original_confidence: Confidence = Field(ge=0.0, le=1.0)
    adjusted_confidence: Confidence = Field(ge=0.0, le=1.0)
    blocked: bool


def after_quotes(confidence: float, unverified: int, quotes: int) -> float:
    """Return a confidence, lowered if quotes are not in the record. Without quotes, the confidence stays unchanged.

    Result: `confidence * (1 - 0.5 * unverified / quotes)`.
    """
    return confidence * (1 - QUOTE_PENALTY * unverified / quotes) if quotes else confidence


class Band(NamedTuple):
    """A range of evidence quality, 0 to 1. The factor `share` lowers a confidence less than the quality would."""

    low: float  # included
    high: float  # included
    most: float
    added: float

    def holds(self, quality: float) -> bool:
        """Return whether the quality is in the range."""
        return self.low <= quality <= self.high

    def share(self, quality: float) -> float:
        """Return the factor for a confidence: `min(most, quality + added)`."""
        return min(self.most, quality + self.added)


_BANDS: Final[Mapping[EvidenceType, Band]] = {
    EvidenceType.CONTEXTUAL: Band(0.6, 0.8, 0.85, 0.15),
    EvidenceType.WEAK: Band(0.3, 0.5, 0.65, 0.25),
}


def milder_band(evidence_type: EvidenceType, quality: float) -> Band | None:
    """Return the band for this type and quality of evidence; None if there is no band.

    Without a band, a confidence is multiplied by the quality itself.
    """
    band = _BANDS.get(evidence_type)
    return band if band is not None and band.holds(quality) else None
