"""The kinds of errors, from real exceptions of the `openai` package."""

import socket
import ssl
from datetime import UTC, datetime
from time import process_time
from typing import Any

import aiohttp
import httpx2
import openai
import pytest

from tamis_schemas import ErrorKind
from tamis_worker.engine.retry import RetryDecision, RetryPolicy, decide
from tamis_worker.llm.call_error import cleaned, of_answer, of_exception, retry_after
from tamis_worker.llm.chat import Obstacle

KEY = "my-own-secret-key"
REQUEST = httpx2.Request("POST", "http://double/v1/chat/completions")
CLIENT = openai.OpenAI(api_key=KEY, base_url="http://double/v1")


def raised(status: int, error: object = None, *, text: str = "", **headers: str) -> openai.APIStatusError:
    """What the package itself makes of an answer."""
    content = {"json": {"error": error}} if error is not None else {"text": text}
    response = httpx2.Response(status, headers=headers, request=REQUEST, **content)
    return CLIENT._make_status_error_from_response(response)


def error(message: str = "no", **fields: Any) -> dict[str, Any]:
    return {"message": message, "type": "invalid_request_error", "param": None, "code": None, **fields}


@pytest.mark.parametrize(
    ("status", "fields", "kind"),
    [
        (400, {}, ErrorKind.INVALID_REQUEST),
        (400, {"code": "context_length_exceeded"}, ErrorKind.CONTEXT_LENGTH),
        (400, {"code": 400, "type": "exceed_context_size_error"}, ErrorKind.CONTEXT_LENGTH),
        (400, {"message": "This model's maximum context length is 4096 tokens"}, ErrorKind.CONTEXT_LENGTH),
        (400, {"message": "prompt is too long: 250000 tokens > 200000 maximum"}, ErrorKind.CONTEXT_LENGTH),
        (400, {"message": "gpt-9 is not a valid model ID"}, ErrorKind.MODEL_NOT_FOUND),
        (400, {"message": "The model `x` does not exist"}, ErrorKind.MODEL_NOT_FOUND),
        (400, {"message": "API key not valid. Please pass a valid API key."}, ErrorKind.AUTHENTICATION),
        (400, {"code": "content_filter"}, ErrorKind.CONTENT_FILTER),
        (400, {"code": "json_validate_failed"}, ErrorKind.MALFORMED),
        (400, {"message": "litellm.ContentPolicyViolationError: it is filtered"}, ErrorKind.CONTENT_FILTER),
        (400, {"message": "The prompt triggered our content management policy."}, ErrorKind.CONTENT_FILTER),
        (401, {"code": "invalid_api_key"}, ErrorKind.AUTHENTICATION),
        (402, {"message": "Insufficient Balance"}, ErrorKind.PERMISSION),
        (403, {}, ErrorKind.PERMISSION),
        (404, {"code": "model_not_found"}, ErrorKind.MODEL_NOT_FOUND),
        (404, {}, ErrorKind.MODEL_NOT_FOUND),
        (408, {}, ErrorKind.TIMEOUT),
        (409, {}, ErrorKind.SERVER),
        (413, {}, ErrorKind.CONTEXT_LENGTH),
        (418, {}, ErrorKind.INVALID_REQUEST),
        (422, {}, ErrorKind.INVALID_REQUEST),
        (429, {}, ErrorKind.RATE_LIMITED),
        (429, {"code": "rate_limit_exceeded", "type": "tokens"}, ErrorKind.RATE_LIMITED),
        (429, {"code": "insufficient_quota"}, ErrorKind.PERMISSION),
        (429, {"message": "Request too large for m on tokens per min (TPM): Limit 1"}, ErrorKind.CONTEXT_LENGTH),
        (498, {}, ErrorKind.RATE_LIMITED),
        (500, {}, ErrorKind.SERVER),
        (500, {"message": "The model `x` does not exist"}, ErrorKind.SERVER),
        (502, {}, ErrorKind.SERVER),
        (503, {}, ErrorKind.SERVER),
        (529, {"type": "overloaded_error"}, ErrorKind.SERVER),
    ],
)
def test_a_status_and_its_error_object_give_the_kind(status: int, fields: dict[str, Any], kind: ErrorKind) -> None:
    found = of_exception(raised(status, error(**fields)), api_key=KEY)
    assert (found.kind, found.status) == (kind, status)


