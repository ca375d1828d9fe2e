"""The double over HTTP: what it answers, what it remembers, what it never keeps."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from llm_double import Double, Fault, Kind, Options, Scripted

SCHEMA = {"type": "object", "properties": {"value": {"type": "boolean"}}, "required": ["value"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}


@pytest.fixture
def double(kept_double: Double) -> Double:
    return kept_double


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield session


async def ask(double: Double, session: aiohttp.ClientSession, text: str = "hi", **more: Any) -> aiohttp.ClientResponse:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "response_format": FORMAT, **more}
    key = {"authorization": "Bearer sk-very-secret"}
    response = await session.post(f"{double.base_url}/chat/completions", json=body, headers=key)
    await response.read()
    return response


async def content(response: aiohttp.ClientResponse) -> Any:
    return json.loads((await response.json())["choices"][0]["message"]["content"])


async def test_an_answer_follows_the_schema_and_counts_tokens(double: Double, session: aiohttp.ClientSession) -> None:
    response = await ask(double, session, "x" * 41)
    answer = await response.json()
    assert isinstance((await content(response))["value"], bool)
    assert answer["model"] == "m-double"
    assert answer["usage"]["prompt_tokens"] == 11  # 41 characters / 4, rounded up
    assert answer["choices"][0]["finish_reason"] == "stop"


async def test_a_scripted_answer_is_given_where_its_text_stands_in_the_prompt(
    double: Double, session: aiohttp.ClientSession
) -> None:
    double.script(answers=[Scripted("wanted", {"value": "scripted"})])
    assert await content(await ask(double, session, "the wanted one")) == {"value": "scripted"}
    assert await content(await ask(double, session, "another")) != {"value": "scripted"}


async def test_calls_are_remembered_but_keys_never(double: Double, session: aiohttp.ClientSession) -> None:
    await ask(double, session, "first", temperature=0.5)
    await ask(double, session, "second", model="n")
    first, second = double.calls()
    assert (first.number, first.model, first.prompt, first.status) == (1, "m", "first", 200)
    assert (first.response_format, first.parameters) == (FORMAT, {"temperature": 0.5})
    assert (second.number, second.model, second.key_present) == (2, "n", True)
    assert first.ended is not None
    assert first.started <= first.ended <= second.started
    assert "secret" not in repr(double.calls())


async def test_another_key_than_the_expected_one_is_answered_401(
    double: Double, session: aiohttp.ClientSession
) -> None:
    double.script(api_key="sk-other")
    response = await ask(double, session)
    assert response.status == 401
    assert (await response.json())["error"]["code"] == "invalid_api_key"
    assert not double.calls()[0].key_matches


async def test_faults_hit_as_often_as_they_may(double: Double, session: aiohttp.ClientSession) -> None:
    double.script(faults=[Fault(Kind.SERVER_ERROR, limit=2), Fault(Kind.RATE_LIMITED, calls=(4,), retry_after="9")])
    responses = [await ask(double, session) for _ in range(5)]
    assert [response.status for response in responses] == [500, 500, 200, 429, 200]
    assert responses[3].headers["retry-after"] == "9"
    assert [double.count(status) for status in (200, 429, 500)] == [2, 1, 2]
    assert double.count() == 5


async def test_more_calls_than_slots_are_answered_429(double: Double, session: aiohttp.ClientSession) -> None:
    double.script(concurrency=2, latency=0.3)
    statuses = [response.status for response in await asyncio.gather(*(ask(double, session) for _ in range(5)))]
    assert sorted(statuses) == [200, 200, 429, 429, 429]


async def test_more_calls_than_a_minute_allows_are_answered_429_with_a_time(
    double: Double, session: aiohttp.ClientSession
) -> None:
    double.script(rpm=2, minute=600.0)
    responses = [await ask(double, session) for _ in range(3)]
    assert [response.status for response in responses] == [200, 200, 429]
    assert responses[0].headers["x-ratelimit-limit-requests"] == "2"
    assert [response.headers["x-ratelimit-remaining-requests"] for response in responses] == ["1", "0", "0"]
    assert 290 < int(responses[2].headers["retry-after"]) <= 301  # 1 of 2 in 600 s


async def test_an_answer_longer_than_its_budget_is_cut_off(double: Double, session: aiohttp.ClientSession) -> None:
    choice = (await (await ask(double, session, max_tokens=2)).json())["choices"][0]
    assert choice["finish_reason"] == "length"
    assert len(choice["message"]["content"]) == 8


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"models": ["n"]}, 404, "model_not_found"),
        ({"max_context": 0}, 400, "context_length_exceeded"),
        ({"refuses": ["temperature"]}, 400, "unsupported_value"),
        ({"refuses": ["max_tokens"]}, 400, "unsupported_parameter"),
        ({"response_formats": []}, 400, None),
        ({"tpm": 1}, 429, "rate_limit_exceeded"),
    ],
)
async def test_what_is_not_supported_is_refused_as_openai_does(
    double: Double, session: aiohttp.ClientSession, options: dict[str, Any], status: int, code: str | None
) -> None:
    double.script(**options)
    response = await ask(double, session, temperature=0, max_tokens=50)
    error = (await response.json())["error"]
    assert (response.status, error["code"]) == (status, code)
    assert set(error) == {"message", "type", "param", "code"}


async def test_a_body_that_is_no_request_is_answered_400(double: Double, session: aiohttp.ClientSession) -> None:
    response = await session.post(f"{double.base_url}/chat/completions", data=b"{")
    assert response.status == 400
    await response.read()


async def test_a_client_that_leaves_frees_its_slot(double: Double, session: aiohttp.ClientSession) -> None:
    double.script(latency=30.0)
    call = asyncio.create_task(ask(double, session))
    await asyncio.to_thread(double.wait, in_flight=1)
    call.cancel()
    await asyncio.to_thread(double.wait, in_flight=0)
    assert double.count(499) == 1


def test_waiting_in_vain_ends_and_says_what_was_seen(double: Double) -> None:
    double.wait(calls=0, in_flight=0)
    with pytest.raises(TimeoutError, match="0 calls, 0 in flight"):
        double.wait(calls=1, bound=0.05)


async def test_error_faults_strike_before_refusals_and_answer_faults_after_them(
    double: Double, session: aiohttp.ClientSession
) -> None:
    faults = [Fault(Kind.UNAVAILABLE, calls=(1,)), Fault(Kind.EMPTY, limit=1)]
    double.script(faults=faults, refuses=["temperature"])
    statuses = [(await ask(double, session, temperature=0)).status for _ in range(2)]
    answer = await (await ask(double, session)).json()
    assert statuses == [503, 400]
    assert answer["choices"][0]["message"]["content"] == ""


async def test_a_reset_forgets_calls_and_script(double: Double, session: aiohttp.ClientSession) -> None:
    double.script(faults=[Fault(Kind.SERVER_ERROR)])
    await ask(double, session)
    double.reset()
    assert (await ask(double, session)).status == 200
    assert double.count() == 1


async def test_models_are_listed(double: Double, session: aiohttp.ClientSession) -> None:
    double.script(models=["a", "b"])
    response = await session.get(f"{double.base_url}/models")
    assert [model["id"] for model in (await response.json())["data"]] == ["a", "b"]


def test_an_unknown_option_is_refused_at_once(double: Double) -> None:
    with pytest.raises(ValueError, match="latencie"):
        double.script(latencie=1)


def test_by_hand_it_prints_its_url_first() -> None:
    folder = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-m", "llm_double", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    assert line.startswith("http://127.0.0.1:")
    assert line.endswith("/v1\n")


def test_by_hand_it_takes_personalities_with_their_parameters() -> None:
    folder = str(Path(__file__).resolve().parents[2])
    told = ["--personality", 'expiring_key:{"keys": ["a"]}', "--personality", "talks"]
    command = [sys.executable, "-m", "llm_double", "--with-parent", *told]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert Double(process, process.stdout.readline().strip(), Options()).valid_key() == "a"
        process.kill()


def test_it_ends_when_the_process_that_started_it_is_gone() -> None:
    folder = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-m", "llm_double", "--with-parent"]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        process.stdin.close()
        assert process.wait(10) == 0
