"""An endpoint may answer whatever it likes: a worker reads no more than it was told to, and says no secret of it."""

import asyncio
import base64
import resource
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from llm_double import Double, Fault, Kind, Scripted
from tamis_schemas import ErrorKind
from tamis_worker.llm.llm import CallError, ChatAnswer, ChatRequest, LlmClient, Message

KEY = "key/with+signs=1234567890"
QUESTION = ChatRequest(
    model="m",
    messages=(Message("user", "Is it a trial?"),),
    schema_name="filter",
    schema={"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    temperature=0.0,
    max_tokens=10_000_000,
)


@pytest.fixture
def double(kept_double: Double) -> Double:
    return kept_double


@pytest.fixture
async def llm(double: Double) -> AsyncIterator[LlmClient]:
    llm = LlmClient(double.base_url, KEY, timeout=20.0, connections=8, max_answer_bytes=1_000_000)
    yield llm
    await llm.close()


async def test_an_answer_without_end_is_an_error_after_as_many_bytes_as_are_read(
    double: Double, llm: LlmClient
) -> None:
    double.script(faults=(Fault(Kind.ENDLESS, limit=1),))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reply = await llm.ask(QUESTION)
    assert isinstance(reply, CallError)
    assert reply.kind is ErrorKind.SERVER
    assert reply.message == "the answer has more than 1,000,000 bytes (TAMIS_MAX_ANSWER_BYTES)"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB
    assert isinstance(await llm.ask(QUESTION), ChatAnswer)  # over another connection


async def test_an_answer_of_8_mb_is_an_error_and_the_next_call_goes_on(double: Double, llm: LlmClient) -> None:
    double.script(answers=[Scripted("trial", "x" * 8_000_000)])
    reply = await llm.ask(QUESTION)
    assert isinstance(reply, CallError)
    assert reply.kind is ErrorKind.SERVER
    double.script(answers=[])
    assert isinstance(await llm.ask(QUESTION), ChatAnswer)


async def test_eight_answers_without_end_at_once_take_eight_times_the_bound(double: Double, llm: LlmClient) -> None:
    double.script(faults=[Fault(Kind.ENDLESS)])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    replies = await asyncio.gather(*(llm.ask(QUESTION) for _ in range(8)))
    assert [reply.kind for reply in replies if isinstance(reply, CallError)] == [ErrorKind.SERVER] * 8
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


async def test_an_answer_just_within_the_bound_is_read(double: Double, llm: LlmClient) -> None:
    double.script(answers=(Scripted("trial", "x" * 999_000),))
    reply = await llm.ask(QUESTION)
    assert isinstance(reply, ChatAnswer)
    assert len(reply.content) == 999_000


async def test_an_error_answer_of_any_length_keeps_its_kind(double: Double, llm: LlmClient) -> None:
    double.script(faults=(Fault(Kind.RATE_LIMITED, message="y" * 3_000_000, retry_after="7"),))
    reply = await llm.ask(QUESTION)
    assert isinstance(reply, CallError)
    assert (reply.kind, reply.retry_after) == (ErrorKind.RATE_LIMITED, 7.0)
    assert len(reply.message) <= 500


@pytest.mark.parametrize(
    "echo",
    [
        "you sent {authorization}",
        KEY,
        quote(KEY, safe=""),
        f"x{base64.b64encode(KEY.encode()).decode()}",
        base64.b64encode(f"user:{KEY}".encode()).decode(),
    ],
)
@pytest.mark.parametrize(
    "kind", [Kind.SERVER_ERROR, Kind.UNAUTHORIZED, Kind.BAD_REQUEST, Kind.ERROR_IN_200, Kind.REFUSAL]
)
async def test_a_key_that_the_endpoint_says_back_is_in_no_error(
    double: Double, llm: LlmClient, kind: Kind, echo: str
) -> None:
    double.script(faults=(Fault(kind, message=f"Refused: {echo}."),))
    reply = await llm.ask(QUESTION)
    assert isinstance(reply, CallError)
    assert "[key]" in reply.message
    for form in (KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode()[:-4]):
        assert form not in reply.message


async def test_what_would_steer_a_terminal_is_in_no_error(double: Double, llm: LlmClient) -> None:
    double.script(faults=(Fault(Kind.SERVER_ERROR, message="\x1b[2Jgone\nbatch=1 completed\x9b31m\u202e"),))
    reply: Any = await llm.ask(QUESTION)
    assert reply.message == "500: \ufffd[2Jgone batch=1 completed\ufffd31m\ufffd"


async def test_an_answer_nested_without_end_is_an_error_of_the_endpoint(double: Double, llm: LlmClient) -> None:
    double.script(answers=(Scripted("trial", "[" * 100_000),))
    assert isinstance(
        await llm.ask(QUESTION), ChatAnswer
    )  # its content is text here; reading it is tested in test_answer
