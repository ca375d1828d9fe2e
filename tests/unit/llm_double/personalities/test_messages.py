"""Where in a message, a completion and a response the answer stands."""

import json

import pytest

from llm_double.completion import completion_of
from llm_double.connection import Response
from llm_double.personalities.behaviour import JsonObject
from llm_double.personalities.character import Character
from llm_double.personalities.content_parts import ContentParts
from llm_double.personalities.error_in_200 import UPSTREAM, ErrorIn200, ErrorInChoice, Html
from llm_double.personalities.personality import Personality
from llm_double.personalities.reasons import Reasons, ReasonsOnly
from llm_double.personalities.streams import BlankLines, Streams
from llm_double.personalities.thinks import THOUGHT
from llm_double.personalities.tool_calls import ToolCalls
from stage.asking import SCHEMA, asked

OBJECT = '{"decision": "include"}'
THOUGHT_TOKENS = -(-len(THOUGHT) // 4)


def message() -> JsonObject:
    return {"role": "assistant", "content": OBJECT, "refusal": None}


def completion(*personalities: Personality) -> JsonObject:
    return completion_of(asked("x" * 40, schema=SCHEMA), OBJECT, Character(personalities), None)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thoughts_stand_beside_the_content(field: str) -> None:
    assert Reasons(field).message(asked("x"), message()) == {**message(), field: THOUGHT}


@pytest.mark.parametrize(
    ("reasons", "content", "reasoning"),
    [
        (ReasonsOnly(), "", f"{THOUGHT}\n\n{OBJECT}"),
        (ReasonsOnly(thinks=False), "", OBJECT),
        (ReasonsOnly(null=True), None, f"{THOUGHT}\n\n{OBJECT}"),
    ],
)
def test_everything_may_stand_among_the_thoughts(reasons: ReasonsOnly, content: str | None, reasoning: str) -> None:
    assert reasons.message(asked("x"), message()) == {
        **message(),
        "content": content,
        "reasoning_content": reasoning,
    }


def test_thoughts_are_billed_as_completion_and_named_as_reasoning() -> None:
    usage = completion(Personality("reasoning_content"))["usage"]
    assert usage["completion_tokens"] == 6 + THOUGHT_TOKENS  # the object has 23 characters
    assert usage["completion_tokens_details"] == {"reasoning_tokens": THOUGHT_TOKENS}
    assert usage["total_tokens"] == 10 + 6 + THOUGHT_TOKENS  # the prompt has 40
    assert "completion_tokens_details" not in completion()["usage"]


def test_the_answer_may_be_the_arguments_of_a_call_and_costs_the_same() -> None:
    called = ToolCalls().message(asked("x", schema=SCHEMA), message())
    (call,) = called["tool_calls"]
    assert (called["content"], call["function"]) == (None, {"name": "x", "arguments": OBJECT})
    whole = Character([Personality("tool_calls")]).completion(asked("x"), completion(Personality("tool_calls")))
    assert whole["choices"][0]["finish_reason"] == "tool_calls"
    assert whole["usage"] == completion()["usage"]


def test_a_message_without_content_calls_no_tool() -> None:
    empty = message() | {"content": None}
    assert ToolCalls().message(asked("x"), empty) == empty
    assert ContentParts().message(asked("x"), empty) == empty


@pytest.mark.parametrize(
    ("parts", "first"),
    [
        (ContentParts(), {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}),
        (ContentParts("reasoning"), {"type": "reasoning", "text": THOUGHT}),
        (ContentParts(""), {"type": "text", "text": OBJECT[:11]}),
    ],
)
def test_the_content_may_come_in_parts_with_a_thought_among_them(parts: ContentParts, first: JsonObject) -> None:
    content = parts.message(asked("x"), message())["content"]
    assert content[0] == first
    assert "".join(part["text"] for part in content if part["type"] == "text") == OBJECT


@pytest.mark.parametrize(
    ("form", "code"), [("integer", 503), ("string", "503"), ("words", "upstream_error"), ("nested", 503)]
)
def test_an_error_comes_with_200_and_what_upstream_said(form: str, code: object) -> None:
    said = ErrorIn200(form, 503).refusal(asked("x"))
    error = json.loads(said.body)["error"]
    assert (said.status, error["code"]) == (200, code)
    assert UPSTREAM in said.body.decode()


def test_an_error_may_be_a_mere_text_and_no_other_form_exists() -> None:
    assert json.loads(ErrorIn200("text").refusal(asked("x")).body) == {"error": UPSTREAM}
    with pytest.raises(ValueError, match="'odd'"):
        ErrorIn200("odd")


def test_a_completion_may_break_off_with_an_error_in_its_choice() -> None:
    (choice,) = ErrorInChoice().completion(asked("x"), completion())["choices"]
    assert choice["message"]["content"] == OBJECT[:11]
    assert (choice["finish_reason"], choice["error"]["code"]) == ("error", 502)


def test_a_page_comes_with_200() -> None:
    said = Html().refusal(asked("x"))
    assert (said.status, said.content_type) == (200, "text/html; charset=utf-8")


@pytest.mark.parametrize("comments", [False, True])
def test_a_stream_carries_the_same_answer_in_chunks(comments: bool) -> None:
    whole = completion(Personality("reasoning_content"))
    said = Streams(characters=5, comments=comments).response(asked("x"), Response(), whole)
    events = said.body.decode().split("\n\n")
    assert said.content_type == "text/event-stream"
    assert events[-2:] == ["data: [DONE]", ""]
    assert any(event.startswith(":") for event in events) is comments
    chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-2] if event.startswith("data: ")]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert deltas[0] == {"role": "assistant", "refusal": None, "reasoning_content": THOUGHT, "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == OBJECT
    reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]]
    assert [reason for reason in reasons if reason] == ["stop"]
    assert (chunks[-1]["choices"], chunks[-1]["usage"]) == ([], whole["usage"])


def test_empty_lines_come_before_the_body() -> None:
    assert BlankLines(3).response(asked("x"), Response(b"{}"), {}).body == b"\n\n\n{}"
