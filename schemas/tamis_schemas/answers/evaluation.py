"""An evaluation: the value of one metric for one result."""

from typing import Literal, Self

from pydantic import model_validator

from ..values.frozen import Frozen

MetricType = Literal["score", "categorical"]

METRICS = (  # as specified, in order
    *("context_relevance", "context_precision", "context_recall_heuristic", "context_recall_llm", "recall_warning"),
    *("aggregated_confidence", "semantic_validation"),
    *("multi_source_agreement", "agreement_pattern"),
)


def metric_rank(label: str) -> tuple[int, str]:
    """Return the sort key of a metric: metrics of `METRICS` first, in the order of that list, then others by name."""
    return (METRICS.index(label) if label in METRICS else len(METRICS), label)


class Evaluation(Frozen):
    """The value of one metric for one result, or the reason why there is no value; never both.

    A score is a number from 0 to 1. A categorical value is a word from a short list.
    """

    label: str  # name of the metric
    metric_type: MetricType
    value: float | str | None = None
    reason: str | None = None  # reason why there is no value
    field: str | None = None  # extracted field that the metric is about; None: the whole result

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if (self.value is None) == (self.reason is None):
            raise ValueError(f"{self.label}: needs either a value or a reason, not both")
        if self.value is not None and (self.metric_type == "categorical") != isinstance(self.value, str):
            raise ValueError(f"{self.label}: {self.value!r} is not a {self.metric_type} value")
        if isinstance(self.value, float) and not 0 <= self.value <= 1:
            raise ValueError(f"{self.label}: {self.value!r} is not between 0 and 1")
        return self
