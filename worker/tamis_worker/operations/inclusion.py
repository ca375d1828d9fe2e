"""Inclusion: a record against a review's criteria (spec 3): include, exclude or uncertain, with a rationale.

The model gives a quote and a verdict per criterion before its status. An exclusion must be able to name its reason, in
words of the record where its verdict needs some: a status that the model's own verdicts contradict, or that no verified
one bears, becomes `uncertain`, which goes to a human, and what the model said is kept. Quotes are looked for in the
record; one that is not there lowers the confidence and flags the decision.

All that is the same for every record stands in the system message, the record alone in the user message: an endpoint
reads the common beginning of the prompts once, and a record has nothing of ours beside it that it could pass for.
"""

from collections.abc import Sequence
from functools import partial

from tamis_schemas import (
    Criterion,
    EvaluationResult,
    Inclusion,
    InclusionDecision,
    InclusionStatus,
    Item,
    SearchCriteria,
    Verdict,
    WorkedExample,
)
from tamis_schemas.answers.results import CriterionVerdict

from ..llm.chat import Message, Schema
from ..llm.token_probability import DecisionField
from ..quotes.one_line import one_line
from ..quotes.quotes import QuotedRecord, confidence_after
from .answer_model import (
    CONFIDENCE_SCHEMA,
    REASONING_SCHEMA,
    Decided,
    InvalidAnswer,
    StrictAnswer,
    UnitInterval,
    object_schema,
    validated,
)
from .inclusion_status import conclude
from .program import OperationProgram, single_question
from .prompt import CONFIDENCE_RUBRIC, LAST_DATA_RULE, data_line, source_data, user_message
from .relevance import Relevance, grade, graded_schema, graded_system

QUOTE_LENGTH = 120  # characters, some fifteen words

# Tokens that an answer may need, in a script of which a token holds two or three characters.
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
    """One question; the quotes of its answer are looked for in the whole item, not only in what is shown."""
    return single_question(
        messages(operation, shown),
        operation.operation,
        response_schema(operation),
        partial(parse, operation, item),
        tokens=answer_tokens(operation),
        decision=DECISION,
    )


def messages(operation: Inclusion, item: Item) -> tuple[Message, ...]:
    """System and user message for one record; the system message is the same for all of them."""
    criteria = operation.criteria
    system = user_message(
        graded_system(operation, SYSTEM), f"## Instruction\n{_instruction(criteria)}", *_examples(criteria.examples)
    )
    return (Message("system", system), Message("user", source_data(item)))


def response_schema(operation: Inclusion) -> Schema:
    """The answer's schema: rationale, quote and verdict under every criterion's label, then status and confidence."""
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
    """The tokens that an answer about so many criteria may need."""
    return TOKENS_OF_DECISION + TOKENS_OF_VERDICT * len(operation.criteria.labelled())


def parse(operation: Inclusion, item: Item, data: object) -> Decided:
    """The decision that an answer about this record gives. Raises `InvalidAnswer`."""
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
    """The section of the examples, each a paragraph with a field a line; nothing where there are none."""
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
