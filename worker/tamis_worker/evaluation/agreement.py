"""Agreement: do several chunks give the same value?"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tamis_schemas import Evaluation

from .metric_result import PLACES, ExtractionLike, category, extractions_of, no_value, score

AGREEMENT, PATTERN = "multi_source_agreement", "agreement_pattern"

UNANIMOUS, MAJORITY, MIXED, CONFLICTING = "unanimous", "majority", "mixed", "conflicting"
PATTERNS = ((0.95, UNANIMOUS), (0.7, MAJORITY), (0.4, MIXED))  # of an agreement above; else conflicting

TOO_FEW = "fewer than two sources"


def multi_source_agreement(results: Iterable[ExtractionLike]) -> Evaluation:
    """The share of the most common value, rounded to three places (spec 4); 0, False and "" are values."""
    agreement = _agreement(results)
    return no_value(AGREEMENT, "score", TOO_FEW) if agreement is None else score(AGREEMENT, round(agreement, PLACES))


def agreement_pattern(results: Iterable[ExtractionLike]) -> Evaluation:
    """`unanimous` above 0.95, `majority` above 0.7, `mixed` above 0.4, else `conflicting` (spec 4), before rounding."""
    agreement = _agreement(results)
    if agreement is None:
        return no_value(PATTERN, "categorical", TOO_FEW)
    return category(PATTERN, next((name for above, name in PATTERNS if agreement > above), CONFLICTING))


def _agreement(results: Iterable[ExtractionLike]) -> float | None:
    values = [_comparable(each.value) for each in extractions_of(results) if each.value is not None]
    if len(values) < 2:
        return None
    ((_, count),) = Counter(values).most_common(1)
    return count / len(values)


def _comparable(value: Any) -> tuple[str, Any]:
    """3 and 3.0 are one number, True is none; texts agree to the letter, lists and objects as JSON."""
    match value:
        case bool():
            return "boolean", value
        case int() | float():
            return "number", value
        case str():
            return "text", value
    return "json", json.dumps(value, sort_keys=True, ensure_ascii=False)
