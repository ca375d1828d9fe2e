"""What an HTTP 200 came to: every way in which endpoints write an answer, or something else, into one."""

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import ErrorKind, Usage
from tamis_worker.llm.chat import CallError, ChatAnswer, Reply
from tamis_worker.llm.completion import MOST_TOKENS, read_completion

KEY = "key-of-the-test-1234"
OBJECT = '{"value": true}'
USAGE = {"prompt_tokens": 7, "completion_tokens": 4}


def completion(message: Any, finish_reason: Any = "stop", **more: Any) -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"message": message, "finish_reason": finish_reason}], "usage": USAGE, **more}


def read(received: object, content_type: str = "application/json") -> Reply:
    body = received if isinstance(received, bytes) else json.dumps(received).encode()
    return read_completion(body, content_type=content_type, api_key=KEY)


def answered(received: object, content_type: str = "application/json") -> ChatAnswer:
    reply = read(received, content_type)
    assert isinstance(reply, ChatAnswer), reply
    return reply


def failed(received: object, content_type: str = "application/json") -> CallError:
    reply = read(received, content_type)
    assert isinstance(reply, CallError), reply
    return reply


def call(arguments: object, name: str = "filter") -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": '{"value": false}'}]}


@pytest.mark.parametrize(
    "message",
    [
        {"content": OBJECT},
        {"content": OBJECT, "tool_calls": [call('{"value": false}')]},
        {"content": OBJECT, "reasoning_content": '{"value": false}'},
        {"content": [{"type": "text", "text": OBJECT}]},
        {"content": [{"text": '{"value"'}, {"type": "output_text", "text": ": true}"}]},
        {"content": ['{"value"', ": true}"]},
        {"content": json.loads(OBJECT)},
        {"content": {"type": "text", "text": OBJECT}},
        {"content": [THOUGHT, {"type": "text", "text": OBJECT}]},
        {"content": [{"type": "reasoning", "text": '{"value": false}'}, {"type": "text", "text": OBJECT}]},
        {"content": [{"type": "image_url", "image_url": {}}, 5, None, {"type": "text", "text": OBJECT}]},
        {"content": None, "tool_calls": [call(OBJECT)]},
        {"content": " \n", "tool_calls": [call(OBJECT)]},
        {"content": "", "tool_calls": [call({"value": True})]},
        {"content": None, "function_call": {"name": "filter", "arguments": OBJECT}},
        {"content": None, "tool_calls": [call(OBJECT)], "reasoning_content": "hm"},
    ],
)
def test_the_answer_is_the_content_or_the_arguments_of_the_only_tool_call(message: Any) -> None:
    answer = answered(completion(message, service_tier="flex", id="chatcmpl-1"))
    assert (answer.content, answer.model, answer.usage, answer.tier) == (OBJECT, "m-1", Usage(7, 4), "flex")
    assert (answer.id, answered(completion(message, id=5)).id) == ("chatcmpl-1", None)


@pytest.mark.parametrize(
    ("message", "finish_reason", "kind", "words"),
    [
        ({"content": ""}, "stop", ErrorKind.EMPTY, "no content; finish_reason 'stop'"),
        ({"content": None}, None, ErrorKind.EMPTY, "no content; finish_reason 'stop'"),
        ({"content": 5}, "stop", ErrorKind.EMPTY, "no content"),
        ({"content": "", "tool_calls": [call("{}"), call("{}")]}, "tool_calls", ErrorKind.EMPTY, "2 tool calls"),
        ({"content": "", "tool_calls": [call("")]}, "tool_calls", ErrorKind.EMPTY, "no content; finish_reason"),
        ({"content": "", "tool_calls": [call(" ")]}, "tool_calls", ErrorKind.EMPTY, "no content; finish_reason"),
        ({"content": "", "tool_calls": "x"}, "stop", ErrorKind.EMPTY, "no content"),
        ({"content": "", "reasoning_content": OBJECT}, "stop", ErrorKind.EMPTY, "the model only reasoned"),
        ({"content": None, "reasoning": OBJECT}, "stop", ErrorKind.EMPTY, "the model only reasoned"),
        ({"content": [THOUGHT]}, "stop", ErrorKind.EMPTY, "the model only reasoned"),
        (
            {"content": "", "reasoning_content": OBJECT},
            "length",
            ErrorKind.TRUNCATED,
            "the model only reasoned: the whole budget (4 tokens) was used before an answer",
        ),
        ({"content": '{"val'}, "length", ErrorKind.TRUNCATED, "cut off after 4 tokens"),
        ({"content": None, "tool_calls": [call('{"val')]}, "length", ErrorKind.TRUNCATED, "cut off"),
        ({"content": "", "refusal": f"not with {KEY}"}, "stop", ErrorKind.REFUSED, "refuses: not with [key]"),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "stop", ErrorKind.REFUSED, "refuses: No."),
        ({"content": OBJECT}, "content_filter", ErrorKind.CONTENT_FILTER, "blocked the answer"),
        ({"content": ""}, "SAFETY", ErrorKind.CONTENT_FILTER, "blocked the answer"),
        ({"content": ""}, "RECITATION", ErrorKind.CONTENT_FILTER, "blocked the answer"),
        ({"content": '{"val'}, "MAX_TOKENS", ErrorKind.TRUNCATED, "cut off after 4 tokens"),
        ({"content": '{"val'}, "max_tokens", ErrorKind.TRUNCATED, "cut off after 4 tokens"),
        (None, "stop", ErrorKind.EMPTY, "contains no choice"),
        ("text", "stop", ErrorKind.EMPTY, "contains no choice"),
    ],
)
def test_an_answer_that_cannot_be_used_says_why_and_keeps_what_was_paid(
    message: Any, finish_reason: Any, kind: ErrorKind, words: str
) -> None:
    error = failed(completion(message, finish_reason, service_tier="default"))
    assert (error.kind, error.status, error.usage, error.tier) == (kind, 200, Usage(7, 4), "default")
    assert words in error.message


