"""The evidence judge for a pipeline that judges in its own process: the functions of docs/specification.md ("Spec 5").

Functions that call the judge also have an asynchronous form, with the suffix `_async`. Both forms accept synchronous
and asynchronous clients.

If the judge fails, the evaluation is neutral: valid, with quality 0.7 and type "unknown". Passing questionable evidence
is better than blocking valid evidence because of a technical failure. As the type is not contextual, a neutral
evaluation lowers a confidence by 30 %. But an error in the client's code is raised, because a neutral evaluation would
pass evidence that should be blocked.

The functions ask the judge only once, so they also accept replies that deviate from the requested form.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable, iscoroutinefunction, signature
from math import isfinite
from numbers import Real
from typing import Any, Final, Protocol, TypedDict

from tamis_schemas import InvalidParameters
from tamis_schemas.answers.judgement import EvidenceType

from ..event_loop.loop import end_tasks, synchronous
from .answer_model import InvalidAnswer
from .evidence import (
    JUDGE_SYSTEM_PROMPT,
    JUDGE_TEMPERATURE,
    QUALITY_CONTEXTUAL,
    QUALITY_INAPPROPRIATE,
    CitedNoun,
    Evidence,
    adjusted_confidence,
    drops_sharply,
    evidence_type_of,
    hallucination,
    judge_prompt,
    quality,
)

NEUTRAL_QUALITY = QUALITY_CONTEXTUAL

log = logging.getLogger(__name__)

# Errors in a client's code that no answer causes. A missing `call_json` and wrong arguments raise before the call.
# Other exceptions are failures of the judge: an unusable answer also raises TypeError, AttributeError or KeyError.
PROGRAMMING_ERRORS: Final = (NameError, ImportError, NotImplementedError)


class JudgeClient(Protocol):
    """A model that answers in JSON. The client limits the tokens of its answers."""

    def call_json(self, system_prompt: str, user_prompt: str, /, *, temperature: float) -> object:
        """Return the decoded JSON of the model's answer, or an awaitable that gives this JSON.

        If `call_json` is a plain function, several threads call it at once. If `call_json` is a coroutine function,
        several calls run at once on one event loop.
        """


class EvidenceEvaluation(TypedDict):
    """The judge's evaluation of one classification, as a dictionary."""

    is_valid: bool
    quality_score: float  # from 0 to 1
    evidence_type: str  # explicit, contextual, weak, inappropriate or unknown
    issue: str | None


async def evaluate_evidence_quality_async(
    classification: Mapping[str, Any],
    email_context: str,
    section_guidelines: str,
    llm_client: JudgeClient,
    actual_batch_size: int | None = None,
    *,
    noun: str = "Email",
    plural: str | None = None,
) -> EvidenceEvaluation:
    """Evaluate the evidence of one classification. If the judge fails, the evidence counts as valid, with quality 0.7.

    Args:
        classification: has `value`, `confidence`, `reasoning`, and `email_numbers` (or `cited`) if known.
        email_context: the classified text; the judge sees its first 2000 characters.
        section_guidelines: the rules for valid evidence.
        llm_client: called at temperature 0.1; not called if the classification cites numbers above the batch's size.
        actual_batch_size: number of emails that the classifying agent saw; None or 0 if unknown.
        noun: the noun that a reasoning cites by number.
        plural: the plural of the noun, for the prompt; None: the noun in lower case, with an s.

    Raises:
        TypeError, AttributeError: an argument has a wrong type. All `PROGRAMMING_ERRORS` of the client are raised too.
    """
    (evaluation,) = await evaluate_evidence_quality_batch_async(
        [classification],
        email_context,
        section_guidelines,
        llm_client,
        1,
        actual_batch_size,
        noun=noun,
        plural=plural,
    )
    return evaluation


async def evaluate_evidence_quality_batch_async(
    classifications: Iterable[Mapping[str, Any]],
    email_context: str,
    section_guidelines: str,
    llm_client: JudgeClient,
    max_workers: int = 5,
    actual_batch_size: int | None = None,
    *,
    noun: str = "Email",
    plural: str | None = None,
) -> list[EvidenceEvaluation]:
    """Evaluate several classifications, at most `max_workers` at a time.

    Return the evaluations in the order of the classifications.

    Raises:
        InvalidParameters: `max_workers` is less than 1.
        TypeError, AttributeError: an argument has a wrong type. The other evaluations are cancelled.
    """
    if max_workers < 1:
        raise InvalidParameters(f"max_workers: {max_workers!r} would judge nothing; give 1 or more")
    threads = ThreadPoolExecutor(max_workers, thread_name_prefix="tamis evidence judge")
    judge = _Judge(
        llm_client, email_context, section_guidelines, actual_batch_size, CitedNoun.of(noun, plural), threads
    )
    free = asyncio.Semaphore(max_workers)

    async def in_turn(classification: Mapping[str, Any]) -> EvidenceEvaluation:
        async with free:
            return await judge.evaluation(classification)

    tasks = [asyncio.create_task(in_turn(classification)) for classification in classifications]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await end_tasks(*tasks)
        threads.shutdown(wait=False)


