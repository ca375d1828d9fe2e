"""What an openai client reads in the answer of each personality."""

import json
import os
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from llm_double import Double, Personality, Scripted
from llm_double.personalities.error_in_200 import UPSTREAM
from llm_double.personalities.registry import NAMES
from llm_double.personalities.thinks import THOUGHT
from llm_double.strictness import follows
from stage.asking import SCHEMA, ask

WRITTEN_OUT = f"Answer with an object that follows {json.dumps(SCHEMA)}"
NEEDED: dict[str, dict[str, Any]] = {
    "asks_for_header": {"header": "x-a"},
    "asks_for_field": {"field": "user"},
    "recorded": {"file": os.devnull},
    "observed": {"habit": "no_choices"},
}


@pytest.fixture
def double(kept_double: Double) -> Double:
    return kept_double


@pytest.fixture
async def client(double: Double) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=double.base_url, api_key="k", max_retries=0, timeout=20) as client:
        yield client


def one(name: str, **parameters: Any) -> list[Personality]:
    return [Personality(name, **parameters)]


@pytest.mark.parametrize("name", NAMES)
async def test_every_personality_answers_what_it_is_asked(
    name: str, double: Double, client: openai.AsyncOpenAI
) -> None:
    """No hook fails: whatever comes is an answer or an error of the client's own, never a fault of the double."""
    double.script(personalities=one(name, **NEEDED.get(name, {})))
    for more in ({}, {"response_format": {"type": "json_object"}}, {"response_format": {"type": "text"}}):
        try:
            await ask(client, WRITTEN_OUT, "a record", **more)
        except openai.InternalServerError as error:
            assert error.status_code == 501, name  # noqa: PT017 (other errors are as good)
        except (openai.OpenAIError, ValueError):
            pass
    assert double.count(500) == 0


async def test_without_personalities_an_object_that_the_schema_allows_is_written_into_a_fence_where_nothing_binds_it(
    double: Double, client: openai.AsyncOpenAI
) -> None:
    bare = (await ask(client, "a record")).choices[0].message.content
    wrapped = (await ask(client, WRITTEN_OUT, response_format={"type": "text"})).choices[0].message.content
    assert follows(json.loads(bare), SCHEMA)
    assert wrapped.startswith("```json\n")
    double.script(personalities=["strict"])
    assert (await ask(client, "a record")).choices[0].message.content == bare
    alone = (await ask(client, WRITTEN_OUT, response_format={"type": "text"})).choices[0].message.content
    assert follows(json.loads(alone), SCHEMA)


@pytest.mark.parametrize(
    ("told", "error", "says"),
    [
        (one("refuses_format"), openai.BadRequestError, "response_format"),
        (one("refuses_format", status=422), openai.UnprocessableEntityError, "response_format"),
        (one("refuses_format", status=501), openai.InternalServerError, "response_format"),
        (one("fails_its_format"), openai.BadRequestError, "Failed to generate JSON"),
        (one("asks_for_header", header="X-Tenant"), openai.BadRequestError, "X-Tenant"),
        (one("asks_for_field", field="user"), openai.BadRequestError, "user"),
    ],
)
async def test_a_refusal_is_an_error_that_says_why_and_costs_nothing(
    told: list[Personality], error: type[openai.APIStatusError], says: str, double: Double, client: openai.AsyncOpenAI
) -> None:
    double.script(personalities=told)
    with pytest.raises(error) as raised:
        await ask(client, "a record")
    assert says in raised.value.response.text  # the package leaves a pydantic server's detail out of its message
    assert double.account().of().calls == 0


async def test_what_is_asked_for_is_taken_where_it_is_there(double: Double, client: openai.AsyncOpenAI) -> None:
    asks = [*one("asks_for_header", header="X-Tenant", says="a"), *one("asks_for_field", field="user")]
    double.script(personalities=asks)
    await client.with_options(default_headers={"x-tenant": "a"}).chat.completions.create(
        model="m", messages=[{"role": "user", "content": "x"}], user="me"
    )
    assert double.count(200) == 1


