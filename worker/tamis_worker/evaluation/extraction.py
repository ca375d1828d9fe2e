"""Extraction quality: how sure is a value, and is it in the words that it is said to come from?"""

from collections.abc import Iterable

from tamis_schemas import Evaluation, Extraction

from .agreement import CONFLICTING, MAJORITY, MIXED, UNANIMOUS, agreement_pattern
from .grounding import says
from .metric_result import ExtractionLike, category, extractions_of, no_value, score

CONFIDENCE, VALIDATION = "aggregated_confidence", "semantic_validation"

CONFIDENCE_OF = {"HIGH": 0.90, "MEDIUM": 0.75, "LOW": 0.50}
OTHERWISE = 0.70
OF_PATTERN = {UNANIMOUS: "HIGH", MAJORITY: "MEDIUM", MIXED: "LOW", CONFLICTING: "LOW"}

PASS_RATE = 0.5


def aggregated_confidence(
    extractions: Iterable[ExtractionLike], aggregation_confidence: str | None = None
) -> Evaluation:
    """The confidence of one source, or that of the agreement of several: HIGH 0.9, MEDIUM 0.75, LOW 0.5 (spec 4).

    `aggregation_confidence` None: HIGH where the sources are unanimous, MEDIUM where the majority agrees, else LOW. Any
    other word, and one source without a confidence, give 0.7.
    """
    sources = [each for each in extractions_of(extractions) if each.value is not None]
    if not sources:
        return no_value(CONFIDENCE, "score", "nothing was extracted")
    if len(sources) == 1 and sources[0].confidence is not None:
        return score(CONFIDENCE, sources[0].confidence)
    if aggregation_confidence is None:
        aggregation_confidence = OF_PATTERN.get(str(agreement_pattern(sources).value), "")
    return score(CONFIDENCE, CONFIDENCE_OF.get(aggregation_confidence, OTHERWISE))


def semantic_validation(extractions: Iterable[ExtractionLike]) -> Evaluation:
    """`pass` where half of the values with evidence, or more, are in their evidence, else `fail` (spec 4).

    `skipped` where none has evidence. What was validated against the chunks is taken as it was; any other value is
    compared with its evidence as given, see `says`.
    """
    verdicts = [verdict for each in extractions_of(extractions) if (verdict := _verdict(each)) is not None]
    if not verdicts:
        return category(VALIDATION, "skipped")
    return category(VALIDATION, "pass" if sum(verdicts) / len(verdicts) >= PASS_RATE else "fail")


def _verdict(extraction: Extraction) -> bool | None:
    if extraction.validated is not None:
        return extraction.validated
    if extraction.quote is not None or extraction.value is None or not (extraction.evidence or "").strip():
        return None
    return says(extraction.evidence or "", extraction.value)
