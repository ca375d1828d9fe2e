"""What a metric is given, and what it says: a score, a category, or why there is neither."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from tamis_schemas import Chunk, Evaluation, Extraction
from tamis_schemas.answers.evaluation import MetricType

GivenChunk: TypeAlias = Chunk | Mapping[str, Any]
GivenExtraction: TypeAlias = Extraction | Mapping[str, Any]

PLACES = 3  # decimals to which spec 4 rounds precision, recall and agreement


def chunks_of(given: Iterable[GivenChunk]) -> list[Chunk]:
    """The chunks as models. Raises pydantic's `ValidationError`, a `ValueError`, for what is none."""
    return [one if isinstance(one, Chunk) else Chunk.model_validate(dict(one)) for one in given]


def extractions_of(given: Iterable[GivenExtraction]) -> list[Extraction]:
    """The extractions as models. Raises pydantic's `ValidationError`, a `ValueError`, for what is none."""
    return [one if isinstance(one, Extraction) else Extraction.model_validate(dict(one)) for one in given]


def score(label: str, value: float) -> Evaluation:
    """A number from 0 to 1."""
    return Evaluation(label=label, metric_type="score", value=float(value))


def category(label: str, value: str) -> Evaluation:
    """One of a few words."""
    return Evaluation(label=label, metric_type="categorical", value=value)


def without(label: str, metric_type: MetricType, reason: str) -> Evaluation:
    """No value, and why."""
    return Evaluation(label=label, metric_type=metric_type, reason=reason)
