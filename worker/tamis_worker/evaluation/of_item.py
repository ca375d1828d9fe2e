"""The metrics of one item: those of its chunks once, the others for each field."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence

from tamis_schemas import Evaluation, Extraction, RecallAnswer, Retrieved
from tamis_schemas.answers.evaluation import MetricType

from . import agreement, extraction, precision, recall, relevance
from .metric_result import without

log = logging.getLogger(__name__)


class ItemMetrics:
    """What is to be said of one item with chunks; a metric that fails costs its figure, never the item."""

    def __init__(self, retrieved: Retrieved, extractions: Mapping[str, Sequence[Extraction]]) -> None:
        """`extractions` by field; an extraction of one value has one field, of the empty name."""
        self._chunks = retrieved.chunks
        self._retrieval = retrieved.retrieval
        self._extractions = extractions
        self._heuristics = {name: self._heuristic(found) for name, found in extractions.items()}
        self._warning = _guarded(
            recall.WARNING, "categorical", lambda: recall.recall_warning(self._chunks, self._retrieval)
        )

    def to_ask(self, threshold: float) -> list[str]:
        """The fields whose recall a model is to judge."""
        return [name for name, found in self._heuristics.items() if recall.escalates(found, self._warning, threshold)]

    def evaluations(
        self, answers: Mapping[str, RecallAnswer], unanswered: str = "", asked: Sequence[str] = ()
    ) -> tuple[Evaluation, ...]:
        """All of them; `answers` are a model's on recall, `unanswered` says why there is none for a field `asked`."""
        return (
            _guarded(relevance.LABEL, "score", lambda: relevance.context_relevance(self._chunks)),
            self._warning,
            *(
                one.model_copy(update={"field": name or None})
                for name, found in self._extractions.items()
                for one in self._of_field(
                    name, found, answers.get(name), unanswered if name in asked else recall.NOT_ASKED
                )
            ),
        )

    def _of_field(
        self, name: str, found: Sequence[Extraction], answer: RecallAnswer | None, reason: str
    ) -> Iterator[Evaluation]:
        yield _guarded(precision.LABEL, "score", lambda: precision.context_precision(found))
        yield self._heuristics[name]
        yield _guarded(recall.LLM, "score", lambda: recall.context_recall_llm(answer, reason))
        yield _guarded(extraction.CONFIDENCE, "score", lambda: extraction.aggregated_confidence(found))
        yield _guarded(extraction.VALIDATION, "categorical", lambda: extraction.semantic_validation(found))
        yield _guarded(agreement.AGREEMENT, "score", lambda: agreement.multi_source_agreement(found))
        yield _guarded(agreement.PATTERN, "categorical", lambda: agreement.agreement_pattern(found))

    def _heuristic(self, found: Sequence[Extraction]) -> Evaluation:
        return _guarded(
            recall.HEURISTIC,
            "score",
            lambda: recall.context_recall_heuristic(found, self._chunks, self._retrieval),
        )


def _guarded(label: str, metric_type: MetricType, metric: Callable[[], Evaluation]) -> Evaluation:
    try:
        return metric()
    except Exception:  # the rim of the metrics: the item keeps its result, and this figure says that it is missing
        log.exception("%s could not be computed", label)
        return without(label, metric_type, "could not be computed: the worker's log says why")
