"""What an openai client sees of the personalities, and what the double tells of itself."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from llm_double import Double, Fault, Kind, Personality
from stage.asking import SCHEMA, ask

WRITTEN_OUT = f"Answer with an object that follows {json.dumps(SCHEMA)}"


@pytest.fixture
def double(kept_double: Double) -> Double:
    return kept_double


@pytest.fixture
async def client(double: Double) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=double.base_url, api_key="k1", max_retries=0, timeout=20) as client:
        yield client


async def test_an_ignored_format_leaves_the_model_to_its_messages(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=["ignores_format"])
    await asyncio.gather(*(ask(client, f"record {n}") for n in range(5)))
    assert not any(call.followed for call in double.calls())
    await ask(client, WRITTEN_OUT, "record 1")
    assert double.calls()[-1].followed


async def test_a_talkative_model_is_silenced_by_the_last_message(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=["talks"])
    await ask(client, "record")
    await ask(client, "record", "Give me the JSON object alone.")
    assert [call.followed for call in double.calls()] == [False, True]


async def test_a_key_expires_and_the_next_one_is_told(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=[Personality("expiring_key", after_calls=2, keys=["k1", "k2", "k3"])])
    await ask(client, "a")
    await ask(client, "b")
    with pytest.raises(openai.AuthenticationError, match="token expired"):
        await ask(client, "c")
    with pytest.raises(openai.AuthenticationError, match="token expired"):
        await client.models.list()
    assert double.valid_key() == "k2"
    client.api_key = "k2"
    await ask(client, "c")
    assert double.rotate_key() == "k3"
    assert double.count(401) == 1
    assert "k1" not in json.dumps(double._ask("GET", "calls"))


async def test_a_script_of_other_things_leaves_keys_as_they_are(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=[Personality("expiring_key", after_calls=1, keys=["k1", "k2"])])
    await ask(client, "a")
    double.script(latency=0.01)
    assert double.valid_key() == "k2"


def test_a_key_is_told_only_where_one_expires(double: Double) -> None:
    with pytest.raises(ValueError, match="expiring_key"):
        double.valid_key()


async def test_flex_comes_and_goes_and_the_bill_names_the_tier(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=[Personality("flex_capacity", available=False)])
    with pytest.raises(openai.RateLimitError, match="Resource unavailable"):
        await ask(client, "a", service_tier="flex")
    assert (await ask(client, "a")).service_tier == "default"
    double.script(personalities=[Personality("flex_capacity")])
    assert (await ask(client, "a", service_tier="flex")).service_tier == "flex"
    account = double.account()
    assert [account.of(tier=tier).calls for tier in ("flex", "default")] == [1, 1]


async def test_the_flex_tier_is_slow_and_nothing_else_is(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=[Personality("flex_capacity", slower=30.0)])
    await ask(client, "a")
    call = asyncio.create_task(ask(client, "a", service_tier="flex"))
    await asyncio.to_thread(double.wait, calls=2, in_flight=1)
    call.cancel()
    await asyncio.to_thread(double.wait, in_flight=0)
    assert double.account().of(tier="flex", read=False).calls == 1


async def test_a_cached_prefix_is_told_and_billed(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=[Personality("prefix_cache", writes=True)])
    usages = [(await ask(client, "s" * 5000, f"record {n}")).usage for n in range(3)]
    details = [usage.prompt_tokens_details for usage in usages]
    # schema, 5,000 characters and frames: 1,3xx tokens, 10 whole blocks
    assert [(told.cached_tokens, told.cache_write_tokens) for told in details] == [(0, 1280), (1280, 0), (1280, 0)]
    bill = double.account().of()
    assert bill.prompt_tokens == sum(usage.prompt_tokens for usage in usages)
    assert (bill.cached_tokens, bill.cache_write_tokens) == (2560, 1280)
    assert bill.completion_tokens == sum(usage.completion_tokens for usage in usages)


async def test_a_call_that_is_refused_writes_nothing_to_the_cache_and_costs_nothing(
    double: Double, client: openai.AsyncOpenAI
) -> None:
    double.script(personalities=[Personality("prefix_cache")], rpm=1, minute=600.0, sliding=True)
    await ask(client, "a")
    with pytest.raises(openai.RateLimitError):
        await ask(client, "s" * 5000)
    double.script(rpm=None)
    assert (await ask(client, "s" * 5000)).usage.prompt_tokens_details.cached_tokens == 0
    assert double.account().of().calls == 2


async def test_what_a_client_never_read_is_billed_apart(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(latency=30.0)
    call = asyncio.create_task(ask(client, "a"))
    await asyncio.to_thread(double.wait, in_flight=1)
    call.cancel()
    await asyncio.to_thread(double.wait, in_flight=0)
    double.script(latency=0.0, faults=[Fault(Kind.CUT, limit=1)])
    with pytest.raises(openai.APIConnectionError):
        await ask(client, "b")
    await ask(client, "c")
    account = double.account()
    assert [account.of(read=read).calls for read in (True, False)] == [1, 2]


async def test_errors_are_not_billed(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(faults=[Fault(Kind.SERVER_ERROR, limit=1)])
    with pytest.raises(openai.InternalServerError):
        await ask(client, "a")
    assert double.account().of().calls == 0


async def test_a_reset_closes_the_account(double: Double, client: openai.AsyncOpenAI) -> None:
    await ask(client, "a")
    assert double.account().of().calls == 1
    double.reset()
    assert double.account().of().calls == 0


async def test_a_content_in_parts_is_read_as_its_text(double: Double, client: openai.AsyncOpenAI) -> None:
    parts = [{"type": "text", "text": WRITTEN_OUT}, {"type": "text", "text": " for a record"}]
    messages: Any = [{"role": "user", "content": parts}]
    await client.chat.completions.create(model="m", messages=messages, response_format={"type": "json_object"})
    (call,) = double.calls()
    assert call.prompt == f"{WRITTEN_OUT} for a record"
    assert call.followed


def test_a_personality_that_does_not_exist_is_refused_at_once(double: Double) -> None:
    with pytest.raises(ValueError, match="talkative"):
        double.script(personalities=["talkative"])
    with pytest.raises(ValueError, match="loudly"):
        Double.start(personalities=[Personality("talks", loudly=True)])
