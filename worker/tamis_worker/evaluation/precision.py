"""Context precision: do the chunks that values were taken from stand at the top of the ranking?"""

from collections.abc import Iterable

from tamis_schemas import Evaluation

from .metric_result import PLACES, GivenExtraction, extractions_of, score, without

LABEL = "context_precision"
TOP = 10


def context_precision(extractions: Iterable[GivenExtraction]) -> Evaluation:
    """Cited chunks among the first ten, of the chunks cited, or of ten where more are cited (spec 4)."""
    cited = {one.chunk_number for one in extractions_of(extractions) if one.chunk_number is not None}
    if not cited:
        return without(LABEL, "score", "no extraction cites a chunk")
    at_the_top = sum(number <= TOP for number in cited)
    return score(LABEL, round(at_the_top / min(TOP, len(cited)), PLACES))
