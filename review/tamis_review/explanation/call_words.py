"""A call of a transcript as people read it: what was sent, what came back, what was made of it. Pure."""

import json
from collections.abc import Iterator, Mapping

from tamis_schemas import dollars
from tamis_schemas.answers.transcript import TranscribedCall, TranscribedFormat, TranscribedMessage, Transcript

INDENT = "    "  # before each line of a foreign text
SHORT_SHA = 12  # characters of a sha256 that people are shown


def call_lines(
    transcript: Transcript, place: int, call: TranscribedCall, prompts: Mapping[str, str], shown: set[str]
) -> Iterator[str]:
    """The lines of one call; texts in `shown` were shown before, and those that are shown now are added."""
    yield _about(call)
    if call.parameters:
        yield f"parameters: {json.dumps(call.parameters, ensure_ascii=False)}"
    shared = 0
    if call.after is not None:
        earlier, shared = call.after
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
            yield "what had come of the answer:"
            yield from _text(call.error.content, call.error.cut)
    yield from _reading(call)
    yield _paid(call)


def _about(call: TranscribedCall) -> str:
    sample = f", sample {call.sample}" if call.sample else ""
    rung = "" if call.rung is None else f", rung {call.rung}"
    question = f"question {call.question} ({call.name}{sample}){rung}"
    if call.cached:
        return f"{question}: answered from the cache; nothing was sent. The question:"
    return f"{question}{'' if call.sent else ': not sent, there was no connection'}"


def _message(message: TranscribedMessage, prompts: Mapping[str, str], shown: set[str]) -> Iterator[str]:
    marks = f" [{', '.join(message.marks)}]" if message.marks else ""
    if message.sha256 is None:
        yield f"{message.role}{marks}:"
        yield from _text(message.content or "", message.cut)
        return
    yield from _common(f"{message.role}{marks}", message.sha256, prompts, shown)


def _format(shape: TranscribedFormat, prompts: Mapping[str, str], shown: set[str]) -> Iterator[str]:
    named = f"answer's shape, {shape.type}" + ("" if shape.name is None else f" {shape.name}")
    if shape.sha256 is None:
        yield named
    else:
        yield from _common(named, shape.sha256, prompts, shown)


def _common(label: str, sha256: str, prompts: Mapping[str, str], shown: set[str]) -> Iterator[str]:
    text = prompts.get(sha256)
    named = f"{label}, sha256 {sha256[:SHORT_SHA]}"
    if text is None:
        yield f"{named}: the ledger has no text of it"
    elif sha256 in shown:
        yield f"{named}: as above"
    else:
        shown.add(sha256)
        yield f"{named}:"
        yield from _text(text, None)


def foreign(text: str) -> Iterator[str]:
    """A foreign text, each of its lines set in."""
    for line in text.splitlines() or [""]:
        yield INDENT + line


def _text(text: str, cut: int | None) -> Iterator[str]:
    yield from foreign(text)
    if cut is not None:
        yield f"{INDENT}[cut here: {len(text):,} of {cut:,} characters are kept]"


def _reading(call: TranscribedCall) -> Iterator[str]:
    if call.reading is None:
        return
    if not call.reading.usable:
        kind = "unusable" if call.reading.kind is None else call.reading.kind.value
        yield f"reading: cannot be used, {kind}: {call.reading.why or ''}"
    elif call.reading.deviations:
        yield f"reading: used; harmlessly otherwise: {'; '.join(call.reading.deviations)}"
    else:
        yield "reading: used"


def _paid(call: TranscribedCall) -> str:
    since = f"{call.at_ms / 1000:.1f} s after the item's first question began"
    if call.cached:
        return f"no cost; cache key {call.key or ''}; {since}"
    cost = "cost not known" if call.cost is None else dollars(call.cost)
    tier = "" if call.tier is None else f", tier {call.tier}"
    took = "" if call.latency_ms is None else f", {call.latency_ms:,} ms"
    tokens = f"{call.usage.prompt_tokens:,} + {call.usage.completion_tokens:,} tokens"
    return f"{tokens}, {cost}{tier}{took}; came {since}"
