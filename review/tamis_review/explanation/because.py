"""Reasons for a result: the rule and the formula that set it, with the numbers filled in. Pure.

The ledger's row of the decision is the source. A formula is written out and calculated again; if the number differs
from the one that was kept, the text says so.
"""

from collections.abc import Iterator
from math import isclose

from tamis_schemas import (
    Answer,
    Criterion,
    Inclusion,
    InclusionDecision,
    InclusionStatus,
    ItemResult,
    ItemStatus,
    Judge,
    Judgement,
    Operation,
    PanelResult,
)
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.answers.judgement import QUOTE_PENALTY, after_quotes, milder_band
from tamis_schemas.answers.results import CriterionVerdict, QuoteState, Verdict
from tamis_schemas.records.record_number import record_words

from .document import Because

NEAR = 1e-6  # confidences are kept as 64-bit floats; what differs by more is another number


def because(operation: Operation, result: ItemResult) -> tuple[Because, ...]:
    """The reasons for a record's result, the outcome before the confidence; empty before there is one."""
    match result.status:
        case ItemStatus.EXCLUDED_BY_FILTER:
            return tuple(_kept_out(result))
        case ItemStatus.FAILED:
            kind = "unknown" if result.error_kind is None else result.error_kind.value
            text = "" if result.result is None else result.result.error or ""
            return (Because(sets="outcome", text=f"failed, {kind}: {text}"),)
        case ItemStatus.CANCELLED:
            return (Because(sets="outcome", text="cancelled with its batch before there was a result"),)
        case ItemStatus.DECIDED if result.result is not None:
            return (*_decided(operation, result), *_beside(result))
        case _:
            return ()


def _kept_out(result: ItemResult) -> Iterator[Because]:
    exclusion = result.exclusion
    if exclusion is None:
        yield Because(sets="outcome", text="kept out before any model was asked; the ledger names no rule")
        return
    if exclusion.rule == DUPLICATE:
        stays = "" if exclusion.duplicate_of is None else f"; {record_words(exclusion.duplicate_of)} stays"
        yield Because(sets="outcome", text=f"kept out as a copy: {exclusion.reason}{stays}")
    else:
        text = f"kept out by the initial filter, rule {exclusion.rule}: {exclusion.reason}"
        yield Because(sets="outcome", text=text)
    if exclusion.matched is not None:
        place = "" if exclusion.start is None else f", characters {exclusion.start} to {exclusion.end}"
        where = "" if exclusion.field is None else f" in {exclusion.field}{place}"
        yield Because(sets="outcome", text=f"the text that decided: {exclusion.matched!r}{where}")
    yield Because(sets="confidence", text=f"{_n(exclusion.confidence)}, that of the rule")


def _decided(operation: Operation, result: ItemResult) -> Iterator[Because]:
    if result.decision is not None and isinstance(operation, Inclusion):
        if result.panel is None:
            yield from _of_inclusion(operation, result.decision)
            yield Because(sets="confidence", text=_after_quotes(result.decision))
        else:
            yield from _of_panel(result.panel, result.decision.confidence)
            yield from _of_inclusion(operation, result.decision)
        return
    confidence = 0.0 if result.result is None else result.result.confidence
    if result.panel is not None:
        yield from _of_panel(result.panel, confidence)
    elif isinstance(operation, Judge) and result.detail is not None:
        yield from _of_judgement(operation, Judgement.model_validate(result.detail))
    elif isinstance(operation, Answer):
        text = f"{_n(confidence)}, the evaluator's score of the final answer"
        yield Because(sets="confidence", text=text)
    else:
        yield Because(sets="confidence", text=f"{_n(confidence)}, as the model gave it")


def _beside(result: ItemResult) -> Iterator[Because]:
    """What else is known of how sure the model was."""
    if result.probability is not None:
        text = (
            f"{_n(result.probability)} that the record is included, as the answer's tokens weigh what else might have "
            "stood there; the confidence is what the model says of itself"
        )
        yield Because(sets="probability", text=text)
    if result.relevance is not None:
        yield Because(sets="relevance", text=f"{result.relevance} of 100, as the model graded it")


