"""An explanation as one document: question, answers, conclusion, people's decisions, and cost.

The module also explains a result by its rule or its formula, with the numbers from the ledger. It recalculates each
formula. If the stored result differs, the explanation says so.
"""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from math import isclose
from typing import Any

from pydantic import Field

from tamis_schemas import (
    Answer,
    BatchStatus,
    Criterion,
    ErrorKind,
    HumanStage,
    Inclusion,
    InclusionDecision,
    InclusionStatus,
    ItemResult,
    ItemStatus,
    Judge,
    Judgement,
    Operation,
    PanelResult,
    Quote,
    Source,
    Stratum,
    Verdict,
)
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.answers.judgement import QUOTE_PENALTY, after_quotes, milder_band
from tamis_schemas.answers.results import CriterionVerdict, QuoteState
from tamis_schemas.answers.transcript import Transcript
from tamis_schemas.records.record_number import record_words
from tamis_schemas.values.frozen import Frozen


class ExplainedBatch(Frozen):
    """The batch of the record."""

    id: str
    label: str | None = None
    operation: str
    params: dict[str, Any]  # the whole question, including the criteria
    criteria: tuple[Criterion, ...] = ()  # the criteria of an inclusion, with labels
    model: str | None = None  # the batch's model; None: the workers' default
    state: BatchStatus
    round: int
    review: str | None = None
    stage: int | None = None  # stage of the review, from 0
    created_at: datetime
    finished_at: datetime | None = None


class ExplainedVerdict(Frozen):
    """A model's verdict on one criterion, with its quote, and the passage where the quote was found."""

    label: str
    criterion: str | None = None
    excludes: bool = False
    verdict: Verdict
    quote: Quote | None = None
    passage: str | None = None  # the record's text from the quote's start to its end


class Because(Frozen):
    """A rule or a formula that set a part of the result, with the numbers filled in."""

    sets: str  # the part: status, value, confidence, outcome, probability or relevance
    text: str


class PastFailure(Frozen):
    """A failure of the record in an earlier round. Each retry of a batch's failed records begins a new round."""

    round: int
    kind: ErrorKind
    message: str


class HumanAct(StrEnum):
    """What a person did with a record."""

    DECIDED = "decided"
    CONFIRMED = "confirmed"  # agreed with the software
    WITHDREW = "withdrew"
    AUDITED = "audited"


class HumanWord(Frozen):
    """One act of a person on the record: a decision, a withdrawal, or a judgement in an audit."""

    act: HumanAct
    by: str
    at: datetime
    value: Any = None  # in an audit: whether to include the record
    note: str | None = None
    audit: str | None = None  # id of the audit
    stage: HumanStage = HumanStage.OWN
    reason: str | None = None  # why the full text is excluded, or could not be retrieved
    settles: bool = False  # overrides other people's decisions


class DrawnIn(Frozen):
    """An audit whose sample contains the record."""

    audit: str
    seed: int
    stratum: Stratum
    population: int
    drawn: int  # position in the order of drawing, from 0
    at: datetime


class OtherStage(Frozen):
    """The result of another stage of the review for the same record."""

    stage: int  # from 0
    batch_id: str
    operation: str
    result: ItemResult
    because: tuple[Because, ...] = ()


class ExplainedCopy(Frozen):
    """An excluded copy of the record."""

    index: int  # index in the batch, or in the first stage of its review
    item_id: str
    source: str | None = None  # None: the batch has at most one source
    reason: str


class Explanation(Frozen):
    """The full history of one record."""

    batch: ExplainedBatch
    record: ItemResult  # with its submitted fields and the human decision that counts
    source: Source | None = None  # None: submitted by a program
    copies: tuple[ExplainedCopy, ...] = ()
    verdicts: tuple[ExplainedVerdict, ...] = ()
    because: tuple[Because, ...] = ()
    transcripts: tuple[Transcript, ...] = ()  # of all finished claims, in order
    prompts: dict[str, str] = Field(default_factory=dict)  # sha256 -> text, for transcripts
    gap: str | None = None  # why transcripts are missing or incomplete; None: they are complete
    past_failures: tuple[PastFailure, ...] = ()
    humans: tuple[HumanWord, ...] = ()  # in order of time
    audits: tuple[DrawnIn, ...] = ()
    stages: tuple[OtherStage, ...] = ()  # other stages of the review
    lost_claims: int = 0  # claims of dead workers; their cost is in no bill


