"""The pydantic classes of a model's answers, and the errors of unusable answers.

Some operations also request a relevance grade: how well a record fits, from 0 to 100. The model writes the grade last,
so the grade changes neither decision nor confidence. The system message explains the grade, because some servers
compile the schema into a grammar: their models do not see the schema.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Protocol, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from tamis_schemas import ErrorKind, Evaluation, EvaluationResult, FieldsResult, PanelResult

from ..llm.chat import Schema

REASONING_LENGTH = 320  # characters, about fifty words; a small model that rambles must end

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
    """A valid answer: the result and its details."""

    result: EvaluationResult | FieldsResult
    detail: BaseModel | None = None  # details of the value; for an inclusion an `InclusionDecision`
    evaluations: tuple[Evaluation, ...] = ()  # values of the evaluation metrics
    panel: PanelResult | None = None  # each model's verdict; None: one model was asked
    probability: float | None = None  # of inclusion, from the tokens of the answer; None: unknown
    relevance: int | None = None  # the model's grade, from 0 to 100; None: not requested


@dataclass(frozen=True)
class Failure:
    """The reason why there is no valid answer. A failure never counts as a decision."""

    kind: ErrorKind
    message: str
    panel: PanelResult | None = None  # verdicts of the models that answered; None: one model was asked


class InvalidAnswer(ValueError):
    """Raised for an answer that is JSON, but not of the requested form. The message names the field and the reason."""


class StrictAnswer(BaseModel):
    """The base of every answer: no field may be missing, added or of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


AnswerModel = TypeVar("AnswerModel", bound=StrictAnswer)


def validated(model: type[AnswerModel], data: object) -> AnswerModel:
    """Return the answer as an object of `model`. Raise `InvalidAnswer`, which names the first wrong field."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "answer"
        raise InvalidAnswer(f"{field}: {first['msg']}") from error


class Explaining(Protocol):
    """An operation that may request a reasoning."""

    @property
    def include_reasoning(self) -> bool: ...


def explained_schema(operation: Explaining, properties: dict[str, Schema]) -> Schema:
    """Return the schema of an answer: the reasoning if requested, then `properties`, then a confidence."""
    reasoning = {"reasoning": REASONING_SCHEMA} if operation.include_reasoning else {}
    return object_schema(reasoning | properties | {"confidence": CONFIDENCE_SCHEMA})


def explanation(operation: Explaining, reasoning: str | None) -> str | None:
    """Return the reasoning to store; None if the operation requests no reasoning."""
    return (reasoning or "") if operation.include_reasoning else None


def object_schema(properties: dict[str, Schema]) -> Schema:
    """Return the schema of an object with exactly these properties, all required, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _whole_grade(number: float) -> float:
    if number != int(number):
        raise ValueError("no whole number from 0 to 100")  # 0.85 may mean 85 %, or almost 0
    return number


Relevance: TypeAlias = Annotated[float, Field(ge=0, le=MOST_RELEVANT), AfterValidator(_whole_grade)]


class Grading(Protocol):
    """An operation that may request a relevance grade."""

    @property
    def graded(self) -> bool: ...


def graded_system(operation: Grading, system: str) -> str:
    """Return the system message, with the grading rules if a grade is requested."""
    return f"{system}\n\n{RELEVANCE_WORDS}" if operation.graded else system


def graded_schema(operation: Grading, schema: Schema) -> Schema:
    """Return the answer's schema. If a grade is requested, it becomes the last property."""
    if not operation.graded:
        return schema
    properties: dict[str, Schema] = schema["properties"]
    return object_schema({**properties, RELEVANCE: RELEVANCE_SCHEMA})


def grade(operation: Grading, relevance: float | None) -> int | None:
    """Return the grade to store; None if none was requested. Raise `InvalidAnswer` if a requested grade is missing."""
    if not operation.graded:
        return None
    if relevance is None:
        raise InvalidAnswer(f"{RELEVANCE}: missing")
    return int(relevance)
