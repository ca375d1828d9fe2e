"""The real client against endpoints that answer in their own ways: what comes of each, over HTTP."""

import json
from collections.abc import AsyncIterator

import pytest

from llm_double import Double, Personality
from stage.asking import SCHEMA
from tamis_schemas import ErrorKind
from tamis_worker.llm.completion import MOST_TOKENS
from tamis_worker.llm.llm import CallError, ChatAnswer, ChatRequest, LlmClient, Message

QUESTION = ChatRequest("m", (Message("user", "Is it?"),), "inclusion", SCHEMA, None, 1_000)


@pytest.fixture
async def llm(kept_double: Double) -> AsyncIterator[LlmClient]:
    llm = LlmClient(kept_double.base_url, "key-of-the-test", timeout=20.0, connections=2)
    yield llm
    await llm.close()


@pytest.mark.parametrize("name", ["streams", "tool_calls", "content_parts"])
async def test_an_answer_is_found_wherever_the_endpoint_puts_it(kept_double: Double, llm: LlmClient, name: str) -> None:
    kept_double.script(personalities=[Personality(name)])
    reply = await llm.ask(QUESTION)
    assert isinstance(reply, ChatAnswer)
    assert set(json.loads(reply.content)) == set(SCHEMA["properties"])
    assert reply.usage.prompt_tokens > 0
    assert kept_double.count() == 1


@pytest.mark.parametrize("digits", [12, 13, 4_000])
async def test_absurd_usage_is_clamped(kept_double: Double, llm: LlmClient, digits: int) -> None:
    kept_double.script(personalities=[Personality("usage_absurd", digits=digits)])
    reply = await llm.ask(QUESTION)
    assert isinstance(reply, ChatAnswer)
    assert reply.usage.prompt_tokens == min(MOST_TOKENS, 10 ** (digits - 1))


async def test_an_error_in_a_200_keeps_its_text(kept_double: Double, llm: LlmClient) -> None:
    kept_double.script(personalities=[Personality("error_in_200")])
    reply = await llm.ask(QUESTION)
    assert isinstance(reply, CallError)
    assert reply.kind is not ErrorKind.EMPTY
    assert len(reply.message) > len("500: no message")
    assert "no message" not in reply.message
