"""Context relevance: are the retrieved chunks about the question, as far as the search's own signals tell?"""

from collections.abc import Iterable

from tamis_schemas import Chunk, Evaluation
from tamis_schemas.records.chunk import BM25, KNN

from .metric_result import ChunkLike, chunks_of, no_value, score

LABEL = "context_relevance"

WEIGHT_OF_INTERSECTION, WEIGHT_OF_SCORE, WEIGHT_OF_DIVERSITY = 0.4, 0.5, 0.1
PAGES = 5  # so many pages are as diverse as can be


def context_relevance(chunks: Iterable[ChunkLike]) -> Evaluation:
    """`0.4 * intersection + 0.5 * mean score + 0.1 * diversity` (spec 4), not rounded.

    Intersection: chunks found by both methods, of those found by one of them. Mean score: over the chunks that have
    one; one below 0 counts as 0 and one above 1 as 1. Diversity: distinct pages, five and more being 1.
    """
    chunks = chunks_of(chunks)
    if not chunks:
        return no_value(LABEL, "score", "no chunks")
    lexical, semantic = _ids(chunks, BM25), _ids(chunks, KNN)
    intersection = len(lexical & semantic) / max(len(lexical | semantic), 1)
    scores = [min(1.0, max(0.0, chunk.score)) for chunk in chunks if chunk.score is not None]
    mean = min(1.0, sum(scores) / max(len(scores), 1))  # a sum may be off by its last bit
    pages = {str(chunk.page).strip() for chunk in chunks if chunk.page is not None} - {""}
    diversity = min(len(pages) / PAGES, 1.0)
    combined = intersection * WEIGHT_OF_INTERSECTION + mean * WEIGHT_OF_SCORE + diversity * WEIGHT_OF_DIVERSITY
    return score(LABEL, min(1.0, combined))


def _ids(chunks: list[Chunk], method: str) -> set[tuple[bool, str]]:
    """The ids of the chunks that a method found; a chunk without an id is told by its place."""
    return {
        (chunk.id is not None, str(place) if chunk.id is None else chunk.id)
        for place, chunk in enumerate(chunks)
        if chunk.found_by(method)
    }
