"""The evidence judge for a pipeline that judges in its own process: the functions of spec 5.

Neutral where the judge fails: better to let questionable evidence through than to block valid evidence for a technical
failure. A neutral evaluation is valid, of quality 0.7 and of type "unknown". As no judge has called its evidence
contextual, it costs a confidence 30 %.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any, Protocol, TypedDict

from tamis_schemas import InvalidParameters
from tamis_schemas.judgement import EvidenceType

from .decided import InvalidAnswer
from .evidence import (
    QUALITY_CONTEXTUAL,
    QUALITY_INAPPROPRIATE,
    CitedNoun,
    Evidence,
    adjusted_confidence,
    drops_sharply,
    evidence_type_of,
    hallucination,
    quality,
)
from .judge_prompt import JUDGE_SYSTEM_PROMPT, JUDGE_TEMPERATURE, judge_prompt

NEUTRAL_QUALITY = QUALITY_CONTEXTUAL

log = logging.getLogger(__name__)


class EvidenceEvaluation(TypedDict):
    """What the judge says of one classification, as the dictionary of spec 5."""

    is_valid: bool
    quality_score: float  # from 0 to 1
    evidence_type: str  # explicit, contextual, weak, inappropriate or unknown
    issue: str | None


class JudgeClient(Protocol):
    """A model that answers in JSON. How many tokens its answer may have is the client's to work out."""

    async def call_json(self, system_prompt: str, user_prompt: str, /, *, temperature: float) -> object:
        """The decoded JSON of the model's answer."""
        ...


async def evaluate_evidence_quality(
    classification: Mapping[str, Any],
    email_context: str,
    section_guidelines: str,
    llm_client: JudgeClient,
    actual_batch_size: int | None = None,
    *,
    noun: str = "Email",
    plural: str | None = None,
) -> EvidenceEvaluation:
    """What the judge says of one classification; neutral where the judge fails. Raises nothing but a cancellation.

    Args:
        classification: with `value`, `confidence`, `reasoning`, and `email_numbers` (or `cited`) where known.
        email_context: the text that was classified; the judge sees its first 2000 characters.
        section_guidelines: which evidence counts.
        llm_client: asked at temperature 0.1; not at all where the classification cites what its batch does not hold.
        actual_batch_size: how many emails the agent saw; None or 0 where that is not known.
        noun: what a reasoning cites by number.
        plural: of the noun, for the prompt; by default the noun in lower case, with an s.
    """
    try:
        cited_noun = CitedNoun.of(noun, plural)
        cited = [classification.get("email_numbers"), classification.get("cited")]
        reasoning = classification.get("reasoning")
        evidence = hallucination("" if reasoning is None else str(reasoning), cited, actual_batch_size, cited_noun)
        if evidence is None:
            prompt = judge_prompt(
                value=classification.get("value"),
                confidence=classification.get("confidence"),
                reasoning=reasoning,
                context=email_context,
                guidelines=section_guidelines,
                batch_size=actual_batch_size,
                noun=cited_noun,
            )
            evidence = _read(await llm_client.call_json(JUDGE_SYSTEM_PROMPT, prompt, temperature=JUDGE_TEMPERATURE))
    except Exception as error:  # by spec 5 a judge that fails blocks nothing: the classification counts as contextual
        log.exception("The evidence judge failed; the classification counts as valid, quality %s", NEUTRAL_QUALITY)
        issue = f"Judge error: {str(error) or type(error).__name__}"
        evidence = Evidence(True, NEUTRAL_QUALITY, EvidenceType.UNKNOWN, issue)
    return EvidenceEvaluation(
        is_valid=evidence.is_valid,
        quality_score=evidence.quality_score,
        evidence_type=evidence.evidence_type.value,
        issue=evidence.issue,
    )


