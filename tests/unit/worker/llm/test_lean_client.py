"""The cheap path asks just as the package itself would, and fails as it would."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import openai
import pytest

from tamis_worker.llm.lean_client import PATH, LeanClient

BODY = {"model": "m", "messages": [{"role": "user", "content": "Prüfung – 試験"}], "max_tokens": 5}


class Endpoint:
    """Keeps the last request, and answers or fails as told."""

    def __init__(self) -> None:
        self.asked: httpx2.Request | None = None
        self.answer: httpx2.Response | Exception = httpx2.Response(200, json={"ok": True})

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked = request
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


@pytest.fixture
async def client(endpoint: Endpoint) -> AsyncIterator[LeanClient]:
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(endpoint))
    times = httpx2.Timeout(7.0, connect=3.0)
    client = LeanClient(
        base_url="http://llm.test/v1", api_key="key-of-the-test", timeout=times, http=http, max_bytes=10_000
    )
    yield client
    await client.close()


def seen(request: httpx2.Request | None) -> dict[str, Any]:
    assert request is not None
    headers = {name: value for name, value in request.headers.items() if name != "content-length"}
    return {
        "method": request.method,
        "url": str(request.url),
        "headers": headers,
        "body": json.loads(request.content),
        "timeout": request.extensions["timeout"],
    }


async def test_it_asks_as_the_package_itself_asks(client: LeanClient, endpoint: Endpoint) -> None:
    await client.ask(BODY)
    lean = seen(endpoint.asked)
    await client.post(PATH, body=BODY, cast_to=object)
    assert lean == seen(endpoint.asked)
    assert lean["headers"]["authorization"] == "Bearer key-of-the-test"


async def test_requests_do_not_share_their_headers(client: LeanClient, endpoint: Endpoint) -> None:
    await client.ask(BODY)
    long = {**BODY, "messages": [{"role": "user", "content": "x" * 1000}]}
    await client.ask(long)
    assert endpoint.asked is not None
    assert int(endpoint.asked.headers["content-length"]) == len(endpoint.asked.content) > 1000


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (409, openai.ConflictError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
async def test_an_error_answer_raises_what_the_package_raises(
    client: LeanClient, endpoint: Endpoint, status: int, error: type[openai.APIStatusError]
) -> None:
    answer = {"error": {"message": "so it is", "code": "some_code", "param": "temperature"}}
    endpoint.answer = httpx2.Response(status, json=answer, headers={"retry-after": "7"})
    with pytest.raises(error) as raised:
        await client.ask(BODY)
    assert raised.value.status_code == status
    assert raised.value.body == answer["error"]
    assert raised.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (httpx2.ReadTimeout("slow"), openai.APITimeoutError),
        (httpx2.ConnectTimeout("slow"), openai.APITimeoutError),
        (httpx2.ConnectError("refused"), openai.APIConnectionError),
        (httpx2.ReadError("reset"), openai.APIConnectionError),
    ],
)
async def test_no_answer_raises_what_the_package_raises(
    client: LeanClient, endpoint: Endpoint, failure: Exception, error: type[openai.APIConnectionError]
) -> None:
    endpoint.answer = failure
    with pytest.raises(error) as raised:
        await client.ask(BODY)
    assert type(raised.value) is error
    assert raised.value.__cause__ is failure


async def test_half_of_a_surrogate_pair_is_refused_before_anything_is_sent(
    client: LeanClient, endpoint: Endpoint
) -> None:
    with pytest.raises(UnicodeEncodeError):
        await client.ask({**BODY, "messages": [{"role": "user", "content": "\ud800"}]})
    assert endpoint.asked is None
