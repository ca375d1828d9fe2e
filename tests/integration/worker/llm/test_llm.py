"""The real `openai` client against the double: every fault, and how endpoints want to be asked."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from email.utils import formatdate
from time import time
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from llm_double import Double, Fault, Kind, Scripted
from nursery import shared
from tamis_schemas import ConfigurationError, ErrorKind, Usage
from tamis_worker.llm.dialect_store import MemoryDialects
from tamis_worker.llm.json_answer import Malformed, read_json
from tamis_worker.llm.llm import CallError, ChatAnswer, ChatRequest, LlmClient, Message, Reply
from tamis_worker.llm.shared_dialects import SharedDialects

KEY = "sk-double-1234567890"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string", "maxLength": 300},
        "value": {"type": "boolean"},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["reasoning", "value", "confidence"],
    "additionalProperties": False,
}
QUESTION = ChatRequest(
    model="m",
    messages=(Message("system", "You screen."), Message("user", "Is it a trial?")),
    schema_name="filter",
    schema=SCHEMA,
    temperature=0.0,
    max_tokens=200,
)


@pytest.fixture(scope="module")
def running() -> Iterator[Double]:
    with Double.start(api_key=KEY, nursery=shared()) as double:
        yield double


@pytest.fixture
def double(running: Double) -> Double:
    running.reset()
    return running


@pytest.fixture
async def llm(double: Double) -> AsyncIterator[LlmClient]:
    llm = LlmClient(double.base_url, KEY, timeout=10.0, connections=100)
    yield llm
    await llm.close()


async def asked(llm: LlmClient, request: ChatRequest = QUESTION) -> Reply:
    """As the engine asks, with the schema in the place of the operation's judgement."""
    with llm.dialect_turn(request) as turn:
        await turn.wait()
        reply = await llm.ask(request)
        await llm.learn(request, reply, usable=isinstance(reply, ChatAnswer) and follows(reply.content))
        return reply


def follows(content: str) -> bool:
    try:
        return Draft202012Validator(SCHEMA).is_valid(read_json(content))  # type: ignore[arg-type]  # any JSON value
    except Malformed:
        return False


async def answered(llm: LlmClient, request: ChatRequest = QUESTION) -> ChatAnswer:
    reply = await asked(llm, request)
    assert isinstance(reply, ChatAnswer), reply
    return reply


async def failed(llm: LlmClient, request: ChatRequest = QUESTION) -> CallError:
    reply = await asked(llm, request)
    assert isinstance(reply, CallError), reply
    return reply


def formats(double: Double) -> list[str | None]:
    """How each call told the shape of the answer: json_schema calls by whether maxLength is in it."""
    found: list[str | None] = []
    for call in double.calls():
        kind = (call.response_format or {}).get("type")
        bounds = "maxLength" in json.dumps(call.response_format)
        found.append({True: "bounded", False: "strict"}[bounds] if kind == "json_schema" else kind)
    return found


async def test_an_answer_comes_with_its_usage_and_the_model_that_gave_it(double: Double, llm: LlmClient) -> None:
    double.script(answers=[Scripted("trial", {"value": True})])
    answer = await answered(llm)
    assert answer.content == '{"value": true}'
    # "You screen.\nIs it a trial?" is 26 characters, the answer 15: 7 and 4 tokens of 4 characters.
    assert answer.usage == Usage(prompt_tokens=7, completion_tokens=4)
    assert (answer.model, answer.finish_reason) == ("m-double", "stop")
    (call,) = double.calls()
    assert (call.parameters, call.key_matches) == ({"temperature": 0.0, "max_tokens": 200}, True)


FAULTS = [
    (Kind.RATE_LIMITED, ErrorKind.RATE_LIMITED, 429),
    (Kind.QUOTA, ErrorKind.PERMISSION, 429),
    (Kind.UNAUTHORIZED, ErrorKind.AUTHENTICATION, 401),
    (Kind.FORBIDDEN, ErrorKind.PERMISSION, 403),
    (Kind.NOT_FOUND, ErrorKind.MODEL_NOT_FOUND, 404),
    (Kind.CONTEXT_LENGTH, ErrorKind.CONTEXT_LENGTH, 400),
    (Kind.BAD_REQUEST, ErrorKind.INVALID_REQUEST, 400),
    (Kind.SERVER_ERROR, ErrorKind.SERVER, 500),
    (Kind.UNAVAILABLE, ErrorKind.SERVER, 503),
    (Kind.BAD_GATEWAY, ErrorKind.SERVER, 502),
    (Kind.DROPPED, ErrorKind.CONNECTION, None),
    (Kind.CUT, ErrorKind.CONNECTION, None),
    (Kind.ENDLESS, ErrorKind.SERVER, 200),
    (Kind.NOT_JSON, ErrorKind.SERVER, 200),
    (Kind.ERROR_IN_200, ErrorKind.SERVER, 502),
    (Kind.REFUSAL, ErrorKind.REFUSED, 200),
    (Kind.CONTENT_FILTER, ErrorKind.CONTENT_FILTER, 200),
    (Kind.TRUNCATED, ErrorKind.TRUNCATED, 200),
    (Kind.EMPTY, ErrorKind.EMPTY, 200),
    (Kind.NO_CHOICES, ErrorKind.EMPTY, 200),
]


