"""A judge's reply, read tolerantly: for the functions of spec 5, which cannot ask again."""

from collections.abc import Mapping
from math import isfinite

from .answer_model import InvalidAnswer
from .evidence import QUALITY_INAPPROPRIATE, Evidence, evidence_type_of, quality


def read_reply(reply: object) -> Evidence:
    """The evidence in a judge's reply: numbers may be texts, a score is clamped, another type is unknown.

    Raises:
        InvalidAnswer: where the reply is no object, or says nothing that could be used.
    """
    if not isinstance(reply, Mapping):
        raise InvalidAnswer(f"the judge's reply is no JSON object but {type(reply).__name__}")
    score = _score(reply.get("quality_score"))
    named = reply.get("evidence_type")
    if score is None and named is None:
        raise InvalidAnswer("the judge's reply has neither quality_score nor evidence_type")
    evidence_type = evidence_type_of(named)
    quality_score = quality(score, evidence_type)
    issue = reply.get("issue")
    return Evidence(
        is_valid=_truth(reply.get("is_valid"), otherwise=quality_score > QUALITY_INAPPROPRIATE),
        quality_score=quality_score,
        evidence_type=evidence_type,
        issue=str(issue).strip() or None if issue is not None else None,
    )


def _score(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidAnswer(f"quality_score: {value!r} is no number")
    try:
        score = float(value)
    except (ValueError, OverflowError) as error:
        raise InvalidAnswer(f"quality_score: {str(value)[:40]!r} is no number") from error
    if not isfinite(score):
        raise InvalidAnswer(f"quality_score: {score!r} is no number")
    return score


def _truth(value: object, *, otherwise: bool) -> bool:
    match value:
        case None:
            return otherwise
        case bool():
            return value
        case str() if value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        case _:
            raise InvalidAnswer(f"is_valid: {value!r} is neither true nor false")
