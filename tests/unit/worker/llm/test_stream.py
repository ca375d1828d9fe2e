"""A stream that nobody asked for is put together, and read as an answer that came whole."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import ErrorKind, Usage
from tamis_worker.llm.chat import CallError, ChatAnswer, Reply
from tamis_worker.llm.completion import read_completion

OBJECT = '{"value": "a\u2028b\u0085c"}'  # line ends of Unicode, which end no event


def chunk(delta: dict[str, Any] | None = None, finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
    return {"model": "m-1", "choices": choices, **more}


def sent(*events: object, end: str = "\n\n", done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(event, ensure_ascii=False)}" for event in events]
    return end.join([*lines, *(["data: [DONE]"] if done else []), ""]).encode()


def read(body: bytes, content_type: str = "text/event-stream") -> Reply:
    return read_completion(body, content_type=content_type, api_key="key-of-the-test")


PIECES = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": '{"value": "no"}'}),
    chunk({"content": OBJECT[:5]}, usage=None),
    chunk({"content": OBJECT[5:]}, service_tier="flex"),
    chunk({}, "stop"),
    chunk(None, usage={"prompt_tokens": 7, "completion_tokens": 4}),
]


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\n", "\r\r", "\n: keep-alive\n\n", "\nevent: x\nid: 5\n\n"])
@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json", ""])
def test_the_pieces_are_one_answer_with_the_usage_of_the_last(end: str, content_type: str) -> None:
    whole = ChatAnswer(OBJECT, "m-1", Usage(7, 4), "stop", 0, tier="flex", thoughts=len('{"value": "no"}'))
    assert read(sent(*PIECES, end=end), content_type) == whole


def test_comments_before_the_first_event_do_not_hide_it() -> None:
    assert isinstance(read(b": PROCESSING\n\n: PROCESSING\n\n" + sent(*PIECES), "application/json"), ChatAnswer)


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.lists(st.integers(0, 50)))
def test_where_a_content_is_cut_into_pieces_is_no_matter(content: str, cuts: list[int]) -> None:
    places = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    pieces = [content[a:b] for a, b in pairwise(places)]
    reply = read(sent(*(chunk({"content": piece}) for piece in pieces)))
    assert isinstance(reply, ChatAnswer) or not content.strip()
    if isinstance(reply, ChatAnswer):
        assert reply.content == content


def test_of_several_choices_whose_pieces_are_mixed_the_first_is_read() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]}
    reply = read(sent(PIECES[2], other, PIECES[3], other))
    assert isinstance(reply, ChatAnswer)
    assert reply.content == OBJECT


def test_a_tool_call_in_pieces_is_the_answer() -> None:
    def piece(arguments: str, **more: Any) -> dict[str, Any]:
        return chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments, **more}}]})

    reply = read(sent(piece("", name="filter"), piece('{"value"'), piece(": true}"), chunk({}, "tool_calls")))
    assert isinstance(reply, ChatAnswer)
    assert reply.content == '{"value": true}'


def test_an_answer_that_came_whole_in_one_event_and_parts_are_read_too() -> None:
    whole = {"choices": [{"message": {"content": OBJECT}, "finish_reason": "stop"}]}
    parts = chunk({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": OBJECT}]}, "stop")
    for event in (whole, parts):
        reply = read(sent(event))
        assert isinstance(reply, ChatAnswer)
        assert reply.content == OBJECT


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (sent(*PIECES[:4], done=False), ErrorKind.SERVER, "ends before the answer does"),
        (sent(chunk({"content": "{"}, "length")), ErrorKind.TRUNCATED, "cut off"),
        (sent(chunk({"reasoning_content": "hm"}, "stop")), ErrorKind.EMPTY, "the model only reasoned"),
        (sent(PIECES[2], {"error": {"code": 429, "message": "slow"}}), ErrorKind.RATE_LIMITED, "429: slow"),
        (sent(5), ErrorKind.SERVER, "not a JSON object"),
        (b"data: {oh\n\n", ErrorKind.SERVER, "stream that cannot be read"),
        (b"data: [DONE]\n\n", ErrorKind.EMPTY, "no choice"),
        (b"data:\n\n", ErrorKind.SERVER, "ends before"),
    ],
)
def test_a_stream_that_holds_no_answer_is_an_error(body: bytes, kind: ErrorKind, words: str) -> None:
    reply = read(body)
    assert isinstance(reply, CallError)
    assert reply.kind is kind
    assert words in reply.message


def test_json_under_the_type_of_a_stream_is_json() -> None:
    body = json.dumps({"choices": [{"message": {"content": OBJECT}}]}).encode()
    assert isinstance(read(body), ChatAnswer)


def test_the_probabilities_of_tokens_are_put_together_with_the_pieces() -> None:
    pieces = [chunk({"content": OBJECT[:5]}), chunk({"content": OBJECT[5:]}), chunk({}, "stop")]
    for piece, tokens in zip(pieces, ([{"token": "a"}], [{"token": "b"}, {"token": "c"}], None), strict=True):
        piece["choices"][0]["logprobs"] = None if tokens is None else {"content": tokens}
    reply = read(sent(*pieces))
    assert isinstance(reply, ChatAnswer)
    assert reply.tokens == [{"token": "a"}, {"token": "b"}, {"token": "c"}]
    assert isinstance(without := read(sent(*PIECES)), ChatAnswer)
    assert without.tokens is None