@pytest.mark.parametrize(("fault", "kind", "status"), FAULTS, ids=[row[0] for row in FAULTS])
async def test_a_fault_is_an_error_of_its_kind_after_one_call(
    double: Double, llm: LlmClient, fault: Kind, kind: ErrorKind, status: int | None
) -> None:
    double.script(faults=[Fault(fault)])
    error = await failed(llm)
    assert (error.kind, error.status) == (kind, status)
    assert error.message
    assert double.count() == 1


async def test_every_kind_of_fault_is_under_test() -> None:
    elsewhere = {Kind.SLOW, Kind.TRICKLE, Kind.RESPONSE_FORMAT, Kind.MALFORMED, Kind.WRONG_SCHEMA}
    assert {row[0] for row in FAULTS} | elsewhere == set(Kind)


@pytest.mark.parametrize("fault", [Kind.REFUSAL, Kind.TRUNCATED, Kind.EMPTY, Kind.NO_CHOICES, Kind.CONTENT_FILTER])
async def test_an_unusable_answer_still_says_what_was_paid_for(double: Double, llm: LlmClient, fault: Kind) -> None:
    double.script(faults=[Fault(fault)])
    assert (await failed(llm)).usage.prompt_tokens == 7


@pytest.mark.parametrize("fault", [Kind.MALFORMED, Kind.WRONG_SCHEMA])
async def test_a_wrong_content_is_an_answer_for_the_caller_to_judge(
    double: Double, llm: LlmClient, fault: Kind
) -> None:
    double.script(faults=[Fault(fault)])
    content = (await answered(llm)).content
    if fault is Kind.MALFORMED:
        with pytest.raises(Malformed):
            read_json(content)
    else:
        assert read_json(content) == {"unexpected": True}


async def test_a_client_survives_every_fault_and_answers_afterwards(double: Double, llm: LlmClient) -> None:
    for fault, *_ in FAULTS:
        double.script(faults=[Fault(fault, limit=1)])
        await llm.ask(QUESTION)
        await answered(llm)


@pytest.mark.spec("1.35")
async def test_a_call_slower_than_the_timeout_is_a_timeout(double: Double) -> None:
    double.script(faults=[Fault(Kind.SLOW, delay=30.0)])
    llm = LlmClient(double.base_url, KEY, timeout=0.2, connections=1)
    error = await failed(llm)
    await llm.close()
    assert error.kind is ErrorKind.TIMEOUT
    assert 200 <= error.latency_ms < 5000


async def test_an_answer_that_trickles_in_takes_no_longer_than_the_timeout(double: Double) -> None:
    double.script(faults=[Fault(Kind.TRICKLE, delay=0.2)])  # 10 x 0.2 s, no single wait longer than the timeout
    llm = LlmClient(double.base_url, KEY, timeout=0.5, connections=1)
    error = await failed(llm)
    assert error.kind is ErrorKind.TIMEOUT
    double.script(faults=[Fault(Kind.TRICKLE)])
    await answered(llm)
    await llm.close()


async def test_an_endpoint_that_is_not_there_is_a_connection_error(double: Double) -> None:
    with Double.start(nursery=shared()) as gone:
        url = gone.base_url
    llm = LlmClient(url, KEY, timeout=5.0, connections=1)
    error = await failed(llm)
    await llm.close()
    assert (error.kind, error.status) == (ErrorKind.CONNECTION, None)


async def test_a_path_that_is_not_there_names_the_setting(double: Double) -> None:
    llm = LlmClient(double.base_url.removesuffix("/v1"), KEY, timeout=5.0, connections=1)
    error = await failed(llm)
    await llm.close()
    assert error.kind is ErrorKind.MODEL_NOT_FOUND
    assert "TAMIS_LLM_BASE_URL" in error.message


