"""Inclusion: a record against a review's criteria (spec 3): include, exclude or uncertain, with a rationale.

The model gives a verdict per criterion before its status. An exclusion must be able to name its reason: a status that
the model's own verdicts contradict becomes `uncertain`, which goes to a human, and what the model said is kept.
"""

from typing import Annotated

from pydantic import Field

from tamis_schemas import (
    Criterion,
    EvaluationResult,
    Inclusion,
    InclusionDecision,
    InclusionStatus,
    Item,
    SearchCriteria,
    Verdict,
)

from ..engine.chat import Message, Schema
from .evaluation import (
    CONFIDENCE_SCHEMA,
    REASONING_SCHEMA,
    Evaluation,
    InvalidAnswer,
    StrictAnswer,
    object_schema,
    validated,
)
from .prompt import SYSTEM_END, one_line, source_data, user_message

SYSTEM = f"""\
You are a screening function that evaluates records for a systematic review against explicit criteria.
Given source data and criteria, judge every criterion from the source data alone, then decide.
Explain the decision briefly, in one or two sentences.
For each criterion, say whether what it describes is met, not met, or unclear from the source data.
- include: every inclusion criterion is met and no exclusion criterion is met
- exclude: an inclusion criterion is clearly not met, or an exclusion criterion is clearly met
- uncertain: the source data does not allow a clear decision; a person will decide
When in doubt, answer uncertain rather than exclude.

{SYSTEM_END}"""


class _Answer(StrictAnswer):
    rationale: str
    verdicts: dict[str, str]
    status: str
    confidence: Annotated[float, Field(ge=0, le=1)]


def messages(operation: Inclusion, item: Item) -> tuple[Message, ...]:
    """System and user message for one record."""
    user = user_message(source_data(item), f"## Instruction\n{_instruction(operation.criteria)}")
    return (Message("system", SYSTEM), Message("user", user))


def response_schema(operation: Inclusion) -> Schema:
    """The answer's schema: rationale, a verdict under every criterion's label, then status and confidence."""
    verdict: Schema = {"type": "string", "enum": [str(v) for v in Verdict]}
    return object_schema(
        {
            "rationale": REASONING_SCHEMA,
            "verdicts": object_schema({c.label: verdict for c in operation.criteria.labelled()}),
            "status": {"type": "string", "enum": [str(s) for s in InclusionStatus]},
            "confidence": CONFIDENCE_SCHEMA,
        }
    )


def parse(operation: Inclusion, data: object) -> Evaluation:
    """The decision that an answer gives. Raises `InvalidAnswer`."""
    answer = validated(_Answer, data)
    criteria = operation.criteria.labelled()
    verdicts = _verdicts(criteria, answer.verdicts)
    try:
        said = InclusionStatus(answer.status)
    except ValueError as error:
        raise InvalidAnswer(f"status: {answer.status!r} is none of include, exclude, uncertain") from error
    status = said if consistent(said, criteria, verdicts) else InclusionStatus.UNCERTAIN
    decision = InclusionDecision(
        status=status,
        confidence=answer.confidence,
        rationale=answer.rationale,
        verdicts=verdicts,
        criteria=[c.text for c in deciding(status, criteria, verdicts)],
        model_status=None if said is status else said,
    )
    result = EvaluationResult(value=status.value, confidence=answer.confidence, reasoning=answer.rationale)
    return Evaluation(result, decision)


def speaks_against(criterion: Criterion, verdict: Verdict) -> bool:
    """True where a verdict is a reason to exclude: an inclusion criterion not met, an exclusion criterion met."""
    return verdict is (Verdict.MET if criterion.excludes else Verdict.NOT_MET)


def consistent(status: InclusionStatus, criteria: list[Criterion], verdicts: dict[str, Verdict]) -> bool:
    """False where the verdicts contradict the status: an exclusion without a reason, an inclusion despite one."""
    against = any(speaks_against(c, verdicts[c.label]) for c in criteria)
    match status:
        case InclusionStatus.INCLUDE:
            return not against
        case InclusionStatus.EXCLUDE:
            return against
        case InclusionStatus.UNCERTAIN:
            return True


def deciding(status: InclusionStatus, criteria: list[Criterion], verdicts: dict[str, Verdict]) -> list[Criterion]:
    """The criteria that decided: those against (exclude), those for (include), those left open (uncertain)."""
    match status:
        case InclusionStatus.EXCLUDE:
            return [c for c in criteria if speaks_against(c, verdicts[c.label])]
        case InclusionStatus.INCLUDE:
            return [c for c in criteria if not c.excludes and verdicts[c.label] is Verdict.MET]
        case InclusionStatus.UNCERTAIN:
            return [c for c in criteria if verdicts[c.label] is Verdict.UNCLEAR]


def _instruction(criteria: SearchCriteria) -> str:
    parts = [f"Research question: {one_line(criteria.research_question)}"]
    if criteria.purpose:
        parts.append(f"Purpose: {one_line(criteria.purpose)}")
    if criteria.date_range is not None:
        parts.append(f"Publication years: {criteria.date_range[0]} to {criteria.date_range[1]}")
    if criteria.study_types:
        parts.append(f"Study types: {', '.join(one_line(kind) for kind in criteria.study_types)}")
    labelled = criteria.labelled()
    for title, excludes in (("Inclusion criteria", False), ("Exclusion criteria", True)):
        lines = [f"- {c.label}: {one_line(c.text)}" for c in labelled if c.excludes is excludes]
        if lines:
            parts.append("\n".join([f"{title}:", *lines]))
    return "\n\n".join(parts)


def _verdicts(criteria: list[Criterion], given: dict[str, str]) -> dict[str, Verdict]:
    labels = [c.label for c in criteria]
    if set(given) != set(labels):
        raise InvalidAnswer(f"verdicts: given for {sorted(given)}, asked for {sorted(labels)}")
    try:
        return {label: Verdict(given[label]) for label in labels}
    except ValueError as error:
        raise InvalidAnswer(f"verdicts: {error}") from error
