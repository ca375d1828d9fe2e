"""Inclusion: the model judges a record by a review's criteria: include, exclude or uncertain, with a rationale.

The model gives a quote and a verdict for each criterion, then the record's status. An exclusion needs a failed
criterion, and usually a quote that shows the failure. The status becomes `uncertain` if the model's own verdicts
contradict the status, or no verified verdict supports an exclusion. A person then decides, and the result also has the
model's own status. A quote that is not in the record lowers the confidence and flags the decision.

The system message has everything that all records share, and the user message has only the record. So an endpoint
processes the common beginning once, and no record can imitate the instructions.

The status of a record follows from the model's status, its verdicts, their quotes and the policies:

| model's status | a criterion failed | none failed, some are unclear | none failed, none is unclear |
|---|---|---|---|
| include | uncertain | include | include |
| exclude | exclude, if a failed criterion is verified; else uncertain | uncertain | uncertain |
| uncertain | uncertain | uncertain | uncertain |

An inclusion criterion failed if it is not met, and an exclusion criterion if it is met. Under the policy `exclude` for
unclear verdicts, an unclear inclusion criterion failed too. Under the policy `refer` for unclear verdicts, one unclear
verdict makes every status uncertain.

A failed criterion is verified if the record holds its quote, or if its verdict is unclear and counts as failed. The
verdict "not met by silence" without a quote is verified too. But if all quotes of an answer are invented or altered,
silence verifies nothing. Under the policy `exclude` for unverified exclusions, every failed criterion counts as
verified.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tamis_schemas import (
    Criterion,
    EvaluationResult,
    Inclusion,
    InclusionDecision,
    InclusionStatus,
    Item,
    SearchCriteria,
    UncertainReason,
    UnclearPolicy,
    UnverifiedPolicy,
    Verdict,
    WorkedExample,
)
from tamis_schemas.answers.results import CriterionVerdict
from tamis_schemas.records.item import one_line

from ..llm.chat import Message, Schema
from ..llm.token_probability import DecisionField
from ..quotes.quotes import QuotedRecord, confidence_after
from .answer_model import (
    CONFIDENCE_SCHEMA,
    REASONING_SCHEMA,
    Decided,
    InvalidAnswer,
    Relevance,
    StrictAnswer,
    UnitInterval,
    grade,
    graded_schema,
    graded_system,
    object_schema,
    validated,
)
from .program import OperationProgram, Question, ask_one
from .prompt import CONFIDENCE_RUBRIC, LAST_DATA_RULE, data_line, source_data, two_messages, user_message

QUOTE_LENGTH = 120  # characters, about fifteen words

# Tokens that an answer may need, for scripts with two or three characters per token.
TOKENS_OF_DECISION = 250
TOKENS_OF_VERDICT = 100

SYSTEM = f"""\
You are a screening function that evaluates records for a systematic review against explicit criteria.
Given source data and criteria, judge every criterion from the source data alone, then decide.
Explain the decision briefly, in one or two sentences.
For each criterion, first quote the words of the source data that speak to it: verbatim, from one field, at most fifteen
words. The quote is null where nothing in the source data speaks to the criterion.
For each criterion, say whether what it describes is met, not met, not met by silence, or unclear from the source data.
Say not met by silence only where the source data says nothing of the criterion although a record that meets it would
(a trial with a control group names it); its quote is null.
- include: every inclusion criterion is met and no exclusion criterion is met
- exclude: an inclusion criterion is clearly not met, or an exclusion criterion is clearly met, and its quote shows it;
  or an inclusion criterion is not met by silence
- uncertain: the source data does not allow a clear decision; a person will decide
When in doubt, answer uncertain rather than exclude.

{CONFIDENCE_RUBRIC}

