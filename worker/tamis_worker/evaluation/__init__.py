"""Nine metrics of retrieval and extraction. Each gives a score, a category, or the reason for a missing value.

- **Context relevance.** Do the search's methods and scores suggest that the chunks are about the question?
- **Context precision.** Are the cited chunks at the top of the ranking?
- **Context recall.** Did the search find all that a value needs? An estimate, a warning, and a model's judgement.
- **Agreement.** Do several chunks give the same value?
- **Extraction quality.** How certain is a value, and does its evidence contain it?

Context relevance and the recall warning are computed once for an item, the other metrics for each field.

Each function takes pydantic models, or dicts with their fields, and returns an `Evaluation`. No function calls a
language model. The formulas are from docs/specification.md ("Spec 4: evaluation framework").
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar

from pydantic import BaseModel

from tamis_schemas import Chunk, Evaluation, Extraction, RecallAnswer, Retrieval, Retrieved
from tamis_schemas.answers.evaluation import MetricType
from tamis_schemas.answers.extraction import FieldExtractions
from tamis_schemas.records.chunk import BM25, KNN, distinct

from .grounding import says

__all__ = [
    "RECALL_THRESHOLD",
    "aggregated_confidence",
    "agreement_pattern",
    "context_precision",
    "context_recall_heuristic",
    "context_recall_llm",
    "context_relevance",
    "escalates",
    "multi_source_agreement",
    "recall_warning",
    "semantic_validation",
]

Model = TypeVar("Model", bound=BaseModel)
ChunkLike: TypeAlias = Chunk | Mapping[str, Any]
ExtractionLike: TypeAlias = Extraction | Mapping[str, Any]

PLACES = 3  # decimals to which spec 4 rounds precision, recall and agreement

PRECISION = "context_precision"
TOP = 10

RELEVANCE = "context_relevance"

WEIGHT_OF_INTERSECTION, WEIGHT_OF_SCORE, WEIGHT_OF_DIVERSITY = 0.4, 0.5, 0.1
PAGES = 5  # so many pages count as fully diverse

HEURISTIC, LLM, WARNING = "context_recall_heuristic", "context_recall_llm", "recall_warning"
HIT_RETRIEVAL_LIMIT = "HIT_RETRIEVAL_LIMIT"
HIGH_THRESHOLD_FILTERING = "HIGH_THRESHOLD_FILTERING"

RECALL_THRESHOLD = 0.7  # below it a model is asked
LEFT_BY_LIMIT = 0.7  # of a score
LEFT_BY_FILTERING = 0.85
FEW = 0.5  # of the retrieved chunks: if fewer are left, score thresholds removed too many

NOT_ASKED = "not asked: the heuristic is not below the threshold, and no limit was hit"

RetrievalLike: TypeAlias = Retrieval | Mapping[str, Any] | None

AGREEMENT, PATTERN = "multi_source_agreement", "agreement_pattern"

UNANIMOUS, MAJORITY, MIXED, CONFLICTING = "unanimous", "majority", "mixed", "conflicting"
PATTERNS = ((0.95, UNANIMOUS), (0.7, MAJORITY), (0.4, MIXED))  # for an agreement above; else conflicting

TOO_FEW = "fewer than two sources"

CONFIDENCE, VALIDATION = "aggregated_confidence", "semantic_validation"

CONFIDENCE_OF = {"HIGH": 0.90, "MEDIUM": 0.75, "LOW": 0.50}
OTHERWISE = 0.70
OF_PATTERN = {UNANIMOUS: "HIGH", MAJORITY: "MEDIUM", MIXED: "LOW", CONFLICTING: "LOW"}

PASS_RATE = 0.5

P = ParamSpec("P")

log = logging.getLogger(__name__)


def aggregated_confidence(
    extractions: Iterable[ExtractionLike], aggregation_confidence: str | None = None
) -> Evaluation:
    """Return the confidence in a value, from 0 to 1.

    If there is one source, and it has a confidence of its own, return that confidence. Otherwise a word for the
    agreement of the sources decides. HIGH gives 0.9, MEDIUM 0.75, and LOW 0.5. Any other word, or no word, gives 0.7.

    The word is `aggregation_confidence`. If that is None, the word is HIGH for unanimous sources, MEDIUM for a
    majority, and LOW otherwise. A single source has no word.
    """
    sources = [extraction for extraction in extractions_of(extractions) if extraction.value is not None]
    if not sources:
        return no_value(CONFIDENCE, "score", "nothing was extracted")
    if len(sources) == 1 and sources[0].confidence is not None:
        return score(CONFIDENCE, sources[0].confidence)
    if aggregation_confidence is None:
        aggregation_confidence = OF_PATTERN.get(str(agreement_pattern(sources).value), "")
    return score(CONFIDENCE, CONFIDENCE_OF.get(aggregation_confidence, OTHERWISE))


def semantic_validation(extractions: Iterable[ExtractionLike]) -> Evaluation:
    """Return `pass` if at least half of the values that have evidence are found in that evidence, else `fail`.

    Return `skipped` if no value has evidence. If a value was already checked against its chunk (`validated`), that
    verdict is used. Any other value is searched in its evidence.
    """
    verdicts = [verdict for verdict in map(_verdict_of, extractions_of(extractions)) if verdict is not None]
    if not verdicts:
        return category(VALIDATION, "skipped")
    return category(VALIDATION, "pass" if sum(verdicts) / len(verdicts) >= PASS_RATE else "fail")


def _verdict_of(extraction: Extraction) -> bool | None:
    if extraction.validated is not None:
        return extraction.validated
    if extraction.quote is not None or extraction.value is None or not (extraction.evidence or "").strip():
        return None
    return says(extraction.evidence or "", extraction.value)


def multi_source_agreement(results: Iterable[ExtractionLike]) -> Evaluation:
    """Return the share of sources with the most common value, to three places. 0, False and "" count as values."""
    agreement = _agreement(results)
    return no_value(AGREEMENT, "score", TOO_FEW) if agreement is None else score(AGREEMENT, round(agreement, PLACES))


def agreement_pattern(results: Iterable[ExtractionLike]) -> Evaluation:
    """Return a word for the share of sources with the most common value.

    The word is `unanimous` above 0.95, `majority` above 0.7, `mixed` above 0.4, otherwise `conflicting`. The share is
    not rounded.
    """
    agreement = _agreement(results)
    if agreement is None:
        return no_value(PATTERN, "categorical", TOO_FEW)
    return category(PATTERN, next((name for above, name in PATTERNS if agreement > above), CONFLICTING))


def _agreement(results: Iterable[ExtractionLike]) -> float | None:
    values = [_comparable(extraction.value) for extraction in extractions_of(results) if extraction.value is not None]
    if len(values) < 2:
        return None
    ((_, count),) = Counter(values).most_common(1)
    return count / len(values)


def _comparable(value: Any) -> tuple[str, Any]:
    """Return a key to compare values by: 3 equals 3.0, True is not a number, and lists and objects become JSON."""
    match value:
        case bool():
            return "boolean", value
        case int() | float():
            return "number", value
        case str():
            return "text", value
    return "json", json.dumps(value, sort_keys=True, ensure_ascii=False)


def context_recall_heuristic(
    extractions: Iterable[ExtractionLike], chunks: Iterable[ChunkLike], retrieval: RetrievalLike = None
) -> Evaluation:
    """Return the share of the chunks that are cited, reduced by a factor if there is a `recall_warning`.

    The factor is 0.7 for `HIT_RETRIEVAL_LIMIT`, and 0.85 for `HIGH_THRESHOLD_FILTERING`. The result is rounded to three
    places. A chunk that two search methods found counts once. A citation of a number that no chunk has is ignored.
    """
    chunks = chunks_of(chunks)
    if not chunks:
        return no_value(HEURISTIC, "score", "no chunks")
    available = len(distinct(chunks))
    cited = _cited(extractions)
    recall = sum(number <= available for number in cited) / available
    left = {HIT_RETRIEVAL_LIMIT: LEFT_BY_LIMIT, HIGH_THRESHOLD_FILTERING: LEFT_BY_FILTERING}
    recall *= left.get(_warning(chunks, as_model(Retrieval, retrieval or {})) or "", 1.0)
    return score(HEURISTIC, round(recall, PLACES))


def recall_warning(chunks: Iterable[ChunkLike], retrieval: RetrievalLike = None) -> Evaluation:
    """Return the reason why the search may have missed chunks. Without such a reason, the evaluation has no value.

    `HIT_RETRIEVAL_LIMIT`: a search method reached its limit. `HIGH_THRESHOLD_FILTERING`: fewer than half of the chunks
    that the search found were kept.
    """
    chunks, bounds = chunks_of(chunks), as_model(Retrieval, retrieval or {})
    if not chunks:
        return no_value(WARNING, "categorical", "no chunks")
    if bounds == Retrieval():
        return no_value(WARNING, "categorical", "the limits and the total of the search are missing")
    warning = _warning(chunks, bounds)
    if warning is None:
        return no_value(WARNING, "categorical", "no cause for a warning")
    return category(WARNING, warning)


def escalates(heuristic: Evaluation, warning: Evaluation, threshold: float = RECALL_THRESHOLD) -> bool:
    """Return True if a model should judge recall: the estimate is below `threshold`, or a search hit its limit."""
    low = isinstance(heuristic.value, float) and heuristic.value < threshold
    return low or warning.value == HIT_RETRIEVAL_LIMIT


def context_recall_llm(answer: RecallAnswer | Mapping[str, Any] | None, reason: str = NOT_ASKED) -> Evaluation:
    """Return the score that a model gave to recall. If there is no answer, return an evaluation with `reason`."""
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


def context_relevance(chunks: Iterable[ChunkLike]) -> Evaluation:
    """Return how relevant the chunks are, from 0 to 1, not rounded.

    The result is `0.4 * intersection + 0.5 * mean score + 0.1 * diversity`. Intersection: the number of chunks that
    both search methods found, divided by the number that at least one found. Mean score: the mean of the chunks'
    scores, each clamped to 0 to 1. Diversity: min(1, distinct pages / 5).
    """
    chunks = chunks_of(chunks)
    if not chunks:
        return no_value(RELEVANCE, "score", "no chunks")
    lexical, semantic = _ids(chunks, BM25), _ids(chunks, KNN)
    intersection = len(lexical & semantic) / max(len(lexical | semantic), 1)
    scores = [min(1.0, max(0.0, chunk.score)) for chunk in chunks if chunk.score is not None]
    mean = min(1.0, sum(scores) / max(len(scores), 1))  # rounding may put a sum just above
    pages = {str(chunk.page).strip() for chunk in chunks if chunk.page is not None} - {""}
    diversity = min(len(pages) / PAGES, 1.0)
    combined = intersection * WEIGHT_OF_INTERSECTION + mean * WEIGHT_OF_SCORE + diversity * WEIGHT_OF_DIVERSITY
    return score(RELEVANCE, min(1.0, combined))


def _ids(chunks: list[Chunk], method: str) -> set[tuple[bool, str]]:
    """Return a key for each chunk that a search method found: `(True, id)`, or `(False, index)` without an id."""
    return {
        (chunk.id is not None, str(place) if chunk.id is None else chunk.id)
        for place, chunk in enumerate(chunks)
        if chunk.found_by(method)
    }


def context_precision(extractions: Iterable[ExtractionLike]) -> Evaluation:
    """Return the precision of the ranking: `(cited chunks among the first ten) / min(10, cited chunks)`."""
    cited = _cited(extractions)
    if not cited:
        return no_value(PRECISION, "score", "no extraction cites a chunk")
    at_the_top = sum(number <= TOP for number in cited)
    return score(PRECISION, round(at_the_top / min(TOP, len(cited)), PLACES))


def as_model(model: type[Model], value: Model | Mapping[str, Any]) -> Model:
    """Return the value as an object of `model`.

    If the value is invalid, raise pydantic's `ValidationError`, which is a `ValueError`.
    """
    return value if isinstance(value, model) else model.model_validate(dict(value))


def chunks_of(chunks: Iterable[ChunkLike]) -> list[Chunk]:
    """Return the chunks as objects of `Chunk`."""
    return [as_model(Chunk, chunk) for chunk in chunks]


def _cited(extractions: Iterable[ExtractionLike]) -> list[int]:
    return FieldExtractions(extractions=tuple(extractions_of(extractions))).contributing_chunks


def extractions_of(extractions: Iterable[ExtractionLike]) -> list[Extraction]:
    """Return the extractions as objects of `Extraction`."""
    return [as_model(Extraction, extraction) for extraction in extractions]


def score(label: str, value: float) -> Evaluation:
    """Return an evaluation with a number from 0 to 1."""
    return Evaluation(label=label, metric_type="score", value=float(value))


def category(label: str, value: str) -> Evaluation:
    """Return an evaluation with a category."""
    return Evaluation(label=label, metric_type="categorical", value=value)


def no_value(label: str, metric_type: MetricType, reason: str) -> Evaluation:
    """Return an evaluation without a value. `reason` explains why the value is missing."""
    return Evaluation(label=label, metric_type=metric_type, reason=reason)


class ItemMetrics:
    """The evaluations of one item with chunks. If a metric raises an error, only that metric's value is missing."""

    def __init__(self, retrieved: Retrieved, extractions: Mapping[str, Sequence[Extraction]]) -> None:
        """Compute the estimates of recall.

        `extractions` maps a field's name to its extractions. The name is empty if the item has only one value.
        """
        self._chunks = retrieved.chunks
        self._extractions = extractions
        chunks, bounds = retrieved.chunks, retrieved.retrieval
        self._heuristics = {
            field: _guarded(HEURISTIC, "score", context_recall_heuristic, cited, chunks, bounds)
            for field, cited in extractions.items()
        }
        self._warning = _guarded(WARNING, "categorical", recall_warning, chunks, bounds)

    def in_doubt(self, threshold: float) -> list[str]:
        """Return the names of the fields whose recall a model should judge.

        These are the fields with an estimate below `threshold`. If a search hit its limit, these are all fields.
        """
        return [field for field, estimate in self._heuristics.items() if escalates(estimate, self._warning, threshold)]

    def evaluations(
        self, answers: Mapping[str, RecallAnswer], unanswered: str = "", in_doubt: Sequence[str] = ()
    ) -> tuple[Evaluation, ...]:
        """Return the evaluations of all metrics.

        `in_doubt`: the fields whose recall a model was asked to judge. `answers`: the model's answers, by field.
        `unanswered`: the reason for a missing answer, if the question failed.
        """
        of_item = [_guarded(RELEVANCE, "score", context_relevance, self._chunks), self._warning]
        for field in self._extractions:
            reason = unanswered if field in in_doubt else NOT_ASKED
            for evaluation in self._of_field(field, answers.get(field), reason):
                of_item.append(evaluation.model_copy(update={"field": field or None}))
        return tuple(of_item)

    def _of_field(self, field: str, answer: RecallAnswer | None, reason: str) -> Iterator[Evaluation]:
        extractions = self._extractions[field]
        yield _guarded(PRECISION, "score", context_precision, extractions)
        yield self._heuristics[field]
        yield _guarded(LLM, "score", context_recall_llm, answer, reason)
        yield _guarded(CONFIDENCE, "score", aggregated_confidence, extractions)
        yield _guarded(VALIDATION, "categorical", semantic_validation, extractions)
        yield _guarded(AGREEMENT, "score", multi_source_agreement, extractions)
        yield _guarded(PATTERN, "categorical", agreement_pattern, extractions)


def _guarded(
    label: str, metric_type: MetricType, metric: Callable[P, Evaluation], *args: P.args, **kwargs: P.kwargs
) -> Evaluation:
    try:
        return metric(*args, **kwargs)
    except Exception:  # the item keeps its result, and this metric reports that it is missing
        log.exception("%s could not be computed", label)
        return no_value(label, metric_type, "could not be computed: see the worker's log")
