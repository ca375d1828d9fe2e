"""Context precision: do the chunks that values were taken from stand at the top of the ranking?"""

from collections.abc import Iterable

from tamis_schemas import Evaluation

from .metric_result import PLACES, ExtractionLike, extractions_of, no_value, score

LABEL = "context_precision"
TOP = 10


def context_precision(extractions: Iterable[ExtractionLike]) -> Evaluation:
    """Cited chunks among the first ten, of the chunks cited, or of ten where more are cited (spec 4)."""
    cited = {each.chunk_number for each in extractions_of(extractions) if each.chunk_number is not None}
    if not cited:
        return no_value(LABEL, "score", "no extraction cites a chunk")
    at_the_top = sum(number <= TOP for number in cited)
    return score(LABEL, round(at_the_top / min(TOP, len(cited)), PLACES))