NEAR = 1e-6  # confidences are 64-bit floats; a greater difference is another number


_Reason = tuple[str, str]  # the part of the result that a rule or formula sets, and the explanation


def because(operation: Operation, result: ItemResult) -> tuple[Because, ...]:
    """Return the rules and formulas that set the parts of a record's result. Return () if there is no result yet."""
    return tuple(Because(sets=sets, text=text) for sets, text in _reasons(operation, result))


def _reasons(operation: Operation, result: ItemResult) -> Iterator[_Reason]:
    match result.status:
        case ItemStatus.EXCLUDED_BY_FILTER:
            yield from _kept_out(result)
        case ItemStatus.FAILED:
            kind = "unknown" if result.error_kind is None else result.error_kind.value
            text = "" if result.result is None else result.result.error or ""
            yield "outcome", f"failed, {kind}: {text}"
        case ItemStatus.CANCELLED:
            yield "outcome", "cancelled with its batch, without a result"
        case ItemStatus.DECIDED if result.result is not None:
            yield from _decided(operation, result, result.result.confidence)
            yield from _beside(result)


def _kept_out(result: ItemResult) -> Iterator[_Reason]:
    exclusion = result.exclusion
    if exclusion is None:
        yield "outcome", "removed before screening; the ledger names no rule"
        return
    if exclusion.rule == DUPLICATE:
        stays = "" if exclusion.duplicate_of is None else f"; {record_words(exclusion.duplicate_of)} was kept"
        yield "outcome", f"removed as a duplicate: {exclusion.reason}{stays}"
    else:
        yield "outcome", f"excluded by the initial filter, rule {exclusion.rule}: {exclusion.reason}"
    if exclusion.matched is not None:
        place = "" if exclusion.start is None else f", characters {exclusion.start} to {exclusion.end}"
        where = "" if exclusion.field is None else f" in {exclusion.field}{place}"
        yield "outcome", f"matching text: {exclusion.matched!r}{where}"
    yield "confidence", f"{_n(exclusion.confidence)}, from the rule"


def _decided(operation: Operation, result: ItemResult, confidence: float) -> Iterator[_Reason]:
    if result.panel is not None:
        yield from _of_panel(result.panel, confidence)
    if result.decision is not None and isinstance(operation, Inclusion):
        yield from _of_inclusion(operation, result.decision)
        if result.panel is None:
            yield "confidence", _after_quotes(result.decision)
    elif result.panel is not None:
        return
    elif isinstance(operation, Judge) and result.detail is not None:
        yield from _of_judgement(operation, Judgement.model_validate(result.detail))
    elif isinstance(operation, Answer):
        yield "confidence", f"{_n(confidence)}, the evaluator's score of the final answer"
    else:
        yield "confidence", f"{_n(confidence)}, as the model gave it"


def _beside(result: ItemResult) -> Iterator[_Reason]:
    """Yield pairs (name, explanation) for those of the parts `probability` and `relevance` that the result has."""
    if result.probability is not None:
        yield (
            "probability",
            f"{_n(result.probability)} that the record is included, from the probabilities of the answer's tokens; the "
            "confidence is the model's own statement",
        )
    if result.relevance is not None:
        yield "relevance", f"{result.relevance} of 100, the model's grade"


def _of_inclusion(operation: Inclusion, decision: InclusionDecision) -> Iterator[_Reason]:
    criteria = operation.criteria.labelled()
    deciding = [c for c in criteria if c.text in decision.criteria and c.label in decision.verdicts]
    reasons = "; ".join(_deciding(c, decision.verdicts[c.label]) for c in deciding)
    without = {
        InclusionStatus.UNCERTAIN: "a person decides",
        InclusionStatus.INCLUDE: "no criterion failed",
        InclusionStatus.EXCLUDE: decision.exclusion_reason or "the ledger names no criterion",
    }
    yield "status", f"status {decision.status.value}: {reasons or without[decision.status]}"
    if decision.model_status is not None:
        answered = f"the model answered {decision.model_status.value}"
        yield "status", f"{answered}; changed because: {decision.uncertain_reason}"
    yield "status", f"policy for unclear criteria: {operation.unclear.value}"
    yield "status", f"policy for exclusions without a verified quote: {operation.unverified.value}"