@pytest.mark.parametrize("text", ["", "<html>502</html>", '"text"', "[]", "null"])
def test_a_body_that_is_no_error_object_is_classified_by_its_status(text: str) -> None:
    found = of_exception(raised(502, text=text), api_key=KEY)
    assert found.kind is ErrorKind.SERVER
    assert found.message.startswith("502")


@pytest.mark.parametrize(
    ("status", "fields", "everyone"),
    [
        (401, {"code": "invalid_api_key"}, True),
        (400, {"message": "API key not valid. Please pass a valid API key."}, True),
        (404, {"code": "model_not_found"}, True),
        (400, {"message": "gpt-9 is not a valid model ID"}, True),
        (402, {"message": "Insufficient Balance"}, True),
        (429, {"code": "insufficient_quota"}, True),
        (429, {"type": "insufficient_quota"}, True),
        (403, {"code": "billing_not_active"}, True),
        (403, {"message": "This request was blocked by moderation"}, False),
        (400, {"code": "context_length_exceeded"}, False),
        (429, {}, False),
        (500, {}, False),
    ],
)
def test_what_every_other_call_would_meet_is_told_from_what_one_item_meets(
    status: int, fields: dict[str, Any], everyone: bool
) -> None:
    assert of_exception(raised(status, error(**fields)), api_key=KEY).everyone is everyone


@pytest.mark.parametrize(
    ("status", "fields", "no_capacity"),
    [
        (429, {"code": "resource_unavailable"}, True),
        (429, {"type": "resource_unavailable", "code": None}, True),
        (429, {"message": "Resource Unavailable: try again later."}, True),
        (498, {"code": "capacity_exceeded"}, True),
        (498, {}, True),
        (429, {}, False),
        (429, {"code": "rate_limit_exceeded"}, False),
        (429, {"code": "insufficient_quota", "message": "resource unavailable"}, False),  # somebody has to pay
        (500, {"message": "resource unavailable"}, False),
        (503, {"code": "capacity_exceeded"}, False),
    ],
)
def test_no_capacity_is_told_from_a_rate_limit(status: int, fields: dict[str, Any], no_capacity: bool) -> None:
    assert of_exception(raised(status, error(**fields)), api_key=KEY).no_capacity is no_capacity


# What the package raises, and what follows for an item that met nothing before: its first attempt of five.
POLICY = RetryPolicy(max_calls=5, deadline=900.0, base=1.0, cap=60.0, rate_limit_wait=5.0)
AGAIN = RetryDecision.retry(0.0, counts=False)
BACKOFF = RetryDecision.retry(0.5, counts=True)  # jitter 0.5 x base 1.0 x 2^0