@pytest.mark.parametrize("url", ["localhost:8000/v1", "", "ftp://x/v1"])
def test_a_base_url_that_is_none_is_a_configuration_error(url: str) -> None:
    with pytest.raises(ConfigurationError, match="TAMIS_LLM_BASE_URL"):
        LlmClient(url, KEY, timeout=5.0, connections=1)


async def test_a_wrong_key_is_named_nowhere(double: Double) -> None:
    llm = LlmClient(double.base_url, "sk-wrong-abcdefgh", timeout=5.0, connections=1)
    error = await failed(llm)
    await llm.close()
    assert error.kind is ErrorKind.AUTHENTICATION
    assert "sk-" not in error.message
    assert "abcdefgh" not in repr(llm) + repr(error)


async def test_an_endpoint_without_keys_is_asked_with_an_empty_one(double: Double) -> None:
    double.script(api_key=None)
    llm = LlmClient(double.base_url, "", timeout=5.0, connections=1)
    await answered(llm)
    await llm.close()


async def test_a_prompt_that_is_no_text_is_an_invalid_request_and_no_call(double: Double, llm: LlmClient) -> None:
    error = await failed(llm, replace(QUESTION, messages=(Message("user", "half \ud83d"),)))
    assert error.kind is ErrorKind.INVALID_REQUEST
    assert double.count() == 0


