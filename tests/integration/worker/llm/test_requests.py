"""What a request may add of its own: headers, and time."""

import asyncio
from dataclasses import replace

from llm_double import Double
from stage.listener import Listener
from tamis_schemas import ErrorKind
from tamis_worker.llm.llm import CallError, ChatAnswer, ChatRequest, LlmClient, Message

QUESTION = ChatRequest("m", (Message("user", "Is it?"),), "filter", {"type": "object", "properties": {}}, None, 100)


async def test_extra_headers_reach_the_endpoint_and_never_replace_the_key() -> None:
    server = Listener()
    llm = LlmClient(f"{server.url}/v1", "key-that-stays", timeout=5.0, connections=1)
    try:
        given = {"X-Project": "p-1", "authorization": "Bearer theirs"}
        assert isinstance(await llm.ask(replace(QUESTION, headers=given)), ChatAnswer)
        assert isinstance(await llm.ask(QUESTION), ChatAnswer)
    finally:
        await llm.close()
        server.stop()
    first, second = (heard.lower() for heard in server.heard)
    assert "\nx-project: p-1\n" in first
    assert "x-project" not in second
    assert "authorization: bearer key-that-stays\n" in first
    assert "theirs" not in first


async def test_a_call_may_have_a_longer_or_a_shorter_time_of_its_own(double: Double) -> None:
    double.script(latency=1.0)
    llm = LlmClient(double.base_url, "key-that-stays", timeout=0.3, connections=2)
    usual, longer = await asyncio.gather(llm.ask(QUESTION), llm.ask(replace(QUESTION, timeout=20.0)))
    await llm.close()
    assert isinstance(usual, CallError)
    assert usual.kind is ErrorKind.TIMEOUT
    assert isinstance(longer, ChatAnswer)
    llm = LlmClient(double.base_url, "key-that-stays", timeout=20.0, connections=2)
    shorter = await llm.ask(replace(QUESTION, timeout=0.3))
    await llm.close()
    assert isinstance(shorter, CallError)
    assert shorter.kind is ErrorKind.TIMEOUT
