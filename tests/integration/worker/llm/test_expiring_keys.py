"""Keys that expire while calls are made: the real client against an endpoint that refuses the old one."""

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from llm_double import Double, Personality
from tamis_schemas import ErrorKind
from tamis_worker.llm.api_key import CommandKey, FileKey, KeySource
from tamis_worker.llm.llm import CallError, ChatAnswer, ChatRequest, LlmClient, Message, Reply

KEYS = ("key-of-the-first-hour", "key-of-the-second-hour", "key-of-the-third-hour")
QUESTION = ChatRequest("m", (Message("user", "Is it?"),), "filter", {"type": "object", "properties": {}}, None, 100)


@pytest.fixture
def double(kept_double: Double) -> Double:
    kept_double.script(personalities=[Personality("expiring_key", keys=KEYS)])
    return kept_double


class Rewritten:
    """A file that holds the key, and a command that prints it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.holds(KEYS[0])

    def holds(self, key: str) -> None:
        self.path.write_text(key + "\n")

    @property
    def command(self) -> str:
        return shlex.join([sys.executable, "-SIc", f"print(open({str(self.path)!r}).read())"])


@pytest.fixture
def rewritten(tmp_path: Path) -> Rewritten:
    return Rewritten(tmp_path / "key")


@pytest.fixture(params=["file", "command"])
async def llm(request: pytest.FixtureRequest, double: Double, rewritten: Rewritten) -> AsyncIterator[LlmClient]:
    def frozen() -> float:
        return 0.0  # nothing is renewed for its age

    source: KeySource = (
        FileKey(KEYS[0], rewritten.path, clock=frozen)
        if request.param == "file"
        else CommandKey(rewritten.command, clock=frozen)
    )
    llm = LlmClient(double.base_url, source, timeout=20.0, connections=64)
    yield llm
    await llm.close()


async def asked_by_many(llm: LlmClient) -> list[Reply]:
    questions = [replace(QUESTION, messages=(Message("user", f"Is {n}?"),)) for n in range(32)]
    return list(await asyncio.gather(*(llm.ask(question) for question in questions)))


async def test_calls_that_meet_an_expired_key_go_again_with_the_new_one(
    double: Double, llm: LlmClient, rewritten: Rewritten
) -> None:
    assert isinstance(await llm.ask(QUESTION), ChatAnswer)
    for key in KEYS[1:]:
        assert double.rotate_key() == key
        rewritten.holds(key)
        assert {type(reply) for reply in await asked_by_many(llm)} == {ChatAnswer}
    assert double.count(200) == 1 + 32 + 32
    assert double.count(401) <= 64


async def test_calls_in_flight_on_the_old_key_are_answered(
    double: Double, llm: LlmClient, rewritten: Rewritten
) -> None:
    await llm.ask(QUESTION)
    double.script(latency=1.0)
    in_flight = asyncio.create_task(asked_by_many(llm))
    await asyncio.to_thread(double.wait, in_flight=32)
    double.rotate_key()
    rewritten.holds(KEYS[1])
    late = await asked_by_many(llm)
    assert {type(reply) for reply in (*late, *await in_flight)} == {ChatAnswer}


async def test_the_same_key_again_is_the_refusal_that_it_was_before(double: Double, llm: LlmClient) -> None:
    await llm.ask(QUESTION)
    double.rotate_key()
    reply = await llm.ask(QUESTION)
    assert isinstance(reply, CallError)
    assert (reply.kind, reply.everyone) == (ErrorKind.AUTHENTICATION, True)
    assert double.count(401) == 1


async def test_a_new_key_that_is_refused_too_is_a_refusal_and_neither_is_said(
    double: Double, llm: LlmClient, rewritten: Rewritten
) -> None:
    await llm.ask(QUESTION)
    double.rotate_key()
    rewritten.holds("key-of-somebody-else")
    reply = await llm.ask(QUESTION)
    assert isinstance(reply, CallError)
    assert (reply.kind, reply.everyone) == (ErrorKind.AUTHENTICATION, True)
    assert double.count(401) == 2
    assert "hour" not in repr(reply) + repr(vars(llm))
    assert "somebody" not in repr(reply) + repr(vars(llm))


async def test_without_any_key_nothing_is_sent_and_every_call_would_meet_it(double: Double) -> None:
    llm = LlmClient(double.base_url, CommandKey("false"), timeout=5.0, connections=1)
    reply = await llm.ask(QUESTION)
    await llm.close()
    assert isinstance(reply, CallError)
    assert (reply.kind, reply.everyone, reply.sent) == (ErrorKind.AUTHENTICATION, True, False)
    assert reply.message == "there is no API key: TAMIS_LLM_API_KEY_COMMAND ended with exit status 1"
    assert double.count() == 0