async def evaluate_evidence_quality_batch(
    classifications: Sequence[Mapping[str, Any]],
    email_context: str,
    section_guidelines: str,
    llm_client: JudgeClient,
    max_workers: int = 5,
    actual_batch_size: int | None = None,
    *,
    noun: str = "Email",
    plural: str | None = None,
) -> list[EvidenceEvaluation]:
    """What the judge says of each classification, in their order; `max_workers` of them are judged at a time.

    Raises:
        InvalidParameters: where `max_workers` is less than 1.
    """
    if max_workers < 1:
        raise InvalidParameters(f"max_workers: {max_workers!r} would judge nothing; give 1 or more")

    async def judged(classification: Mapping[str, Any]) -> EvidenceEvaluation:
        return await evaluate_evidence_quality(
            classification,
            email_context,
            section_guidelines,
            llm_client,
            actual_batch_size,
            noun=noun,
            plural=plural,
        )

    if len(classifications) == 1:
        return [await judged(classifications[0])]
    free = asyncio.Semaphore(max_workers)

    async def in_turn(classification: Mapping[str, Any]) -> EvidenceEvaluation:
        async with free:
            return await judged(classification)

    return await asyncio.gather(*(in_turn(classification) for classification in classifications))


def adjust_confidence_with_evidence_quality(
    classification: dict[str, Any], evidence_evaluation: Mapping[str, Any]
) -> dict[str, Any]:
    """The classification itself, with its confidence adjusted. Call it once for each: twice adjusts twice.

    Spec 5 goes on with the dictionary given as well as with the one returned, so they are one. Set are `confidence`,
    `original_confidence`, `evidence_quality`, `evidence_type`, and `evidence_issue` where there is an issue. For the
    formula, which is not monotone, see `adjusted_confidence`. A drop of more than 20 % is logged as a warning.

    Raises:
        InvalidParameters: where the confidence or the quality is no number; nothing is changed then.
    """
    original = _required_number(classification, "confidence")
    quality_score = _required_number(evidence_evaluation, "quality_score")
    evidence_type = evidence_evaluation.get("evidence_type", EvidenceType.UNKNOWN.value)
    issue = evidence_evaluation.get("issue")
    adjusted = adjusted_confidence(original, quality_score, evidence_type_of(evidence_type))
    if drops_sharply(original, adjusted):  # said without the value, which may be somebody's age or sex
        log.warning(
            "Confidence %.2f -> %.2f: evidence %s, quality %.2f", original, adjusted, evidence_type, quality_score
        )
    classification.update(
        confidence=adjusted,
        original_confidence=original,
        evidence_quality=quality_score,
        evidence_type=evidence_type,
    )
    if issue:
        classification["evidence_issue"] = issue
    return classification


def _read(reply: object) -> Evidence:
    """The evidence in a model's reply, read tolerantly. Raises `InvalidAnswer` where nothing can be made of it."""
    if not isinstance(reply, Mapping):
        raise InvalidAnswer(f"the judge's reply is no JSON object but {type(reply).__name__}")
    score = _score(reply.get("quality_score"))
    said = reply.get("evidence_type")
    if score is None and said is None:
        raise InvalidAnswer("the judge's reply has neither quality_score nor evidence_type")
    evidence_type = evidence_type_of(said)
    quality_score = quality(score, evidence_type)
    issue = reply.get("issue")
    return Evidence(
        is_valid=_truth(reply.get("is_valid"), otherwise=quality_score > QUALITY_INAPPROPRIATE),
        quality_score=quality_score,
        evidence_type=evidence_type,
        issue=str(issue).strip() or None if issue is not None else None,
    )


def _score(said: object) -> float | None:
    if said is None:
        return None
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        raise InvalidAnswer(f"quality_score: {said!r} is no number")
    try:
        score = float(said)
    except (ValueError, OverflowError) as error:
        raise InvalidAnswer(f"quality_score: {str(said)[:40]!r} is no number") from error
    if not isfinite(score):
        raise InvalidAnswer(f"quality_score: {score!r} is no number")
    return score


def _truth(said: object, *, otherwise: bool) -> bool:
    match said:
        case None:
            return otherwise
        case bool():
            return said
        case str() if said.strip().lower() in ("true", "false"):
            return said.strip().lower() == "true"
        case _:
            raise InvalidAnswer(f"is_valid: {said!r} is neither true nor false")


def _required_number(given: Mapping[str, Any], name: str) -> float:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameters(f"{name}: {value!r} is no number; a model may have given it as text, or not at all")
    return float(value)
