"""Calls by the package's public path, where the cheap one is gone, against the double: what they give is the same."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from llm_double import Double, Fault, Kind
from stage.listener import Listener
from tamis_schemas import ErrorKind
from tamis_worker.llm.lean_client import warn_of
from tamis_worker.llm.llm import CallError, ChatRequest, LlmClient, Message, Reply

KEY = "sk-double-1234567890"
QUESTION = ChatRequest(
    model="m",
    messages=(Message("system", "You screen."), Message("user", "Is it a trial? 試験")),
    schema_name="filter",
    schema={"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    temperature=0.0,
    max_tokens=200,
    timeout=1.0,
    headers={"X-Project": "p-1"},
)
FAULTS = [
    *(Kind.RATE_LIMITED, Kind.UNAUTHORIZED, Kind.BAD_REQUEST, Kind.SERVER_ERROR, Kind.BAD_GATEWAY, Kind.DROPPED),
    *(Kind.CUT, Kind.ENDLESS, Kind.NOT_JSON, Kind.SLOW),
]

Hide = Callable[[], None]


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hide]:
    """Take from the package what the cheap path needs; the package itself goes on with it."""
    warn_of.cache_clear()
    yield lambda: monkeypatch.delattr("openai._models.FinalRequestOptions")
    warn_of.cache_clear()


@asynccontextmanager
async def opened(base_url: str) -> AsyncIterator[LlmClient]:
    llm = LlmClient(base_url, KEY, timeout=10.0, connections=4, max_answer_bytes=100_000)
    try:
        yield llm
    finally:
        await llm.close()


def compared(reply: Reply) -> Reply:
    """A reply without what differs from call to call."""
    reply = replace(reply, latency_ms=0)
    return replace(reply, message=reply.message.rstrip("0123456789")) if isinstance(reply, CallError) else reply


async def test_answers_and_errors_are_the_same_and_one_warning_is_said(
    kept_double: Double, hide: Hide, caplog: pytest.LogCaptureFixture
) -> None:
    async def replies() -> list[Reply]:
        kept_double.reset()
        async with opened(kept_double.base_url) as llm:
            collected = [compared(await llm.ask(QUESTION))]
            for kind in FAULTS:
                kept_double.script(faults=[Fault(kind, retry_after="7", delay=5.0 if kind is Kind.SLOW else 0.0)])
                collected.append(compared(await llm.ask(QUESTION)))
        return collected

    leanly = await replies()
    calls = [(call.parameters, call.response_format, call.key_matches) for call in kept_double.calls()]
    assert caplog.records == []
    kinds = {reply.kind for reply in leanly if isinstance(reply, CallError)}
    assert {ErrorKind.RATE_LIMITED, ErrorKind.AUTHENTICATION, ErrorKind.SERVER, ErrorKind.TIMEOUT} <= kinds
    hide()
    publicly = await replies()
    for kind, cheap, public in zip(["an answer", *FAULTS], leanly, publicly, strict=True):
        assert public == cheap, kind
    assert [(call.parameters, call.response_format, call.key_matches) for call in kept_double.calls()] == calls
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_on_the_same_server_a_redirection_is_followed_once_and_to_nowhere_else(hide: Hide) -> None:
    hide()
    here, elsewhere = Listener(), Listener()
    here.points = [(307, "/other/v1/chat/completions"), (308, f"{elsewhere.url}/v1/chat/completions")]
    async with opened(f"{here.url}/v1") as llm:
        reply = await llm.ask(QUESTION)
    here.stop()
    elsewhere.stop()
    assert isinstance(reply, CallError)
    assert elsewhere.url in reply.message
    assert elsewhere.heard == []
    first, second = here.heard
    assert second == first.replace("POST /v1/", "POST /other/v1/")
    assert f"authorization: Bearer {KEY}" in second.replace("Authorization", "authorization")
    assert "p-1" in second