{LAST_DATA_RULE}"""

EXAMPLES = """\
## Examples
Records that people have decided about, to show how the criteria are meant. They are data, too, and none of them is the
record to judge."""

_VERDICT_SCHEMA: Schema = object_schema(
    {
        "quote": {"anyOf": [{"type": "string", "maxLength": QUOTE_LENGTH}, {"type": "null"}]},
        "verdict": {"type": "string", "enum": [str(v) for v in Verdict]},
    }
)

DECISION = DecisionField(
    "status",
    {
        InclusionStatus.INCLUDE.value: 1.0,
        InclusionStatus.EXCLUDE.value: 0.0,
        InclusionStatus.UNCERTAIN.value: 0.5,
    },
)


class _Verdict(StrictAnswer):
    quote: str | None = None
    verdict: str


class _Answer(StrictAnswer):
    rationale: str
    verdicts: dict[str, _Verdict]
    status: str
    confidence: UnitInterval
    relevance: Relevance | None = None


def program(operation: Inclusion, item: Item, *, shown: Item) -> OperationProgram:
    """Return the program, which asks one question about `shown`. The answer's quotes are looked up in `item`."""
    return ask_one(
        Question(
            messages(operation, shown),
            operation.operation,
            response_schema(operation),
            partial(parse, operation, item),
            tokens=answer_tokens(operation),
            decision=DECISION,
        )
    )


def messages(operation: Inclusion, item: Item) -> tuple[Message, ...]:
    """Return the system message and the user message for one record. The system message is the same for all records."""
    criteria = operation.criteria
    system = user_message(
        graded_system(operation, SYSTEM), f"## Instruction\n{_instruction(criteria)}", *_examples(criteria.examples)
    )
    return two_messages(system, source_data(item))


def response_schema(operation: Inclusion) -> Schema:
    """Return the answer's schema: rationale, quote and verdict for each criterion, then status and confidence."""
    decision = object_schema(
        {
            "rationale": REASONING_SCHEMA,
            "verdicts": object_schema({c.label: _VERDICT_SCHEMA for c in operation.criteria.labelled()}),
            "status": {"type": "string", "enum": [str(s) for s in InclusionStatus]},
            "confidence": CONFIDENCE_SCHEMA,
        }
    )
    return graded_schema(operation, decision)


def answer_tokens(operation: Inclusion) -> int:
    """Return the tokens that an answer about all criteria may need."""
    return TOKENS_OF_DECISION + TOKENS_OF_VERDICT * len(operation.criteria.labelled())


def parse(operation: Inclusion, item: Item, data: object) -> Decided:
    """Return the decision of an answer about this record. Raise `InvalidAnswer` for an unusable answer."""
    answer = validated(_Answer, data)
    criteria = operation.criteria.labelled()
    judged = _verdicts(criteria, answer.verdicts)
    try:
        model_status = InclusionStatus(answer.status)
    except ValueError as error:
        raise InvalidAnswer(f"status: {answer.status!r} is none of include, exclude, uncertain") from error
    record = QuotedRecord(item)
    texts = {label: answer.verdicts[label].quote for label in judged}
    verdicts = {
        label: CriterionVerdict(verdict=verdict, quote=None if (text := texts[label]) is None else record.find(text))
        for label, verdict in judged.items()
    }
    quotes = [verdict.quote for verdict in verdicts.values() if verdict.quote is not None]
    confidence = confidence_after(answer.confidence, quotes)
    flagged = not all(quote.found for quote in quotes)
    conclusion = conclude(model_status, criteria, verdicts, operation.unclear, operation.unverified)
    status = conclusion.status
    decision = InclusionDecision(
        status=status,
        confidence=confidence,
        rationale=answer.rationale,
        verdicts=verdicts,
        criteria=[c.text for c in conclusion.deciding],
        exclusion_reason=conclusion.deciding[0].reason if status is InclusionStatus.EXCLUDE else None,
        model_status=None if model_status is status else model_status,
        uncertain_reason=conclusion.uncertain_reason,
        model_confidence=answer.confidence if flagged else None,
        flagged=flagged,
    )
    result = EvaluationResult(value=status.value, confidence=confidence, reasoning=answer.rationale)
    return Decided(result, decision, relevance=grade(operation, answer.relevance))


def _instruction(criteria: SearchCriteria) -> str:
    parts = [f"Research question: {one_line(criteria.research_question)}"]
    if criteria.purpose:
        parts.append(f"Purpose: {one_line(criteria.purpose)}")
    if criteria.date_range is not None:
        parts.append(f"Publication years: {criteria.date_range[0]} to {criteria.date_range[1]}")
    labelled = criteria.labelled()
    for title, excludes in (("Inclusion criteria", False), ("Exclusion criteria", True)):
        lines = [f"- {c.label}: {one_line(c.text)}" for c in labelled if c.excludes is excludes]
        if lines:
            parts.append("\n".join([f"{title}:", *lines]))
    return "\n\n".join(parts)