async def test_json_mode_alone_is_enforced_and_the_model_sees_the_messages(
    double: Double, client: openai.AsyncOpenAI
) -> None:
    double.script(personalities=["json_mode_only"])
    with pytest.raises(openai.BadRequestError):
        await ask(client, "a record")
    mode = {"type": "json_object"}
    for n in range(8):
        told = (await ask(client, f"record {n}", response_format=mode)).choices[0].message.content
        assert isinstance(json.loads(told), dict)  # an object of its own, never prose
    await ask(client, WRITTEN_OUT, response_format=mode)
    assert [call.followed for call in double.calls()[-9:]] == [True] * 9  # without a schema any JSON does
    double.script(personalities=["text_only"])
    with pytest.raises(openai.BadRequestError):
        await ask(client, WRITTEN_OUT, response_format=mode)


async def test_a_model_that_sees_no_schema_writes_an_object_of_its_own_or_prose(
    double: Double, client: openai.AsyncOpenAI
) -> None:
    double.script(personalities=["ignores_format"])
    contents = [(await ask(client, f"record {n}")).choices[0].message.content for n in range(20)]
    objects = [content for content in contents if content.startswith("{")]
    assert 0 < len(objects) < 20
    assert not any(follows(json.loads(content), SCHEMA) for content in objects)


@pytest.mark.parametrize(
    ("told", "begins", "followed"),
    [
        (one("fenced"), "```json\n{", False),
        (one("fenced_in_prose"), "Sure!", False),
        (one("always_talks"), "Sure!", False),
        (one("thinks"), "<think>\n", False),
        (one("thinks_loudly"), "<THINK>\n", False),
        (one("thinks_in_brackets"), "[THINK]\n", False),
        (one("leaks_channels"), "<|channel|>analysis", False),
        (one("wrapped"), '{"answer": {', False),
        (one("in_array"), "[{", False),
        (one("reasoning_content"), "{", True),
        (one("usage_missing"), "{", True),
        ([*one("fenced"), *one("thinks")], "<think>\n", False),
    ],
)
async def test_a_content_looks_as_the_personality_has_it(
    told: list[Personality], begins: str, followed: bool, double: Double, client: openai.AsyncOpenAI
) -> None:
    double.script(personalities=told)
    content = (await ask(client, "a record")).choices[0].message.content
    (call,) = double.calls()
    assert content.startswith(begins)
    assert (call.content, call.followed) == (content, followed)


async def test_a_scripted_answer_is_written_as_the_personalities_write(
    double: Double, client: openai.AsyncOpenAI
) -> None:
    answers = [Scripted("first", {"met": True}), Scripted("second", "as it stands")]
    double.script(personalities=["boolean_as_text", "fenced"], answers=answers)
    contents = [(await ask(client, text)).choices[0].message.content for text in ("the first", "the second")]
    assert contents == ['```json\n{"met": "true"}\n```', "```json\nas it stands\n```"]


async def test_an_answer_stands_elsewhere_than_in_the_content(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=["reasoning_content"])
    beside = (await ask(client, "a record")).choices[0].message
    assert beside.reasoning_content == THOUGHT
    double.script(personalities=["reasoning_only"])
    only = (await ask(client, "a record")).choices[0].message
    assert (only.content, only.reasoning_content) == ("", f"{THOUGHT}\n\n{beside.content}")
    double.script(personalities=["tool_calls"])
    (choice,) = (await ask(client, "a record")).choices
    assert (choice.message.content, choice.finish_reason) == (None, "tool_calls")
    assert choice.message.tool_calls[0].function.arguments == beside.content
    double.script(personalities=["content_parts"])
    parts = (await ask(client, "a record")).choices[0].message.content
    assert [part["type"] for part in parts] == ["thinking", "text", "text"]
    assert not any(call.followed for call in double.calls()[1:])


