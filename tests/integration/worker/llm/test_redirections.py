"""Where an endpoint points elsewhere: with two real servers, of which the other one must hear nothing."""

from collections.abc import Iterator

import pytest

from stage.listener import Listener
from tamis_schemas import ErrorKind
from tamis_worker.engine.retry import REFUSALS, RetryPolicy, Then, decide
from tamis_worker.llm.llm import CallError, ChatAnswer, ChatRequest, LlmClient, Message, Reply

KEY = "sk-that-stays-here-1234"
PROMPT = "the record of a patient"
QUESTION = ChatRequest("m", (Message("user", PROMPT),), "filter", {"type": "object", "properties": {}}, None, 100)


@pytest.fixture
def here() -> Iterator[Listener]:
    server = Listener()
    yield server
    server.stop()


@pytest.fixture
def elsewhere() -> Iterator[Listener]:
    server = Listener()
    yield server
    server.stop()


async def asked(server: Listener) -> Reply:
    llm = LlmClient(f"{server.url}/v1", KEY, timeout=10.0, connections=2)
    try:
        return await llm.ask(QUESTION)
    finally:
        await llm.close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_neither_prompt_nor_key_goes_to_another_host(here: Listener, elsewhere: Listener, status: int) -> None:
    here.points = [(status, f"{elsewhere.url}/v1/chat/completions?at=hidden")]
    reply = await asked(here)
    assert elsewhere.heard == []
    assert isinstance(reply, CallError)
    assert (reply.kind, reply.status, reply.everyone) == (ErrorKind.MODEL_NOT_FOUND, status, True)
    assert elsewhere.url in reply.message
    assert "correct TAMIS_LLM_BASE_URL" in reply.message
    assert "hidden" not in reply.message


async def test_a_redirection_that_every_call_meets_pauses_the_batch(here: Listener, elsewhere: Listener) -> None:
    here.points = [(307, elsewhere.url)]
    reply = await asked(here)
    assert isinstance(reply, CallError)
    policy = RetryPolicy(max_calls=5, deadline=900.0)
    decision = decide(reply, attempt=0, elapsed=0, policy=policy, jitter=0, in_a_row=REFUSALS)
    assert decision.then is Then.HALT


@pytest.mark.parametrize("status", [307, 308])
async def test_on_the_same_server_the_same_request_is_sent_once_more(here: Listener, status: int) -> None:
    here.points = [(status, "/other/v1/chat/completions")]
    assert isinstance(await asked(here), ChatAnswer)
    first, second = here.heard
    assert second == first.replace("POST /v1/", "POST /other/v1/")
    assert PROMPT in second
    assert KEY in second


async def test_a_second_redirection_is_not_followed(here: Listener, elsewhere: Listener) -> None:
    here.points = [(307, "/other"), (307, f"{elsewhere.url}/v1")]
    reply = await asked(here)
    assert isinstance(reply, CallError)
    assert elsewhere.url in reply.message
    assert (len(here.heard), elsewhere.heard) == (2, [])