@pytest.mark.parametrize(
    ("exception", "decision", "halts"),
    [
        (raised(429, error(), **{"retry-after": "7"}), RetryDecision.retry(7.0, counts=False, blocks=True), False),
        (raised(429, error(), **{"retry-after-ms": "250"}), RetryDecision.retry(0.25, False, blocks=True), False),
        (raised(429, error()), RetryDecision.retry(3.75, counts=False, blocks=True), False),  # 5 x (0.5 + 0.5 / 2)
        (raised(429, error(code="insufficient_quota")), AGAIN, True),
        (raised(503, error(), **{"retry-after": "7"}), RetryDecision.retry(7.0, counts=True, blocks=True), False),
        (raised(503, error()), BACKOFF, False),
        (raised(500, error()), BACKOFF, False),
        (raised(502, text="<html>"), BACKOFF, False),
        (raised(409, error()), BACKOFF, False),
        (raised(408, error()), BACKOFF, False),
        (openai.APITimeoutError(REQUEST), BACKOFF, False),
        (openai.APIConnectionError(request=REQUEST), BACKOFF, False),
        (raised(401, error(code="invalid_api_key")), AGAIN, True),
        (raised(402, error("Insufficient Balance")), AGAIN, True),
        (raised(404, error(code="model_not_found")), AGAIN, True),
        (raised(404, text="page not found"), AGAIN, True),
        (raised(403, error()), RetryDecision.give_up(ErrorKind.PERMISSION), True),
        (raised(400, error()), RetryDecision.give_up(ErrorKind.INVALID_REQUEST), False),
        (raised(422, error()), RetryDecision.give_up(ErrorKind.INVALID_REQUEST), False),
        (raised(400, error(code="content_filter")), RetryDecision.give_up(ErrorKind.CONTENT_FILTER), False),
        (raised(400, error(code="context_length_exceeded")), RetryDecision.give_up(ErrorKind.CONTEXT_LENGTH), False),
        (raised(413, error()), RetryDecision.give_up(ErrorKind.CONTEXT_LENGTH), False),
    ],
)
def test_from_an_exception_of_the_package_to_what_follows(
    exception: Exception, decision: RetryDecision, halts: bool
) -> None:
    found = of_exception(exception, api_key=KEY)
    common = {"attempt": 1, "elapsed": 0.0, "policy": POLICY, "jitter": 0.5}
    assert decide(found, in_a_row=1, **common) == decision  # type: ignore[arg-type]  # a table's row
    after_many = decide(found, in_a_row=5, **common)  # type: ignore[arg-type]  # a table's row
    assert after_many == (RetryDecision.halt(found.kind) if halts else decision)


def test_a_used_up_quota_says_so_and_is_not_a_rate_limit() -> None:
    found = of_exception(raised(429, error("You exceeded it", code="insufficient_quota")), api_key=KEY)
    assert found.message == "429: the quota of the API key is used up: You exceeded it"


def caused(outer: Exception, *causes: BaseException) -> Exception:
    link: BaseException = outer
    for cause in causes:
        link.__cause__ = cause
        link = cause
    return outer


@pytest.mark.parametrize(
    ("exception", "kind"),
    [
        (openai.APITimeoutError(REQUEST), ErrorKind.TIMEOUT),
        (caused(openai.APITimeoutError(REQUEST), httpx2.ReadTimeout("slow")), ErrorKind.TIMEOUT),
        (
            caused(openai.APITimeoutError(REQUEST), httpx2.ReadTimeout(""), aiohttp.SocketTimeoutError()),
            ErrorKind.TIMEOUT,
        ),
        # The transport calls every broken connection a time-out; what lies underneath does not.
        (
            caused(openai.APITimeoutError(REQUEST), httpx2.ConnectTimeout(""), aiohttp.ServerDisconnectedError()),
            ErrorKind.CONNECTION,
        ),
        (
            caused(openai.APITimeoutError(REQUEST), httpx2.ConnectTimeout(""), ConnectionRefusedError(111, "refused")),
            ErrorKind.CONNECTION,
        ),
        (openai.APIConnectionError(request=REQUEST), ErrorKind.CONNECTION),
        (caused(openai.APIConnectionError(request=REQUEST), httpx2.ReadError("reset")), ErrorKind.CONNECTION),
        (aiohttp.ClientPayloadError("cut"), ErrorKind.CONNECTION),
        (TimeoutError(), ErrorKind.TIMEOUT),
        (ValueError("Expecting value"), ErrorKind.SERVER),
    ],
)
def test_an_exception_without_an_answer_gives_the_kind(exception: Exception, kind: ErrorKind) -> None:
    found = of_exception(exception, api_key=KEY)
    assert (found.kind, found.status, found.retry_after) == (kind, None, None)
    assert found.message


