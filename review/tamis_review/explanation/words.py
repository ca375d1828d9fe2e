"""An explanation as text: headings and lines. `foreign` indents the texts of records, models and people."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from tamis_schemas import HumanStage, PanelResult, Provenance, QuoteState, Source, dollars, tier_name
from tamis_schemas.answers.transcript import TranscribedCall, TranscribedFormat, TranscribedMessage
from tamis_schemas.records.item import shown_fields, shown_text
from tamis_schemas.records.record_number import record_number, record_words

from ..intake.filling import CONTRADICTED, FILLED, said_of_fields
from ..intake.record import LINE
from ..intake.sourced_records import FILE
from .document import Because, ExplainedVerdict, Explanation, HumanAct, HumanWord, OtherStage

INDENT = "    "  # before each line of a text from a record, a model or a person
SHORT_SHA = 12  # displayed characters of a sha256


def call_lines(call: TranscribedCall, prompts: Mapping[str, str], shown: set[str]) -> Iterator[str]:
    """Yield the lines that describe one call of a model.

    `prompts`: SHA-256 -> the text of a message or answer format with this hash. `shown`: the hashes of texts that are
    already shown. Such texts are not repeated. This function adds the hashes of new texts.
    """
    yield _about(call)
    if call.parameters:
        yield f"parameters: {json.dumps(call.parameters, ensure_ascii=False)}"
    earlier, shared = call.after or (0, 0)
    if shared:
        yield f"the first {shared} messages as in call {earlier + 1}"
    for message in call.messages:
        yield from _message(message, prompts, shown)
    if call.format is not None:
        yield from _format(call.format, prompts, shown)
    if call.answer is not None:
        thoughts = f", after {call.answer.thoughts:,} characters of reasoning" if call.answer.thoughts else ""
        ending = "" if call.answer.finish_reason is None else f", finish reason {call.answer.finish_reason}"
        yield f"answer of {call.answer.model or 'a model without a name'}{ending}{thoughts}:"
        yield from _text(call.answer.content, call.answer.cut)
    if call.error is not None:
        status = "" if call.error.status is None else f" (HTTP {call.error.status})"
        yield f"error{status}, {call.error.kind.value}: {call.error.message}"
        if call.error.content is not None:
            yield "partial answer:"
            yield from _text(call.error.content, call.error.cut)
    yield from _reading(call)
    yield _paid(call)


def _about(call: TranscribedCall) -> str:
    sample = f", sample {call.sample}" if call.sample else ""
    rung = "" if call.rung is None else f", rung {call.rung}"
    question = f"question {call.question} ({call.name}{sample}){rung}"
    if call.cached:
        return f"{question}: answered from the cache, no request was sent. The question:"
    return f"{question}{'' if call.sent else ': not sent, no connection'}"


def _message(message: TranscribedMessage, prompts: Mapping[str, str], shown: set[str]) -> Iterator[str]:
    marks = f" [{', '.join(message.marks)}]" if message.marks else ""
    if message.sha256 is None:
        yield f"{message.role}{marks}:"
        yield from _text(message.content or "", message.cut)
        return
    yield from _common(f"{message.role}{marks}", message.sha256, prompts, shown)


def _format(shape: TranscribedFormat, prompts: Mapping[str, str], shown: set[str]) -> Iterator[str]:
    named = f"response format {shape.type}" + ("" if shape.name is None else f" {shape.name}")
    if shape.sha256 is None:
        yield named
    else:
        yield from _common(named, shape.sha256, prompts, shown)


def _common(label: str, sha256: str, prompts: Mapping[str, str], shown: set[str]) -> Iterator[str]:
    text = prompts.get(sha256)
    named = f"{label}, sha256 {sha256[:SHORT_SHA]}"
    if text is None:
        yield f"{named}: its text is not in the ledger"
    elif sha256 in shown:
        yield f"{named}: as above"
    else:
        shown.add(sha256)
        yield f"{named}:"
        yield from _text(text, None)


def foreign(text: str) -> Iterator[str]:
    """Yield the lines of a text from a record, a model or a person, indented."""
    for line in text.splitlines() or [""]:
        yield INDENT + line


def _text(text: str, cut: int | None) -> Iterator[str]:
    yield from foreign(text)
    if cut is not None:
        yield f"{INDENT}[cut here: {len(text):,} of {cut:,} characters were kept]"


def _reading(call: TranscribedCall) -> Iterator[str]:
    if call.reading is None:
        return
    if not call.reading.usable:
        kind = "unknown" if call.reading.kind is None else call.reading.kind.value
        yield f"parsing: unusable, {kind}: {call.reading.why or ''}"
    elif call.reading.deviations:
        yield f"parsing: usable, with harmless deviations: {'; '.join(call.reading.deviations)}"
    else:
        yield "parsing: usable"


def _paid(call: TranscribedCall) -> str:
    since = f"{call.at_ms / 1000:.1f} s after the start of the item's first question"
    if call.cached:
        return f"no cost; cache key {call.key or ''}; {since}"
    cost = "cost not known" if call.cost is None else dollars(call.cost)
    tier = "" if call.tier is None else f", tier {call.tier}"
    took = "" if call.latency_ms is None else f", {call.latency_ms:,} ms"
    tokens = f"{call.usage.prompt_tokens:,} + {call.usage.completion_tokens:,} tokens"
    return f"{tokens}, {cost}{tier}{took}; ended {since}"


def origin_lines(explanation: Explanation) -> Iterator[str]:
    """Yield lines on a record's source, its duplicates, and the fields that were filled from duplicates.

    Unknown facts have no line.
    """
    item = explanation.record.item
    if explanation.source is not None:
        file = f", {item[FILE]}" if FILE in item else ""
        line = f", line {item[LINE]}" if LINE in item else ""
        yield f"{_of(explanation.source)}{file}{line}"
        if explanation.source.query is not None:
            yield f"query: {explanation.source.query}"
    for copy in explanation.copies:
        source = "" if copy.source is None else f" of {copy.source}"
        yield f"its duplicate {record_words(copy.index)}, id {copy.item_id}{source}, was removed: {copy.reason}"
    for name, origin in said_of_fields(item, FILLED).items():
        yield f"{name} was filled from {_place(origin)}"
    for name, others in said_of_fields(item, CONTRADICTED).items():
        for other in others:
            yield f"{name} is contradicted: {_place(other)} has {shown_text(other.get('value'))}"


def _of(source: Source) -> str:
    only = f", {source.file}" if len(source.files) == 1 and source.file != source.name else ""
    searched = "" if source.searched is None else f", searched {source.searched}"
    return f"{source.name} ({source.kind}){searched}{only}"


def _place(origin: Mapping[str, Any]) -> str:
    if "file" in origin:
        return f"{origin['file']}, line {origin['line']}" if origin.get("line") else str(origin["file"])
    source = f" of {origin['source']}" if "source" in origin else ""
    index = origin.get("from")
    return f"its duplicate {record_words(index) if isinstance(index, int) else index}{source}"


def as_text(explanation: Explanation) -> str:
    """Return the explanation as one text. Only headings begin with `# `, because all foreign lines are indented."""
    return "\n".join("\n".join([f"# {heading}", *lines, ""]) for heading, lines in sections(explanation))


def sections(explanation: Explanation) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the heading and the lines of each section, from the batch to the cost. Empty sections are omitted."""
    for heading, lines in _sections(explanation):
        yield heading, tuple(line for part in lines for line in _one_by_one(part))