@pytest.mark.parametrize("finish_reason", ["length", "MAX_TOKENS"])
@pytest.mark.parametrize(
    "content", [OBJECT, f"{OBJECT} \n \n", f"```json\n{OBJECT}\n```", f"<think>hm</think>{OBJECT}"]
)
def test_a_whole_object_was_not_cut_off_whatever_the_finish_reason_says(content: str, finish_reason: str) -> None:
    assert answered(completion({"content": content}, finish_reason)).content == content


@pytest.mark.parametrize("content", [f"{OBJECT} But", f"<think>{OBJECT}", f"```json\n{OBJECT}", "7", f"[{OBJECT}]"])
def test_other_text_at_the_end_of_the_budget_was_cut_off(content: str) -> None:
    assert failed(completion({"content": content}, "length")).kind is ErrorKind.TRUNCATED


@pytest.mark.parametrize("choices", [[], None, "x", [None], [5], {}])
def test_an_answer_without_a_choice_is_empty(choices: Any) -> None:
    error = failed({"choices": choices, "usage": USAGE})
    assert (error.kind, error.usage) == (ErrorKind.EMPTY, Usage(7, 4))


RAW = json.dumps({"error": {"message": "Schema too complex", "code": "context_length_exceeded"}})


@pytest.mark.parametrize(
    ("error", "kind", "status", "message"),
    [
        ({"code": 502, "message": "upstream"}, ErrorKind.SERVER, 502, "502: upstream"),
        ({"code": "429", "message": "slow down"}, ErrorKind.RATE_LIMITED, 429, "429: slow down"),
        ({"message": "no code"}, ErrorKind.SERVER, 500, "500: no code"),
        ({"code": 200, "message": "odd"}, ErrorKind.SERVER, 500, "500: odd"),
        ({"code": 400, "message": "bad"}, ErrorKind.INVALID_REQUEST, 400, "400: bad"),
        ({"code": 401, "message": "who?"}, ErrorKind.AUTHENTICATION, 401, "401: who?"),
        ("overloaded", ErrorKind.SERVER, 500, "500: overloaded"),
        (["a", "b"], ErrorKind.SERVER, 500, "500: ['a', 'b']"),
        ({"code": 400, "message": "wrapped", "metadata": {"raw": "in words"}}, None, 400, "400: wrapped: in words"),
        (
            {"code": 400, "message": "Provider returned error", "metadata": {"raw": RAW}},
            ErrorKind.CONTEXT_LENGTH,
            400,
            "400: Provider returned error: Schema too complex",
        ),
        ({"code": 400, "message": RAW}, ErrorKind.CONTEXT_LENGTH, 400, "400: Schema too complex"),
        ({"code": 500, "message": "{not json"}, ErrorKind.SERVER, 500, "500: {not json"),
        ({"code": 500, "message": f"you sent {KEY}"}, ErrorKind.SERVER, 500, "500: you sent [key]"),
    ],
)
def test_an_error_inside_a_200_keeps_the_upstreams_text_and_what_was_paid(
    error: Any, kind: ErrorKind | None, status: int, message: str
) -> None:
    for received in ({"error": error, "usage": USAGE}, {"choices": [{"error": error}], "usage": USAGE}):
        reply = failed(received)
        assert reply.kind is (kind or ErrorKind.INVALID_REQUEST)
        assert (reply.status, reply.usage) == (status, Usage(7, 4))
        assert reply.message.startswith(message)