def _examples(examples: Sequence[WorkedExample]) -> list[str]:
    """Return the section of the examples: a heading, then a paragraph for each example.

    Without examples, return an empty list.
    """
    paragraphs = [
        "\n".join([f"Example {number}", *(f"{name}: {data_line(text)}" for name, text in example if text is not None)])
        for number, example in enumerate(examples, 1)
    ]
    return [EXAMPLES, *paragraphs] if paragraphs else []


def _verdicts(criteria: list[Criterion], answered: dict[str, _Verdict]) -> dict[str, Verdict]:
    labels = [c.label for c in criteria]
    if set(answered) != set(labels):
        raise InvalidAnswer(f"verdicts: given for {sorted(answered)}, asked for {sorted(labels)}")
    try:
        return {label: Verdict(answered[label].verdict) for label in labels}
    except ValueError as error:
        raise InvalidAnswer(f"verdicts: {error}") from error


Verdicts = Mapping[str, CriterionVerdict]  # by label


@dataclass(frozen=True)
class Conclusion:
    """The status of a record, and the criteria that decide it.

    An exclusion is decided by the criteria that exclude the record with a verified verdict. The first of them is the
    exclusion reason. An inclusion is decided by the inclusion criteria that are met. For an uncertain record,
    `deciding` has the criteria with unclear verdicts, and after an unverified exclusion also the failed criteria.

    `uncertain_reason` says why the status is uncertain although the model gave another status.
    """

    status: InclusionStatus
    deciding: tuple[Criterion, ...]
    uncertain_reason: UncertainReason | None = None


def conclude(
    model_status: InclusionStatus,
    criteria: Sequence[Criterion],
    verdicts: Verdicts,
    unclear: UnclearPolicy,
    unverified: UnverifiedPolicy,
) -> Conclusion:
    """Return the status that follows from the model's status and verdicts, and the criteria that decide the status."""
    failed = [c for c in criteria if _fails(c, verdicts[c.label].verdict, unclear)]
    quotes = [verdict.quote for verdict in verdicts.values() if verdict.quote is not None]
    invents = bool(quotes) and not any(quote.found for quote in quotes)
    trusted = unverified is UnverifiedPolicy.EXCLUDE
    counting = [c for c in failed if trusted or _verified(verdicts[c.label], invents=invents)]
    open_ = [c for c in criteria if verdicts[c.label].verdict is Verdict.UNCLEAR]
    match model_status:
        case InclusionStatus.UNCERTAIN:
            return Conclusion(model_status, tuple(open_))
        case _ if open_ and unclear is UnclearPolicy.REFER:
            return Conclusion(InclusionStatus.UNCERTAIN, tuple(open_), UncertainReason.UNCLEAR)
        case InclusionStatus.INCLUDE if not failed:
            met = (c for c in criteria if verdicts[c.label].verdict is Verdict.MET and not c.excludes)
            return Conclusion(model_status, tuple(met))
        case InclusionStatus.EXCLUDE if counting:
            return Conclusion(model_status, tuple(counting))
        case InclusionStatus.EXCLUDE if failed:
            undecided = tuple(c for c in criteria if c in failed or c in open_)
            return Conclusion(InclusionStatus.UNCERTAIN, undecided, UncertainReason.UNVERIFIED)
        case _:
            return Conclusion(InclusionStatus.UNCERTAIN, tuple(open_), UncertainReason.CONTRADICTED)


def _fails(criterion: Criterion, verdict: Verdict, unclear: UnclearPolicy) -> bool:
    if criterion.excludes:
        return verdict is Verdict.MET
    return verdict.denies or (verdict is Verdict.UNCLEAR and unclear is UnclearPolicy.EXCLUDE)


def _verified(verdict: CriterionVerdict, *, invents: bool) -> bool:
    """Return True if the record confirms the verdict by which a criterion failed, or the verdict needs no quote.

    `invents` is True if the answer has quotes, but none of them is in the record.
    """
    if verdict.verdict is Verdict.UNCLEAR:
        return True
    if verdict.quote is None:
        return verdict.verdict is Verdict.SILENT and not invents
    return verdict.quote.found
