"""A judgement: what a judge said of the evidence behind a classification, and what follows for its confidence."""

from enum import StrEnum

from pydantic import Field

from ..values.frozen import Frozen
from .results import Confidence


class EvidenceType(StrEnum):
    """The kind of support that the reasoning behind a classification gives it (spec 5)."""

    EXPLICIT = "explicit"  # a direct statement: a stated age, a title
    CONTEXTUAL = "contextual"  # a strong inference: a graduation year for an age
    WEAK = "weak"  # an indirect signal that barely supports the value
    INAPPROPRIATE = "inappropriate"  # the wrong kind of evidence: products for an age
    UNKNOWN = "unknown"  # none of the four; never in the ledger, where such an answer is an error


class Judgement(Frozen):
    """The judge's answer, and the confidence before and after it.

    A classification that is `blocked` should not be kept at all: its evidence is below the batch's threshold.
    """

    is_valid: bool
    quality_score: float = Field(ge=0.0, le=1.0)
    evidence_type: EvidenceType
    issue: str | None = None  # what is wrong with the evidence
    original_confidence: Confidence = Field(ge=0.0, le=1.0)
    adjusted_confidence: Confidence = Field(ge=0.0, le=1.0)
    blocked: bool
