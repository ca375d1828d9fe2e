"""The input of a metric, and its result: a score, a category, or why there is neither."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel

from tamis_schemas import Chunk, Evaluation, Extraction
from tamis_schemas.answers.evaluation import MetricType

Model = TypeVar("Model", bound=BaseModel)
ChunkLike: TypeAlias = Chunk | Mapping[str, Any]
ExtractionLike: TypeAlias = Extraction | Mapping[str, Any]

PLACES = 3  # decimals to which spec 4 rounds precision, recall and agreement


def as_model(model: type[Model], value: Model | Mapping[str, Any]) -> Model:
    """The value as a model. Raises pydantic's `ValidationError`, a `ValueError`, for what is none."""
    return value if isinstance(value, model) else model.model_validate(dict(value))


def chunks_of(chunks: Iterable[ChunkLike]) -> list[Chunk]:
    """The chunks as models."""
    return [as_model(Chunk, chunk) for chunk in chunks]


def extractions_of(extractions: Iterable[ExtractionLike]) -> list[Extraction]:
    """The extractions as models."""
    return [as_model(Extraction, extraction) for extraction in extractions]


def score(label: str, value: float) -> Evaluation:
    """A number from 0 to 1."""
    return Evaluation(label=label, metric_type="score", value=float(value))


def category(label: str, value: str) -> Evaluation:
    """One of a few words."""
    return Evaluation(label=label, metric_type="categorical", value=value)


def no_value(label: str, metric_type: MetricType, reason: str) -> Evaluation:
    """No value, and why."""
    return Evaluation(label=label, metric_type=metric_type, reason=reason)