def _of_inclusion(operation: Inclusion, decision: InclusionDecision) -> Iterator[Because]:
    criteria = operation.criteria.labelled()
    deciding = [one for one in criteria if one.text in decision.criteria and one.label in decision.verdicts]
    reasons = "; ".join(_deciding(one, decision.verdicts[one.label]) for one in deciding)
    match decision.status:
        case InclusionStatus.UNCERTAIN if not reasons:
            reasons = "a person decides"
        case InclusionStatus.INCLUDE if not reasons:
            reasons = "no criterion failed"
        case InclusionStatus.EXCLUDE if not reasons:
            reasons = decision.exclusion_reason or "the ledger names no criterion"
    yield Because(sets="status", text=f"status {decision.status.value}: {reasons}")
    if decision.model_status is not None:
        text = f"the model itself said {decision.model_status.value}, but: {decision.uncertain_reason}"
        yield Because(sets="status", text=text)
    yield Because(sets="status", text=f"policy for criteria that the record leaves unclear: {operation.unclear.value}")
    yield Because(sets="status", text=f"policy for exclusions that no quote verifies: {operation.unverified.value}")


def _of_panel(panel: PanelResult, confidence: float) -> Iterator[Because]:
    yield Because(sets="outcome", text=f"policy of the panel: {panel.policy}; {panel.words}")
    if panel.sent_on is not None:
        sent = "sent on to the last model: the others doubt" if panel.sent_on else "not sent on: nobody doubts"
        yield Because(sets="outcome", text=sent)
    scores = [one.score for one in panel.verdicts if one.score is not None]
    shown = f"({' + '.join(_n(score) for score in scores)}) / {len(scores)}"
    score = f"score for inclusion {shown} = {_n(panel.score or 0.0)}"
    yield Because(sets="confidence", text=f"{_n(confidence)}, the models' mean support for the decision: {score}")


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
    """The confidence that the quotes left: `0.9 x (1 - 0.5 x 1/3) = 0.75`."""
    quotes = [one.quote for one in decision.verdicts.values() if one.quote is not None]
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


def _of_judgement(operation: Judge, judgement: Judgement) -> Iterator[Because]:
    original, quality, kept = judgement.original_confidence, judgement.quality_score, judgement.adjusted_confidence
    kind = judgement.evidence_type.value
    yield Because(sets="value", text=f"{kind} evidence of quality {_n(quality)}")
    band = milder_band(judgement.evidence_type, quality)
    if band is None:
        equation = _equation(f"{_n(original)} x {_n(quality)}", original * quality, kept)
        text = f"{equation}: the original confidence times the quality"
    else:
        named = f"band of {kind} evidence of quality {_n(band.low)} to {_n(band.high)}"
        shown = f"{_n(original)} x min({_n(band.most)}, {_n(quality)} + {_n(band.added)})"
        text = f"{_equation(shown, original * band.share(quality), kept)}: the {named}"
    yield Because(sets="confidence", text=text)
    threshold = _n(operation.block_threshold)
    if judgement.blocked:
        yield Because(sets="outcome", text=f"blocked: quality {_n(quality)} is below the threshold {threshold}")
    else:
        yield Because(sets="outcome", text=f"not blocked: quality {_n(quality)} is not below the threshold {threshold}")


def _equation(shown: str, worked_out: float, kept: float) -> str:
    if isclose(worked_out, kept, abs_tol=NEAR):
        return f"{shown} = {_n(kept)}"
    return f"{_n(kept)}, which is not {shown} = {_n(worked_out)}: it was set by another release's rule"


def _n(value: float) -> str:
    """A number as people write it, with four decimals at most."""
    return f"{value:.4f}".rstrip("0").rstrip(".")
