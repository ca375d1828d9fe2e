"""What a claim's transcript keeps: the body as sent, texts in common once, and never a secret."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from pydantic import TypeAdapter

from tamis_producer.config.redaction import HIDDEN, Redaction
from tamis_schemas import ErrorKind, Usage
from tamis_schemas.answers.transcript import LONGEST_ANSWER, TranscribedCall, Transcript
from tamis_worker.engine.attempt import repaired, unusable
from tamis_worker.engine.transcript import SchemaTexts, TranscriptWriter, sha256_of
from tamis_worker.llm.chat import CallError, ChatAnswer, ChatRequest, Message, Rung
from tamis_worker.llm.dialect import Dialect, body
from tamis_worker.llm.json_answer import Malformed

SECRET = "sk-a-key-of-the-test-0123456789"
SYSTEM = "You judge."
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"value": {"type": "boolean"}}, "required": ["value"]}
REQUEST = ChatRequest(
    model="m",
    messages=(Message("system", SYSTEM), Message("user", "title: x")),
    schema_name="filter",
    schema=SCHEMA,
    temperature=0.0,
    max_tokens=64,
    options={"reasoning_effort": "low", "prompt_cache_key": "abc", "vendor": {"api_key": "other-secret", "top_k": 3}},
    headers={"Authorization": f"Bearer {SECRET}", "X-Team": "header-value-of-the-test"},
)
CALLS = TypeAdapter(tuple[TranscribedCall, ...])


class Kept:
    """A writer with the calls of one question."""

    def __init__(self) -> None:
        self.writer = TranscriptWriter(uuid4(), SchemaTexts(), Redaction([SECRET]))
        self.question = self.writer.question("filter", 0, "k" * 64)

    def answered(
        self, content: str, *, rung: Rung = Rung.STRICT, request: ChatRequest = REQUEST, why: str = ""
    ) -> ChatAnswer:
        sent = body(request, Dialect(rung=rung))
        answer = ChatAnswer(content, "m-1", Usage(7, 3), "stop", 40, rung=rung, thoughts=12, body=sent)
        self.question.called(request, answer, Decimal("0.5"), unusable(Malformed(why)) if why else None, ())
        return answer

    @property
    def text(self) -> str:
        assert self.writer.written is not None
        return json.dumps([self.writer.written.calls, dict(self.writer.written.prompts)], ensure_ascii=False)

    @property
    def calls(self) -> tuple[TranscribedCall, ...]:
        assert self.writer.written is not None
        return CALLS.validate_json(json.dumps(self.writer.written.calls))


def test_a_call_is_kept_as_its_body_was_sent_with_common_texts_by_their_sha256() -> None:
    kept = Kept()
    kept.answered('{"value": true}')
    (call,) = kept.calls
    assert kept.writer.written is not None
    prompts = kept.writer.written.prompts
    assert [(one.role, one.content) for one in call.messages] == [("system", None), ("user", "title: x")]
    assert prompts[str(call.messages[0].sha256)] == SYSTEM
    assert call.format is not None
    sent: Any = body(REQUEST, Dialect(rung=Rung.STRICT))
    assert json.loads(prompts[str(call.format.sha256)]) == sent["response_format"]["json_schema"]["schema"]
    assert all(sha256_of(text) == name for name, text in prompts.items())
    assert call.parameters["max_tokens"] == 64
    assert call.answer is not None
    assert (call.answer.content, call.answer.thoughts, call.cost) == ('{"value": true}', 12, Decimal("0.5"))
    assert call.usage == Usage(7, 3)


def test_no_key_and_no_header_is_kept_whoever_says_it_back() -> None:
    kept = Kept()
    answer = kept.answered(f'{{"value": "{SECRET}"}}', why=f"no boolean: {SECRET}")
    kept.question.called(REQUEST, CallError(ErrorKind.SERVER, f"500 for {SECRET}", body=answer.body), None, None, ())
    kept.question.found(REQUEST, SECRET, "m-1", (f"extra key {SECRET}",))
    again = repaired(REQUEST, answer, CallError(ErrorKind.MALFORMED, f"said {SECRET}"))
    kept.answered("{}", request=again)
    for secret in (SECRET, "other-secret", "header-value-of-the-test", "Authorization", "X-Team"):
        assert secret not in kept.text
    parameters = kept.calls[0].parameters
    assert parameters["vendor"] == {"api_key": HIDDEN, "top_k": 3}
    assert parameters["prompt_cache_key"] == "abc"  # our own, and no secret


@pytest.mark.parametrize("rung", Rung)
def test_a_repair_is_kept_by_what_it_adds_and_read_back_whole(rung: Rung) -> None:
    kept = Kept()
    answer = kept.answered("yes", rung=rung, why="no JSON object")
    error = CallError(ErrorKind.MALFORMED, "no JSON object")
    request = repaired(REQUEST, answer, error)
    kept.answered('{"value": true}', rung=rung, request=request)
    first, second = kept.calls
    assert first.reading is not None
    assert (first.reading.usable, first.reading.why) == (False, "no JSON object")
    assert kept.writer.written is not None
    told = Transcript.model_validate(
        {"fence": 1, "round": 1, "created_at": "2026-01-01T00:00:00Z", "calls": kept.writer.written.calls}
    )
    prompts = kept.writer.written.prompts
    whole = [(one.role, one.content or prompts[str(one.sha256)]) for one in told.messages_of(1)]
    sent: Any = body(request, Dialect(rung=rung))
    assert whole == [(one["role"], one["content"]) for one in sent["messages"]]
    assert second.after is not None
    assert len(second.messages) == len(sent["messages"]) - second.after[1] < 4


def test_what_the_ledger_could_not_hold_is_replaced_and_what_is_too_long_is_cut_and_said_so() -> None:
    kept = Kept()
    kept.answered("a\x00b\ud800" + "x" * LONGEST_ANSWER)
    (call,) = kept.calls
    assert call.answer is not None
    assert call.answer.content.startswith("a\ufffdb\ufffdx")
    assert (len(call.answer.content), call.answer.cut) == (LONGEST_ANSWER, LONGEST_ANSWER + 4)


def test_marks_for_the_endpoints_cache_stand_beside_the_message_that_they_are_on() -> None:
    kept = Kept()
    marked = ChatRequest(
        **{
            **{name: getattr(REQUEST, name) for name in REQUEST.__slots__},
            "options": {"cache_control": {"type": "ephemeral"}},
        }
    )
    kept.answered("{}", request=marked)
    (call,) = kept.calls
    assert call.messages[0].marks == {"cache_control": {"type": "ephemeral"}}
    assert call.messages[0].sha256 == sha256_of(SYSTEM)


def test_an_answer_that_was_cut_off_is_kept_with_its_error_and_what_was_not_sent_says_so() -> None:
    kept = Kept()
    sent = body(REQUEST, Dialect(rung=Rung.STRICT))
    cut_off = CallError(ErrorKind.TRUNCATED, "cut off", 200, usage=Usage(7, 64), content='{"val', body=sent)
    kept.question.called(REQUEST, cut_off, None, cut_off, ())
    kept.question.called(REQUEST, CallError(ErrorKind.AUTHENTICATION, "no key", sent=False), None, None, ())
    first, second = kept.calls
    assert first.error is not None
    assert (first.error.content, first.sent, first.cost) == ('{"val', True, None)
    assert (second.sent, second.answer, second.after) == (False, None, (0, 2))


def test_a_call_says_status_tier_and_deviations_where_there_are_any_and_nothing_of_them_where_not() -> None:
    kept = Kept()
    tiered = replace(kept.answered("{}"), tier="flex")
    kept.question.called(REQUEST, tiered, Decimal(0), None, ("'Value' read as 'value'",))
    kept.question.called(REQUEST, CallError(ErrorKind.SERVER, "down", 503, body=tiered.body), None, None, ())
    kept.question.called(REQUEST, CallError(ErrorKind.TIMEOUT, "late", body=tiered.body), None, None, ())
    plain, deviating, down, late = kept.calls
    assert (plain.tier, deviating.tier) == (None, "flex")
    assert plain.reading is not None
    assert deviating.reading is not None
    assert (plain.reading.usable, plain.reading.deviations) == (True, ())
    assert (deviating.reading.usable, deviating.reading.deviations) == (True, ("'Value' read as 'value'",))
    assert down.error is not None
    assert late.error is not None
    assert (down.error.status, late.error.status) == (503, None)
    assert kept.writer.written is not None
    assert [sorted({"tier", "usage"} & set(call)) for call in kept.writer.written.calls] == [
        ["usage"],
        ["tier", "usage"],
        [],  # nothing was counted
        [],
    ]


def test_a_schema_is_written_once_for_as_long_as_it_stays_the_same() -> None:
    schemas, batch = SchemaTexts(), uuid4()
    first = schemas.of(batch, "filter", SCHEMA)
    assert schemas.of(batch, "filter", json.loads(json.dumps(SCHEMA)))[1] is first[1]
    other = schemas.of(batch, "filter", {**SCHEMA, "required": []})
    assert other[0] != first[0]
    assert json.loads(other[1]) == {**SCHEMA, "required": []}
