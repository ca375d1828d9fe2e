"""Judge: is the evidence of a classification of the right kind, and how strong is the evidence?

In the queue, a classification is an item, and its judgement is the result. If the judge fails, the item ends with an
error. The functions of `evidence_judge`, which are also public here, use the same formulas in the caller's process.
Those functions treat a failure as a neutral judgement.
"""

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tamis_schemas import ErrorKind, EvaluationResult, Item
from tamis_schemas.answers.judgement import EvidenceType, Judgement
from tamis_schemas.operations.judge import Judge

from ..llm.chat import Message, Schema
from .answer_model import REASONING_SCHEMA, Decided, InvalidAnswer, StrictAnswer, object_schema, validated
from .evidence import (
    JUDGE_SYSTEM_PROMPT,
    JUDGE_TEMPERATURE,
    QUALITY_CONTEXTUAL,
    QUALITY_EXPLICIT,
    QUALITY_INAPPROPRIATE,
    QUALITY_OF,
    QUALITY_WEAK,
    CitedNoun,
    Evidence,
    adjusted_confidence,
    hallucination,
    judge_prompt,
    quality,
    should_block_classification,
)
from .evidence_judge import (
    EvidenceEvaluation,
    JudgeClient,
    adjust_confidence_with_evidence_quality,
    evaluate_evidence_quality,
    evaluate_evidence_quality_async,
    evaluate_evidence_quality_batch,
    evaluate_evidence_quality_batch_async,
)
from .program import EvaluationFailed, OperationProgram, Question, ask_one
from .prompt import two_messages

__all__ = [
    "JUDGE_SYSTEM_PROMPT",
    "QUALITY_CONTEXTUAL",
    "QUALITY_EXPLICIT",
    "QUALITY_INAPPROPRIATE",
    "QUALITY_WEAK",
    "EvidenceEvaluation",
    "JudgeClient",
    "adjust_confidence_with_evidence_quality",
    "evaluate_evidence_quality",
    "evaluate_evidence_quality_async",
    "evaluate_evidence_quality_batch",
    "evaluate_evidence_quality_batch_async",
    "messages",
    "parse",
    "program",
    "response_schema",
    "should_block_classification",
]

_WANTED = "an item to judge holds value, confidence (0 to 1), reasoning and context"


def _no_bool(value: object) -> object:
    if value is True or value is False:
        raise ValueError("a boolean is not a number")
    return value


class _Classification(BaseModel):
    """An item to judge. Numbers may be given as text, as a CSV has them. Other fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    value: Any = None  # any JSON value but null; 0 and False are values
    confidence: Annotated[float, BeforeValidator(_no_bool), Field(ge=0, le=1)]
    reasoning: str
    context: str
    cited: Any = None  # numbers, read by `cited_numbers`
    email_numbers: Any = None
    batch_size: Annotated[int, BeforeValidator(_no_bool), Field(ge=1)] | None = None


class _Answer(StrictAnswer):
    issue: str | None = None
    evidence_type: str
    quality_score: float | None = None
    is_valid: bool


def program(operation: Judge, item: Item, *, shown: Item | None = None) -> OperationProgram:
    """Ask the judge once. If a cited number is above the batch's size, return invalid evidence without asking.

    `shown` is the item as sent to the judge; if None, the whole item is sent. Citations are checked in the whole item.

    Raises:
        EvaluationFailed: NO_CONTENT if the item lacks a valid classification, else the kind of the judge's failure.
    """
    classification = _classification(item)
    noun = CitedNoun.of(operation.noun, operation.plural)
    cited = [classification.email_numbers, classification.cited]
    evidence = hallucination(classification.reasoning, cited, classification.batch_size, noun)
    if evidence is None:
        evidence = yield from ask_one(
            Question(
                messages(operation, item if shown is None else shown),
                schema_name="judge",
                schema=response_schema(operation),
                parse=parse,
                temperature=JUDGE_TEMPERATURE,
            )
        )
    return _evaluation(operation, classification.confidence, evidence)


def messages(operation: Judge, item: Item) -> tuple[Message, ...]:
    """Return the system and the user message for an item. Raise `EvaluationFailed` if it is no valid classification."""
    classification = _classification(item)
    prompt = judge_prompt(
        value=classification.value,
        confidence=classification.confidence,
        reasoning=classification.reasoning,
        context=classification.context,
        guidelines=operation.guidelines,
        batch_size=classification.batch_size,
        noun=CitedNoun.of(operation.noun, operation.plural),
    )
    return two_messages(JUDGE_SYSTEM_PROMPT, prompt)


def response_schema(_: Judge) -> Schema:
    """Return the answer's schema. The issue precedes the type and the score."""
    return object_schema(
        {
            "issue": REASONING_SCHEMA,
            "evidence_type": {"type": "string", "enum": [str(kind) for kind in QUALITY_OF]},
            "quality_score": {"type": "number", "minimum": 0, "maximum": 1},
            "is_valid": {"type": "boolean"},
        }
    )


def parse(data: object) -> Evidence:
    """Return the evidence in an answer. If the score is missing or 0, the type of evidence gives the quality.

    Raises:
        InvalidAnswer: the answer has a wrong form, or a score outside 0 to 1. Clamping would turn a percentage into 1.
    """
    answer = validated(_Answer, data)
    if answer.evidence_type not in QUALITY_OF:
        raise InvalidAnswer(f"evidence_type: {answer.evidence_type!r} is none of {', '.join(QUALITY_OF)}")
    if answer.quality_score is not None and not 0 <= answer.quality_score <= 1:
        raise InvalidAnswer(f"quality_score: {answer.quality_score!r} is not from 0 to 1")
    kind = EvidenceType(answer.evidence_type)
    return Evidence(answer.is_valid, quality(answer.quality_score, kind), kind, (answer.issue or "").strip() or None)


def _classification(item: Item) -> _Classification:
    try:
        classification = _Classification.model_validate(dict(item))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise EvaluationFailed(ErrorKind.NO_CONTENT, f"{first['loc'][0]}: {first['msg']}; {_WANTED}") from error
    if classification.value is None or (isinstance(classification.value, str) and not classification.value.strip()):
        raise EvaluationFailed(ErrorKind.NO_CONTENT, f"value: missing or blank; {_WANTED}")
    return classification


def _evaluation(operation: Judge, confidence: float, evidence: Evidence) -> Decided:
    judgement = Judgement(
        **asdict(evidence),
        original_confidence=confidence,
        adjusted_confidence=adjusted_confidence(confidence, evidence.quality_score, evidence.evidence_type),
        blocked=should_block_classification(evidence.quality_score, operation.block_threshold),
    )
    result = EvaluationResult(
        value=judgement.evidence_type.value,
        confidence=judgement.adjusted_confidence,
        reasoning=judgement.issue,
    )
    return Decided(result, judgement)
