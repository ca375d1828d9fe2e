"""The models that answers are read as, and how an unusable one is refused.

Operations that are asked to grade get a relevance, too: how far a record fits, from 0 to 100. The grade comes last in
the answer, when everything else is written, so that it changes neither the decision nor the confidence that stand
before it. What it means is said in the system message alone: a server that turns the schema into a grammar shows its
model nothing of it.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Protocol, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from tamis_schemas import ErrorKind, Evaluation, EvaluationResult, FieldsResult, PanelResult

from ..llm.chat import Schema

REASONING_LENGTH = 320  # characters, some fifty words; a small model that rambles must come to an end

CONFIDENCE_SCHEMA: Schema = {"type": "number", "minimum": 0, "maximum": 1}
REASONING_SCHEMA: Schema = {"type": "string", "maxLength": REASONING_LENGTH}

UnitInterval: TypeAlias = Annotated[float, Field(ge=0, le=1)]  # a confidence or a score

RELEVANCE: Final = "relevance"
MOST_RELEVANT: Final = 100

RELEVANCE_WORDS = """\
Last, grade the relevance of the source data as a whole number from 0 to 100: how likely a careful reader of its full
text would include it. 0 means certainly not, 100 certainly. Use the whole range: the grade puts records in the order in
which people read them, so two records that are not equally likely get different grades."""

RELEVANCE_SCHEMA: Schema = {"type": "integer", "minimum": 0, "maximum": MOST_RELEVANT}


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


def _whole_grade(number: float) -> float:
    if number != int(number):
        raise ValueError("no whole number from 0 to 100")  # 0.85 may be 85 % or next to nothing
    return number


Relevance: TypeAlias = Annotated[float, Field(ge=0, le=MOST_RELEVANT), AfterValidator(_whole_grade)]


class Grading(Protocol):
    """An operation that may be told to grade."""

    @property
    def graded(self) -> bool: ...


def graded_system(operation: Grading, system: str) -> str:
    """The system message, with the words on the grade where one is asked for."""
    return f"{system}\n\n{RELEVANCE_WORDS}" if operation.graded else system


def graded_schema(operation: Grading, schema: Schema) -> Schema:
    """The answer's schema, with the grade as its last property where one is asked for."""
    if not operation.graded:
        return schema
    properties: dict[str, Schema] = schema["properties"]
    return object_schema({**properties, RELEVANCE: RELEVANCE_SCHEMA})


def grade(operation: Grading, relevance: float | None) -> int | None:
    """The grade as it is kept; None where none was asked for. Raises `InvalidAnswer` where it is missing."""
    if not operation.graded:
        return None
    if relevance is None:
        raise InvalidAnswer(f"{RELEVANCE}: missing")
    return int(relevance)