def _of_panel(panel: PanelResult, confidence: float) -> Iterator[_Reason]:
    yield "outcome", f"policy of the panel: {panel.policy}; {panel.words}"
    scores = [verdict.score for verdict in panel.verdicts if verdict.score is not None]
    shown = f"({' + '.join(_n(score) for score in scores)}) / {len(scores)}"
    score = f"score for inclusion {shown} = {_n(panel.score or 0.0)}"
    yield "confidence", f"{_n(confidence)}, the models' mean support for the decision: {score}"


def _deciding(criterion: Criterion, verdict: CriterionVerdict) -> str:
    if verdict.quote is None:
        backed = "which needs no quote" if verdict.verdict is Verdict.SILENT else "without a quote"
    elif verdict.quote.state is QuoteState.FOUND:
        where = "" if verdict.quote.field is None else f", in {verdict.quote.field}"
        backed = f"verified by its quote{where}"
    else:
        backed = f"its quote is {'altered' if verdict.quote.state is QuoteState.ALTERED else 'not in the record'}"
    return f"{criterion.label} {verdict.verdict.value}, {backed}"


def _after_quotes(decision: InclusionDecision) -> str:
    """Return a text with the formula that lowers the confidence for unverified quotes.

    For example: `0.9 x (1 - 0.5 x 1/3) = 0.75; of 3 quotes 1 altered`.
    """
    quotes = [verdict.quote for verdict in decision.verdicts.values() if verdict.quote is not None]
    unverified = [quote for quote in quotes if not quote.found]
    before = decision.model_confidence
    if before is None:
        all_found = f"; quotes in the record: {len(quotes)} of {len(quotes)}" if quotes else "; it gave no quote"
        return f"{_n(decision.confidence)}, as the model gave it{all_found}"
    states = [(QuoteState.ALTERED, "altered"), (QuoteState.NOT_FOUND, "not found")]
    counted = [(sum(quote.state is state for quote in unverified), words) for state, words in states]
    unverified_words = " and ".join(f"{count} {words}" for count, words in counted if count) or "none unverified"
    worked_out = after_quotes(before, len(unverified), len(quotes))
    shown = f"{_n(before)} x (1 - {_n(QUOTE_PENALTY)} x {len(unverified)}/{len(quotes)})"
    return f"{_equation(shown, worked_out, decision.confidence)}; of {len(quotes)} quotes {unverified_words}"


def _of_judgement(operation: Judge, judgement: Judgement) -> Iterator[_Reason]:
    original, quality, kept = judgement.original_confidence, judgement.quality_score, judgement.adjusted_confidence
    kind = judgement.evidence_type.value
    yield "value", f"{kind} evidence of quality {_n(quality)}"
    band = milder_band(judgement.evidence_type, quality)
    if band is None:
        equation = _equation(f"{_n(original)} x {_n(quality)}", original * quality, kept)
        yield "confidence", f"{equation}: the original confidence times the quality"
    else:
        named = f"band of {kind} evidence of quality {_n(band.low)} to {_n(band.high)}"
        shown = f"{_n(original)} x min({_n(band.most)}, {_n(quality)} + {_n(band.added)})"
        yield "confidence", f"{_equation(shown, original * band.share(quality), kept)}: the {named}"
    blocked, below = ("blocked", "below") if judgement.blocked else ("not blocked", "not below")
    yield "outcome", f"{blocked}: quality {_n(quality)} is {below} the threshold {_n(operation.block_threshold)}"


def _equation(shown: str, worked_out: float, kept: float) -> str:
    if isclose(worked_out, kept, abs_tol=NEAR):
        return f"{shown} = {_n(kept)}"
    return f"{_n(kept)}, which differs from {shown} = {_n(worked_out)}: another release set it"


def _n(value: float) -> str:
    """Return a number as text with at most four decimals."""
    return f"{value:.4f}".rstrip("0").rstrip(".")
