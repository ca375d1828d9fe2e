"""The metrics of one item: those of its chunks once, the others for each field."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ParamSpec

from tamis_schemas import Evaluation, Extraction, RecallAnswer, Retrieved
from tamis_schemas.answers.evaluation import MetricType

from . import agreement, extraction, precision, recall, relevance
from .metric_result import no_value

P = ParamSpec("P")

log = logging.getLogger(__name__)


class ItemMetrics:
    """The evaluations of one item with chunks; a metric that fails costs its figure, never the item."""

    def __init__(self, retrieved: Retrieved, extractions: Mapping[str, Sequence[Extraction]]) -> None:
        """`extractions` by field; an extraction of one value has one field, of the empty name."""
        self._chunks = retrieved.chunks
        self._extractions = extractions
        chunks, bounds = retrieved.chunks, retrieved.retrieval
        self._heuristics = {
            field: _guarded(recall.HEURISTIC, "score", recall.context_recall_heuristic, cited, chunks, bounds)
            for field, cited in extractions.items()
        }
        self._warning = _guarded(recall.WARNING, "categorical", recall.recall_warning, chunks, bounds)

    def in_doubt(self, threshold: float) -> list[str]:
        """The fields whose recall a model is to judge."""
        return [
            field
            for field, estimate in self._heuristics.items()
            if recall.escalates(estimate, self._warning, threshold)
        ]

    def evaluations(
        self, answers: Mapping[str, RecallAnswer], unanswered: str = "", in_doubt: Sequence[str] = ()
    ) -> tuple[Evaluation, ...]:
        """All of them; `answers` are a model's on recall, `unanswered` says why a field `in_doubt` has none."""
        of_item = [_guarded(relevance.LABEL, "score", relevance.context_relevance, self._chunks), self._warning]
        for field in self._extractions:
            reason = unanswered if field in in_doubt else recall.NOT_ASKED
            for evaluation in self._of_field(field, answers.get(field), reason):
                of_item.append(evaluation.model_copy(update={"field": field or None}))
        return tuple(of_item)

    def _of_field(self, field: str, answer: RecallAnswer | None, reason: str) -> Iterator[Evaluation]:
        extractions = self._extractions[field]
        yield _guarded(precision.LABEL, "score", precision.context_precision, extractions)
        yield self._heuristics[field]
        yield _guarded(recall.LLM, "score", recall.context_recall_llm, answer, reason)
        yield _guarded(extraction.CONFIDENCE, "score", extraction.aggregated_confidence, extractions)
        yield _guarded(extraction.VALIDATION, "categorical", extraction.semantic_validation, extractions)
        yield _guarded(agreement.AGREEMENT, "score", agreement.multi_source_agreement, extractions)
        yield _guarded(agreement.PATTERN, "categorical", agreement.agreement_pattern, extractions)


def _guarded(
    label: str, metric_type: MetricType, metric: Callable[P, Evaluation], *args: P.args, **kwargs: P.kwargs
) -> Evaluation:
    try:
        return metric(*args, **kwargs)
    except Exception:  # the rim of the metrics: the item keeps its result, and this figure says that it is missing
        log.exception("%s could not be computed", label)
        return no_value(label, metric_type, "could not be computed: the worker's log says why")