@pytest.mark.parametrize(
    ("underneath", "obstacle"),
    [
        (socket.gaierror(-2, "Name or service not known"), Obstacle.NAME),
        (ConnectionRefusedError(111, "refused"), Obstacle.REFUSED),
        (ssl.SSLCertVerificationError("self-signed certificate"), Obstacle.TLS),
        (ConnectionResetError(104, "reset"), None),
    ],
)
def test_why_there_was_no_connection_is_told_by_what_lies_underneath(
    underneath: Exception, obstacle: Obstacle | None
) -> None:
    error = caused(openai.APITimeoutError(REQUEST), httpx2.ConnectError(""), underneath)
    assert of_exception(error, api_key=KEY).obstacle is obstacle


def test_what_the_network_lacks_is_said_in_plain_words() -> None:
    refused = ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 6399)")
    error = caused(openai.APIConnectionError(request=REQUEST), httpx2.ConnectError(""), refused)
    assert of_exception(error, api_key=KEY).message == "no server listens at 127.0.0.1:6399"
    assert of_exception(TimeoutError(), api_key=KEY, within=120.0).message == "no answer within 120 s"
    unconnected = caused(openai.APITimeoutError(REQUEST), aiohttp.ConnectionTimeoutError())
    assert of_exception(unconnected, api_key=KEY, within=120.0).message == "no connection in time"


NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
SERVERS = "Sat, 21 Nov 2026 09:00:00 GMT"  # the server's clock is three hours behind ours


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:45 GMT"}, 45.0),
        ({"retry-after": "Sat, 21 Nov 2026 09:00:45 GMT", "date": SERVERS}, 45.0),
        ({"retry-after": "Sat, 21 Nov 2026 08:59:00 GMT", "date": SERVERS}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:45 GMT", "date": "yesterday"}, 45.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_the_headers_say_how_long_to_wait(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after(headers, NOW) == expected


def test_retry_after_comes_with_the_error_whatever_the_case_of_the_header() -> None:
    assert of_exception(raised(503, error(), **{"Retry-After": "7"}), api_key=KEY).retry_after == 7.0


@pytest.mark.parametrize(
    "message",
    [
        "Incorrect API key provided: sk-abcd1234567890. You can find yours",
        "Incorrect API key provided: sk-proj-ab_c-1234***********wxyz.",
        "Incorrect API key provided: my-ow**********-key.",
        f"no such key {KEY}",
        f"header Authorization: Bearer {KEY}",
        "header Authorization: Bearer another-token",
        "key gsk_1234567890abcdef is blocked",
    ],
)
def test_no_key_whole_or_masked_stands_in_a_message(message: str) -> None:
    shown = of_exception(raised(401, error(message)), api_key=KEY).message
    assert "[key]" in shown
    for part in (KEY, "abcd1234", "1234****", "wxyz", "my-ow", "another-token", "1234567890"):
        assert part not in shown


@pytest.mark.parametrize("message", ["a risk-based approach to task-level bias", "monkey-patched 2 * 3 ** 4"])
def test_ordinary_words_are_left_alone(message: str) -> None:
    assert cleaned(message, "risk") == message


def test_a_message_is_one_line_of_at_most_500_characters() -> None:
    shown = of_answer(400, error("line\n" * 1000), text="", headers={}, api_key=KEY).message
    assert len(shown) == 500
    assert "\n" not in shown


@pytest.mark.parametrize("text", ["y" * 64_000, "*** " * 16_000, "sk-" * 21_000, "Bearer " * 9_000, "model " * 10_000])
def test_an_error_text_of_any_kind_is_read_in_no_time(text: str) -> None:
    began = process_time()
    error = of_answer(400, {"message": text}, text="", headers={}, api_key="sk-0123456789")
    assert len(error.message) <= 500
    assert process_time() - began < 0.5  # s; it takes some milliseconds, and took 50 s while it was quadratic
