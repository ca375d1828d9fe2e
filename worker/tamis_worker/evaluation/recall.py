"""Context recall: did the search find all that a value needs? An estimate, a warning, and a model's own judgement."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tamis_schemas import Chunk, Evaluation, RecallAnswer, Retrieval
from tamis_schemas.records.chunk import BM25, KNN, distinct

from .metric_result import (
    PLACES,
    ChunkLike,
    ExtractionLike,
    as_model,
    category,
    chunks_of,
    extractions_of,
    no_value,
    score,
)

HEURISTIC, LLM, WARNING = "context_recall_heuristic", "context_recall_llm", "recall_warning"
HIT_RETRIEVAL_LIMIT = "HIT_RETRIEVAL_LIMIT"
HIGH_THRESHOLD_FILTERING = "HIGH_THRESHOLD_FILTERING"

RECALL_THRESHOLD = 0.7  # under it a model is asked
LEFT_BY_LIMIT = 0.7  # of a score
LEFT_BY_FILTERING = 0.85
FEW = 0.5  # of what was retrieved: fewer chunks left mean that score thresholds took too many

NOT_ASKED = "not asked: the heuristic is not under the threshold, and no limit was hit"

RetrievalLike: TypeAlias = Retrieval | Mapping[str, Any] | None


def context_recall_heuristic(
    extractions: Iterable[ExtractionLike], chunks: Iterable[ChunkLike], retrieval: RetrievalLike = None
) -> Evaluation:
    """The share of the chunks that are cited, times 0.7 where a limit was hit, else 0.85 where much was filtered out.

    Rounded to three places (spec 4). A chunk that two methods found is one chunk; a number without a chunk cites none.
    """
    chunks = chunks_of(chunks)
    if not chunks:
        return no_value(HEURISTIC, "score", "no chunks")
    available = len(distinct(chunks))
    cited = {each.chunk_number for each in extractions_of(extractions) if each.chunk_number is not None}
    recall = sum(number <= available for number in cited) / available
    left = {HIT_RETRIEVAL_LIMIT: LEFT_BY_LIMIT, HIGH_THRESHOLD_FILTERING: LEFT_BY_FILTERING}
    recall *= left.get(_warning(chunks, as_model(Retrieval, retrieval or {})) or "", 1.0)
    return score(HEURISTIC, round(recall, PLACES))


def recall_warning(chunks: Iterable[ChunkLike], retrieval: RetrievalLike = None) -> Evaluation:
    """`HIT_RETRIEVAL_LIMIT`, else `HIGH_THRESHOLD_FILTERING`, where either is the case (spec 4)."""
    chunks, bounds = chunks_of(chunks), as_model(Retrieval, retrieval or {})
    if not chunks:
        return no_value(WARNING, "categorical", "no chunks")
    if bounds == Retrieval():
        return no_value(WARNING, "categorical", "neither the limits of the search nor its total are given")
    warning = _warning(chunks, bounds)
    if warning is None:
        return no_value(WARNING, "categorical", "nothing to warn of")
    return category(WARNING, warning)


def escalates(heuristic: Evaluation, warning: Evaluation, threshold: float = RECALL_THRESHOLD) -> bool:
    """Whether a model is to be asked: the heuristic is under the threshold, or a limit was hit (spec 4, section 6)."""
    low = isinstance(heuristic.value, float) and heuristic.value < threshold
    return low or warning.value == HIT_RETRIEVAL_LIMIT


def context_recall_llm(answer: RecallAnswer | Mapping[str, Any] | None, reason: str = NOT_ASKED) -> Evaluation:
    """The score that a model gave; `reason` says why there is no answer."""
    if answer is None:
        return no_value(LLM, "score", reason)
    return score(LLM, as_model(RecallAnswer, answer).score)


def _warning(chunks: Sequence[Chunk], retrieval: Retrieval) -> str | None:
    for method, limit in ((BM25, retrieval.bm25_limit), (KNN, retrieval.knn_limit)):
        if limit is not None and sum(chunk.found_by(method) for chunk in chunks) >= limit:
            return HIT_RETRIEVAL_LIMIT
    total = retrieval.total_before_filter
    if total is not None and len(chunks) / max(total, 1) < FEW:
        return HIGH_THRESHOLD_FILTERING
    return None
