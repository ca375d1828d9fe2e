"""The models that answers are read as, and how an unusable one is refused."""

from dataclasses import dataclass
from typing import Annotated, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tamis_schemas import ErrorKind, Evaluation, EvaluationResult, FieldsResult, PanelResult

from ..llm.chat import Schema

REASONING_LENGTH = 320  # characters, some fifty words; a small model that rambles must come to an end

CONFIDENCE_SCHEMA: Schema = {"type": "number", "minimum": 0, "maximum": 1}
REASONING_SCHEMA: Schema = {"type": "string", "maxLength": REASONING_LENGTH}

UnitInterval: TypeAlias = Annotated[float, Field(ge=0, le=1)]  # a confidence or a score


@dataclass(frozen=True)
class Decided:
    """A valid answer: the result, and what stands behind it."""

    result: EvaluationResult | FieldsResult
    detail: BaseModel | None = None  # what stands behind the value: of an inclusion its `InclusionDecision`
    evaluations: tuple[Evaluation, ...] = ()  # by the metrics
    panel: PanelResult | None = None  # each model's word; None: one model was asked
    probability: float | None = None  # of inclusion, from the tokens of the answer; None: they say none
    relevance: int | None = None  # 0 to 100, as the model graded it; None: it was not asked to


@dataclass(frozen=True)
class Failure:
    """Why there is no valid answer. Never a decision."""

    kind: ErrorKind
    message: str
    panel: PanelResult | None = None  # the words of the models that did answer; None: one model was asked


class InvalidAnswer(ValueError):
    """An answer that is JSON but not what was asked for; the message says which field and why."""


class StrictAnswer(BaseModel):
    """The base of every answer: no field may be missing, added or of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


AnswerModel = TypeVar("AnswerModel", bound=StrictAnswer)


def validated(model: type[AnswerModel], data: object) -> AnswerModel:
    """The answer as its model. Raises `InvalidAnswer` naming the first field that is wrong."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "answer"
        raise InvalidAnswer(f"{field}: {first['msg']}") from error


class Explaining(Protocol):
    """An operation that is told whether to have its answers explained."""

    @property
    def include_reasoning(self) -> bool: ...


def explained_schema(operation: Explaining, properties: dict[str, Schema]) -> Schema:
    """An answer of these properties and a confidence; the reasoning, where asked for, stands and comes first."""
    reasoning = {"reasoning": REASONING_SCHEMA} if operation.include_reasoning else {}
    return object_schema(reasoning | properties | {"confidence": CONFIDENCE_SCHEMA})


def explanation(operation: Explaining, reasoning: str | None) -> str | None:
    """The reasoning as it is kept: None where none was asked for, whatever came."""
    return (reasoning or "") if operation.include_reasoning else None


def object_schema(properties: dict[str, Schema]) -> Schema:
    """An object whose properties are all required and the only ones, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