async def test_white_space_is_paid_for_up_to_the_budget(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=["runs_to_whitespace"])
    completion = await ask(client, "a record", max_tokens=64)
    assert (completion.choices[0].finish_reason, completion.usage.completion_tokens) == ("length", 64)


async def test_an_error_in_200_and_a_page_are_not_billed(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=["error_in_200"])
    completion = await ask(client, "a record")
    assert completion.choices is None
    assert completion.error["message"] == UPSTREAM
    double.script(personalities=["html"])
    assert "Sign in" in await ask(client, "a record")
    assert (double.count(200), double.account().of().calls, double.account().untold) == (2, 0, 0)


async def test_a_stream_that_nobody_asked_for_is_one_for_whoever_does(
    double: Double, client: openai.AsyncOpenAI
) -> None:
    double.script(personalities=["streams"])
    assert isinstance(await ask(client, "a record"), str)  # no completion: the package cannot read it
    chunks = [chunk async for chunk in await ask(client, "a record", stream=True)]
    content = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert follows(json.loads(content), SCHEMA)
    assert sum(chunk.usage.total_tokens for chunk in chunks if chunk.usage) * 2 == _total(double)


async def test_empty_lines_before_the_body_disturb_no_reader_of_json(
    double: Double, client: openai.AsyncOpenAI
) -> None:
    double.script(personalities=["blank_lines"])
    assert follows(json.loads((await ask(client, "a record")).choices[0].message.content), SCHEMA)


async def test_a_redirection_is_followed_on_the_same_host_and_to_another(
    double: Double, client: openai.AsyncOpenAI
) -> None:
    double.script(personalities=["redirects"])
    assert (await ask(client, "a record")).object == "chat.completion"
    assert (double.count(307), double.count(200)) == (1, 1)
    with Double.start() as other:
        double.script(personalities=one("redirects", status=308, to=f"{other.base_url}/chat/completions"))
        await ask(client, "a secret record")
        assert [call.prompt for call in other.calls()] == ["a secret record"]


@pytest.mark.parametrize(
    ("told", "tokens"),
    [(one("usage_zero"), 0), (one("usage_absurd"), 10**11), (one("usage_absurd", digits=4000), 10**3999)],
)
async def test_an_absurd_usage_is_billed_as_it_is_told(
    told: list[Personality], tokens: int, double: Double, client: openai.AsyncOpenAI
) -> None:
    double.script(personalities=told)
    assert (await ask(client, "a record")).usage.prompt_tokens == tokens
    assert double.account().of().prompt_tokens == tokens


async def test_a_usage_may_be_missing_or_bare(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=["usage_missing"])
    assert (await ask(client, "a record")).usage is None
    assert double.account().untold == 1
    double.script(personalities=["usage_null_details"])
    completion = await ask(client, "a record")
    assert (completion.usage.prompt_tokens_details, completion.service_tier) == (None, None)


@pytest.mark.parametrize(("told", "percent"), [([], False), (["grammar"], True), (["ignores_format"], True)])
async def test_a_confidence_is_in_percent_unless_something_binds_the_model(
    told: list[str], percent: bool, double: Double, client: openai.AsyncOpenAI
) -> None:
    double.script(personalities=[*told, "percent_confidence"])
    completion = await ask(client, WRITTEN_OUT, "a record")
    confidence = json.loads(completion.choices[0].message.content)["confidence"]
    assert (confidence > 1) is percent


async def test_one_endpoint_may_be_different_for_different_models(double: Double, client: openai.AsyncOpenAI) -> None:
    double.script(personalities=one("always_talks", models=["n"]))
    for model in ("m", "n"):
        await ask(client, "a record", model=model)
    assert [call.followed for call in double.calls()] == [True, False]


def _total(double: Double) -> int:
    bill = double.account().of()
    return bill.prompt_tokens + bill.completion_tokens