evaluate_evidence_quality = synchronous(evaluate_evidence_quality_async)
evaluate_evidence_quality_batch = synchronous(evaluate_evidence_quality_batch_async)


def adjust_confidence_with_evidence_quality(
    classification: dict[str, Any], evidence_evaluation: Mapping[str, Any]
) -> dict[str, Any]:
    """Adjust the confidence in the dictionary `classification`, and return that dictionary.

    Call the function only once for a classification. The function sets `confidence`, `original_confidence`,
    `evidence_quality`, `evidence_type`, and `evidence_issue` if there is an issue. By the formula of
    `adjusted_confidence`, evidence of higher quality can leave a lower confidence. The function logs a warning if the
    confidence drops by more than 20 %.

    Raises:
        InvalidParameters: the confidence or the quality is no number. The dictionary is then unchanged.
    """
    original = _required_number(classification, "confidence")
    quality_score = _required_number(evidence_evaluation, "quality_score")
    evidence_type = evidence_evaluation.get("evidence_type", EvidenceType.UNKNOWN.value)
    issue = evidence_evaluation.get("issue")
    adjusted = adjusted_confidence(original, quality_score, evidence_type_of(evidence_type))
    if drops_sharply(original, adjusted):  # without the value, which may be a person's age or sex
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


def _required_number(values: Mapping[str, Any], name: str) -> float:
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameters(f"{name}: {value!r} is not a number; a model may have given it as text, or not at all")
    return float(value)


@dataclass(frozen=True)
class _Judge:
    """A judge client, with the arguments that all classifications of one call share."""

    client: JudgeClient
    context: str
    guidelines: str
    batch_size: int | None
    noun: CitedNoun
    threads: Executor  # for a synchronous client, which would block the loop

    async def evaluation(self, classification: Mapping[str, Any]) -> EvidenceEvaluation:
        """Return the evaluation of a classification. If a cited number exceeds the batch's size, ask no judge."""
        cited = [classification.get("email_numbers"), classification.get("cited")]
        reasoning = classification.get("reasoning")
        evidence = hallucination("" if reasoning is None else str(reasoning), cited, self.batch_size, self.noun)
        if evidence is None:
            prompt = judge_prompt(
                value=classification.get("value"),
                confidence=classification.get("confidence"),
                reasoning=reasoning,
                context=self.context,
                guidelines=self.guidelines,
                batch_size=self.batch_size,
                noun=self.noun,
            )
            evidence = await self._ask(prompt)
        return EvidenceEvaluation(
            is_valid=evidence.is_valid,
            quality_score=evidence.quality_score,
            evidence_type=evidence.evidence_type.value,
            issue=evidence.issue,
        )

    async def _ask(self, prompt: str) -> Evidence:
        call = partial(self.client.call_json, JUDGE_SYSTEM_PROMPT, prompt, temperature=JUDGE_TEMPERATURE)
        _check_arguments(call)
        try:
            return read_reply(await reply_of(call, self.threads))
        except PROGRAMMING_ERRORS:
            raise
        except Exception as error:  # by spec 5 a failing judge blocks nothing
            log.exception("The evidence judge failed; the classification counts as valid, quality %s", NEUTRAL_QUALITY)
            issue = f"Judge error: {str(error) or type(error).__name__}"
            return Evidence(True, NEUTRAL_QUALITY, EvidenceType.UNKNOWN, issue)


def _check_arguments(call: "partial[object]") -> None:
    """Raise `TypeError` if the client's `call_json` does not accept the arguments of `call`."""
    try:
        bound = signature(call.func)
    except ValueError:  # a function in C has no signature
        return
    bound.bind(*call.args, **call.keywords)


async def reply_of(call: "partial[object]", threads: Executor) -> object:
    """Return the judge's reply. If the client's function is not asynchronous, run it on a thread."""
    if iscoroutinefunction(call):  # on a thread, its coroutine would be lost if the caller stops waiting
        return await call()
    reply = await asyncio.get_running_loop().run_in_executor(threads, _called, call)
    return await reply if isawaitable(reply) else reply


def _called(call: Callable[[], object]) -> object:
    """Return the result of a call. Convert a StopIteration, which futures do not accept, to a RuntimeError."""
    try:
        return call()
    except StopIteration as error:
        raise RuntimeError("call_json raised StopIteration") from error


def read_reply(reply: object) -> Evidence:
    """Return the evidence in a judge's reply.

    The score may be a number in text form, and is clamped to 0 to 1. Types outside the scale become `UNKNOWN`.

    Raises:
        InvalidAnswer: the reply is no object, has neither score nor type, or has a field with an unusable value.
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