async def test_a_cancelled_call_is_cancelled_and_leaves_the_endpoint(double: Double, llm: LlmClient) -> None:
    double.script(latency=30.0)
    call = asyncio.create_task(asked(llm))
    await asyncio.to_thread(double.wait, in_flight=1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.to_thread(double.wait, in_flight=0)


@pytest.mark.parametrize("kind", [Kind.RATE_LIMITED, Kind.UNAVAILABLE])
@pytest.mark.parametrize(
    ("headers", "expected"),
    [({"retry_after": "3"}, 3.0), ({"retry_after": "3", "retry_after_ms": 1500}, 1.5), ({}, None)],
)
async def test_retry_after_is_read(
    double: Double, llm: LlmClient, kind: Kind, headers: dict[str, Any], expected: float | None
) -> None:
    double.script(faults=[Fault(kind, **headers)])
    assert (await failed(llm)).retry_after == expected


async def test_retry_after_as_a_date_counts_from_the_answers_own_date(double: Double, llm: LlmClient) -> None:
    double.script(faults=[Fault(Kind.RATE_LIMITED, retry_after=formatdate(time() + 60, usegmt=True))])
    asked = (await failed(llm)).retry_after
    assert asked is not None
    assert 50 <= asked <= 61


@pytest.mark.spec("1.48")
async def test_the_short_schema_is_asked_for_first(double: Double, llm: LlmClient) -> None:
    await answered(llm)
    (call,) = double.calls()
    assert call.response_format is not None
    sent = call.response_format["json_schema"]
    assert (sent["name"], sent["strict"]) == ("filter", True)
    assert sent["schema"]["properties"] == {
        "reasoning": {"type": "string"},
        "value": {"type": "boolean"},
        "confidence": {"type": "number"},
    }


@pytest.mark.parametrize(
    ("options", "walk"),
    [
        ({"strict_openai": True}, ["strict"]),
        ({"response_formats": ["json_object"]}, ["strict", "json_object"]),
        ({"response_formats": []}, ["strict", "json_object", None]),
    ],
)
async def test_a_refused_format_moves_down_until_one_is_taken_and_is_remembered(
    double: Double, llm: LlmClient, options: dict[str, Any], walk: list[str | None]
) -> None:
    # The double reads no prompt: without bounds in the schema, its own confidences are any numbers.
    good = {"reasoning": "so", "value": True, "confidence": 0.5}
    double.script(answers=[Scripted("trial", good)], **options)
    first, second = await answered(llm), await answered(llm)
    assert formats(double) == [*walk, walk[-1]]
    for answer in (first, second):
        assert all(f'"{name}": ' in answer.content for name in SCHEMA["properties"])


async def test_a_refused_budget_and_temperature_are_adapted_and_remembered(double: Double, llm: LlmClient) -> None:
    double.script(refuses=["max_tokens", "temperature"])
    await answered(llm)
    await answered(llm)
    assert [set(call.parameters) for call in double.calls()] == [
        {"max_tokens", "temperature"},
        {"max_completion_tokens", "temperature"},
        {"max_completion_tokens"},
        {"max_completion_tokens"},
    ]


async def test_an_endpoint_that_refuses_everything_still_answers(double: Double, llm: LlmClient) -> None:
    double.script(refuses=["max_tokens", "temperature"], response_formats=[])
    await answered(llm)
    assert double.count(400) == 4  # the budget's name, the temperature, two rungs
    assert double.count() == 5


async def test_an_endpoint_that_refuses_even_plain_text_is_an_error_not_a_loop(double: Double, llm: LlmClient) -> None:
    double.script(faults=[Fault(Kind.RESPONSE_FORMAT)])
    assert (await failed(llm)).kind is ErrorKind.INVALID_REQUEST
    assert double.count() == 3


async def test_models_and_schemas_are_found_out_each_for_itself(double: Double, llm: LlmClient) -> None:
    double.script(faults=[Fault(Kind.RESPONSE_FORMAT, contains="odd", limit=1)])
    await answered(llm, replace(QUESTION, schema_name="other", messages=(Message("user", "odd"),)))
    await answered(llm)
    await answered(llm, replace(QUESTION, model="n"))
    assert formats(double) == ["strict", "json_object", "strict", "strict"]


async def test_concurrent_first_calls_do_not_each_walk_the_ladder(double: Double, llm: LlmClient) -> None:
    double.script(response_formats=[], latency=0.05)
    await asyncio.gather(*(answered(llm) for _ in range(50)))
    assert Counter(formats(double)) == {"strict": 1, "json_object": 1, None: 50}


def impatient(double: Double) -> LlmClient:
    """A client whose first call finds out alone for a moment only."""
    return LlmClient(
        double.base_url, KEY, timeout=10.0, connections=100, dialects=SharedDialects(MemoryDialects(lease_for=0.0))
    )


async def test_a_slow_first_answer_does_not_hold_up_the_others(double: Double) -> None:
    llm = impatient(double)
    double.script(faults=[Fault(Kind.SLOW, calls=(1,), delay=30.0)])
    first = asyncio.create_task(asked(llm))
    await asyncio.to_thread(double.wait, calls=1)
    async with asyncio.timeout(10):
        await asyncio.gather(*(answered(llm) for _ in range(5)))
    assert not first.done()
    first.cancel()
    await llm.close()


async def test_a_late_refusal_does_not_move_up_what_others_found_out(double: Double) -> None:
    llm = impatient(double)
    double.script(response_formats=[], faults=[Fault(Kind.RESPONSE_FORMAT, calls=(1,), delay=1.0)])
    late = asyncio.create_task(asked(llm))
    await asyncio.to_thread(double.wait, calls=1)
    await answered(llm)
    assert double.in_flight() == 1
    assert isinstance(await late, ChatAnswer)
    await answered(llm)
    await llm.close()
    assert formats(double) == ["strict", "strict", "json_object", None, None, None]


async def test_an_error_of_a_known_kind_is_no_refusal_whatever_its_words(double: Double, llm: LlmClient) -> None:
    message = "maximum context length exceeded: messages and response_format schema have 5000 tokens"
    double.script(faults=[Fault(Kind.CONTEXT_LENGTH, message=message, limit=1)])
    assert (await failed(llm)).kind is ErrorKind.CONTEXT_LENGTH
    await answered(llm)
    assert formats(double) == ["strict", "strict"]


async def test_a_failed_probe_lets_the_next_call_find_out(double: Double, llm: LlmClient) -> None:
    double.script(response_formats=["json_object"], faults=[Fault(Kind.RATE_LIMITED, calls=(1, 2))])
    replies = await asyncio.gather(*(asked(llm) for _ in range(10)))
    assert [type(reply) for reply in replies] == [CallError, CallError, *[ChatAnswer] * 8]
    assert double.count(400) == 1


async def test_connections_are_kept_and_bounded(double: Double) -> None:
    double.script(latency=0.05)
    llm = LlmClient(double.base_url, KEY, timeout=10.0, connections=3)
    await answered(llm)
    await asyncio.gather(*(answered(llm) for _ in range(12)))
    await llm.close()
    assert max(call.in_flight for call in double.calls()) == 3


async def test_every_answer_tells_the_endpoints_limits_errors_too(double: Double, llm: LlmClient) -> None:
    assert (await answered(llm)).rate is None
    double.script(rpm=1, tpm=100_000)
    first = (await answered(llm)).rate
    assert first is not None
    assert (first.limit_requests, first.remaining_requests, first.limit_tokens) == (1, 0, 100_000)
    assert first.remaining_tokens is not None
    assert 90_000 < first.remaining_tokens < 100_000
    assert first.reset_requests is not None
    assert 50 < first.reset_requests <= 60
    refused = await failed(llm)
    assert refused.kind is ErrorKind.RATE_LIMITED
    assert refused.rate is not None
    assert (refused.rate.limit_requests, refused.rate.remaining_requests) == (1, 0)