def _one_by_one(text: str) -> Iterator[str]:
    """Yield the lines of a text. Indent every line except the first."""
    first, *others = text.splitlines() or [""]
    yield first
    yield from (INDENT + other for other in others)


def _sections(explanation: Explanation) -> Iterator[tuple[str, Iterable[str]]]:
    yield "Batch", _batch(explanation)
    yield "Record", _record(explanation)
    if origin := tuple(origin_lines(explanation)):
        yield "Source", origin
    yield "Decision", _decision(explanation)
    if explanation.record.panel is not None:
        yield "Panel", _panel(explanation.record.panel)
    if explanation.verdicts:
        yield "Criteria", tuple(line for verdict in explanation.verdicts for line in _verdict(verdict))
    if explanation.humans or explanation.audits:
        yield "Human decisions", _people(explanation)
    if explanation.stages:
        yield "Other stages of the review", tuple(line for stage in explanation.stages for line in _stage(stage))
    if explanation.past_failures:
        failures = explanation.past_failures
        yield "Earlier rounds", (f"round {past.round}: {past.kind.value}: {past.message}" for past in failures)
    if explanation.gap is not None:
        yield "Prompts and answers", (explanation.gap,)
    shown: set[str] = set()
    for transcript in explanation.transcripts:
        for place, call in enumerate(transcript.calls):
            claim = f"claim {transcript.fence}, round {transcript.round}, {_when(transcript.created_at)}"
            yield f"Call {place + 1} of {len(transcript.calls)}, {claim}", call_lines(call, explanation.prompts, shown)
    yield "Cost", _bill(explanation)


def _batch(explanation: Explanation) -> Iterator[str]:
    batch = explanation.batch
    yield f"{batch.id}{'' if batch.label is None else f', {batch.label}'}"
    yield f"{batch.operation}, {batch.state.value}, round {batch.round}, submitted {_when(batch.created_at)}"
    if batch.review is not None and batch.stage is not None:
        yield f"stage {batch.stage + 1} of review {batch.review}"
    if batch.criteria:
        yield f"question: {batch.params['criteria']['research_question']}"
        yield from (f"{c.label}{' (excludes)' if c.excludes else ''}: {c.text}" for c in batch.criteria)
    else:
        yield from foreign(json.dumps(batch.params, ensure_ascii=False))


def _record(explanation: Explanation) -> Iterator[str]:
    record = explanation.record
    yield f"{record_words(record.index)}, id {record.item_id}"
    for name, value in shown_fields(record.item).items():
        yield f"field {name}:"
        yield from foreign(shown_text(value))
    if record.cut_words is not None:
        yield f"not sent in full: {record.cut_words}"