def test_an_error_as_older_servers_write_it_and_as_a_list_is_one_too() -> None:
    assert failed({"object": "error", "message": "too long", "code": 400}).message == "400: too long"
    assert failed([{"error": {"code": 503, "message": "busy"}}]).message == "503: busy"


def test_no_error_is_none() -> None:
    for nothing in (None, {}, "", [], 0):
        assert answered(completion({"content": OBJECT}, error=nothing)).content == OBJECT


@pytest.mark.parametrize(
    ("body", "content_type", "words"),
    [
        (b"<!doctype html><html><title>Sign in</title>", "text/html", "a page of HTML with the title 'Sign in'"),
        (b"<html><body>x</body></html>", "", "a page of HTML; does TAMIS_LLM_BASE_URL end in /v1?"),
        (b"please log in", "text/html; charset=utf-8", "a page of HTML"),
        (b"<TITLE>" + KEY.encode() + b"</TITLE>", "", "the title '[key]'"),
        (b"", "application/json", "answered nothing"),
        (b" \n ", "application/json", "answered nothing"),
        (b'{"choices": [{"mess', "application/json", "not JSON"),
        (b"\xff\xfe\x00", "application/json", "not JSON"),
        (b'"text"', "application/json", "not an API answer; does TAMIS_LLM_BASE_URL end in /v1? 'text'"),
        (b"[1, 2]", "application/json", "not an API answer"),
        (b'{"detail": "Not Found"}', "application/json", "Not Found"),
        (b"[" * 100_000, "application/json", "nested too deeply"),
    ],
)
def test_what_is_no_answer_is_an_error_of_the_endpoint_that_shows_it(
    body: bytes, content_type: str, words: str
) -> None:
    error = failed(body, content_type)
    assert (error.kind, error.status, error.usage) == (ErrorKind.SERVER, 200, Usage())
    assert words in error.message


COUNTS = [
    (7, 7),
    (0, 0),
    (-1, 0),
    (None, 0),
    (True, 0),
    ("7", 0),
    (7.0, 7),
    (7.5, 0),
    ([], 0),
    (10**11, 10**11),
    (10**12, MOST_TOKENS),
    (10**18, MOST_TOKENS),
    (1e400, MOST_TOKENS),
    (float("nan"), 0),
    (-(10**30), 0),
    (1, 1),
]


@pytest.mark.parametrize(("told", "count"), COUNTS)
def test_a_count_is_believed_clamped_or_none(told: Any, count: int) -> None:
    usage = answered(completion({"content": OBJECT}, usage={"prompt_tokens": told, "completion_tokens": 3})).usage
    assert usage == Usage(count, 3)


@pytest.mark.parametrize("digits", [4_000, 5_000, 1_000_000])
def test_a_count_of_any_length_is_read_at_once_and_clamped(digits: int) -> None:
    body = b'{"choices": [{"message": {"content": "{}"}}], "usage": {"prompt_tokens": ' + b"9" * digits + b"}}"
    before = process_time()
    assert answered(body).usage == Usage(MOST_TOKENS)
    assert process_time() - before < 1.0  # as an int, a million digits take minutes


@pytest.mark.parametrize("usage", [None, 5, "x", [], {}])
def test_missing_usage_is_no_usage(usage: Any) -> None:
    assert answered(completion({"content": OBJECT}, usage=usage)).usage == Usage()


NAMES = [
    "choices",
    "message",
    "content",
    "usage",
    "error",
    "finish_reason",
    "tool_calls",
    "function",
    "metadata",
    "raw",
]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(values, values, values)
def test_whatever_an_endpoint_answers_is_a_reply(received: Any, message: Any, usage: Any) -> None:
    for body in (received, completion(message, usage=usage), completion(message, message, error=received)):
        reply = read(body)
        assert 0 <= reply.usage.prompt_tokens <= MOST_TOKENS
        assert reply.usage.cached_tokens + reply.usage.cache_write_tokens <= reply.usage.prompt_tokens


@given(st.binary() | st.text().map(str.encode))
def test_whatever_bytes_come_are_a_reply(body: bytes) -> None:
    for content_type in ("application/json", "text/event-stream", "text/html"):
        assert isinstance(read(body, content_type), CallError)
        assert isinstance(read(b"data: " + body, content_type), CallError)


@pytest.mark.parametrize("told", [None, {}, {"content": None}, [], "x", {"content": [{"token": "a"}]}])
def test_the_tokens_of_an_answer_are_taken_as_they_come(told: Any) -> None:
    received = completion({"content": OBJECT})
    received["choices"][0]["logprobs"] = told
    assert answered(received).tokens == (told.get("content") if isinstance(told, dict) else None)