def _decision(explanation: Explanation) -> Iterator[str]:
    record = explanation.record
    yield f"item {record.status}"
    if record.conflict:
        yield f"conflict: reviewers disagree, and no decision counts: {record.decision_words}"
    if record.override is not None:
        yield f"final decision: {shown_text(record.override.value)}, by {record.override.reviewer}"
    if record.result is not None and record.result.error is None:
        yield f"value: {shown_text(record.value)}"
    yield from _reasons(explanation.because)
    if record.result is not None and record.result.reasoning:
        yield "the model's reasoning:"
        yield from foreign(record.result.reasoning)
    if record.decision is None and record.detail:
        yield "detail:"
        yield from foreign(json.dumps(record.detail, ensure_ascii=False))
    if record.evaluation_words is not None:
        yield f"metrics: {record.evaluation_words}"


def _panel(panel: PanelResult) -> Iterator[str]:
    for member in panel.verdicts:
        price = "no known price" if member.cost is None else dollars(member.cost)
        paid = "from the cache" if member.cached else f"{member.usage.total_tokens:,} tokens, {price}"
        yield f"{member.words} ({paid})"
        if criteria := ", ".join(f"{label} {verdict.verdict.value}" for label, verdict in member.verdicts.items()):
            yield INDENT + criteria
        if text := member.error or member.reasoning:
            yield from foreign(text)


def _reasons(reasons: Iterable[Because]) -> Iterator[str]:
    yield from (f"{reason.sets}: {reason.text.removeprefix(f'{reason.sets} ')}" for reason in reasons)


def _verdict(verdict: ExplainedVerdict) -> Iterator[str]:
    criterion = "" if verdict.criterion is None else f" ({verdict.criterion})"
    yield f"{verdict.label}{criterion}: {verdict.verdict.value}"
    if verdict.quote is None:
        yield INDENT + "no quote"
        return
    yield f"{INDENT}quote: “{verdict.quote.text}”"
    if verdict.quote.state is QuoteState.NOT_FOUND:
        yield f"{INDENT}not found in the record; similarity of the closest passage: {verdict.quote.similarity:.2f}"
        return
    where = "" if verdict.quote.start is None else f", characters {verdict.quote.start} to {verdict.quote.end}"
    yield f"{INDENT}{verdict.quote.state.value} in {verdict.quote.field}{where}"
    if verdict.passage is not None:
        yield f"{INDENT}record text: “{verdict.passage}”"
    for difference in verdict.quote.differences:
        yield f"{INDENT}differs: “{difference.quoted}”, in the record “{difference.recorded}”"


def _people(explanation: Explanation) -> Iterator[str]:
    for drawn in explanation.audits:
        yield (
            f"{_when(drawn.at)} drawn as number {drawn.drawn + 1} of audit {drawn.audit}, seed {drawn.seed}, from "
            f"{drawn.population} exclusions ({drawn.stratum.value})"
        )
    for word in explanation.humans:
        stage = "" if word.stage is HumanStage.OWN else f" ({word.stage.value})"
        reason = "" if word.reason is None else f", reason: {word.reason}"
        settles = "; it settles the record" if word.settles else ""
        yield f"{_when(word.at)} {word.by}{stage} {_said(word)}{reason}{settles}"
        if word.note:
            yield from foreign(word.note)


def _said(word: HumanWord) -> str:
    if word.act is HumanAct.WITHDREW:
        return "withdrew the previous decision"
    if word.act is HumanAct.AUDITED:
        return f"in audit {word.audit}: {'include' if word.value else 'exclude'}"
    return f"{word.act.value}: {shown_text(word.value)}"


def _stage(stage: OtherStage) -> Iterator[str]:
    place = f"stage {stage.stage + 1}, {stage.operation}: {stage.result.status}"
    yield f"{place}; `tamis explain {stage.batch_id} number:{record_number(stage.result.index)}` shows its calls"
    yield from (INDENT + line for line in _reasons(stage.because))


def _bill(explanation: Explanation) -> Iterator[str]:
    bill = explanation.record.provenance or Provenance(cost=Decimal(0))
    if not bill.calls:
        yield "no cost: every answer came from the cache" if bill.cached else "no cost: no call was made"
    else:
        yield f"{bill.calls} {'call' if bill.calls == 1 else 'calls'}, over all rounds"
        usage = bill.usage
        yield (
            f"tokens: {usage.prompt_tokens:,} of prompts ({usage.cached_tokens:,} at the cached price), "
            f"{usage.completion_tokens:,} of answers ({usage.reasoning_tokens:,} of reasoning)"
        )
        yield "cost: not known, because the model has no price" if bill.cost is None else f"cost: {dollars(bill.cost)}"
    if bill.model is not None:
        yield f"model: {bill.model}{'' if bill.tier is None else f', tier {tier_name(bill.tier) or bill.tier}'}"
    if bill.unanswered:
        yield f"calls without an answer: {bill.unanswered}; the endpoint may have charged for them"
    if explanation.lost_claims:
        yield f"claims of dead workers: {explanation.lost_claims}; their possible cost is not included"
    if bill.deviations:
        yield f"harmless deviations of answers: {'; '.join(bill.deviations)}"


def _when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S %Z}".rstrip()
