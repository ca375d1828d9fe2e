"""The cheap path asks just as the package itself would, and fails as it would; the public path does the same."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import openai
import pytest

from tamis_worker.llm.lean_client import PATH, LeanClient, Redirected

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


@pytest.fixture(params=["cheap path", "public path"])
async def client(
    endpoint: Endpoint, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LeanClient]:
    if request.param == "public path":
        monkeypatch.delattr("openai._models.FinalRequestOptions")  # the package itself goes on with it
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


async def test_headers_are_added_to_one_request_and_never_take_the_place_of_its_own(
    client: LeanClient, endpoint: Endpoint
) -> None:
    given = {"X-Project": "p-1", "User-Agent": "ours", "AUTHORIZATION": "Bearer theirs", "Content-Type": "text/plain"}
    given |= {"content-length": "1", "Host": "elsewhere", "Transfer-Encoding": "chunked"}
    await client.ask(BODY, headers=given)
    added = seen(endpoint.asked)
    await client.ask(BODY)
    usual = seen(endpoint.asked)
    assert added["headers"] == usual["headers"] | {"x-project": "p-1", "user-agent": "ours"}
    assert added["body"] == usual["body"] == BODY


async def test_the_key_of_a_request_is_the_one_that_is_given(client: LeanClient, endpoint: Endpoint) -> None:
    sent = []
    for key in ("first-key", "second-key", "first-key"):
        await client.ask(BODY, api_key=key)
        sent.append(seen(endpoint.asked)["headers"]["authorization"])
    assert sent == ["Bearer first-key", "Bearer second-key", "Bearer first-key"]


async def test_a_long_call_is_given_its_time_between_two_pieces_too(client: LeanClient, endpoint: Endpoint) -> None:
    await client.ask(BODY, silence=900.0)
    assert seen(endpoint.asked)["timeout"] == {"connect": 3.0, "read": 900.0, "write": 900.0, "pool": 900.0}
    await client.ask(BODY)
    assert seen(endpoint.asked)["timeout"]["read"] == 7.0


@pytest.mark.parametrize(
    ("status", "location", "origin"),
    [
        (307, "http://other.test/v1/chat/completions", "http://other.test"),
        (308, "https://llm.test/v1/chat/completions", "https://llm.test"),
        (308, "http://llm.test:8080/v1/chat/completions", "http://llm.test:8080"),
        (307, "//other.test/v1", "http://other.test"),
        (307, "http://user:word@llm.test/v1", "http://llm.test"),
        (301, "http://llm.test/v2/chat/completions", "http://llm.test"),
        (302, "/login", "http://llm.test"),
        (303, "/login", "http://llm.test"),
        (307, "/v1/chat/completions", "http://llm.test"),  # to itself, again and again
        (307, "http://llm.test:port/", "http://llm.test"),
    ],
)
async def test_a_redirection_to_anywhere_else_is_not_followed(
    client: LeanClient, endpoint: Endpoint, status: int, location: str, origin: str
) -> None:
    endpoint.answer = httpx2.Response(status, headers={"location": location})
    with pytest.raises(Redirected) as raised:
        await client.ask(BODY)
    assert (raised.value.status, raised.value.origin) == (status, origin)
    assert endpoint.asked is not None
    assert endpoint.asked.url.host == "llm.test"
    assert endpoint.asked.url.userinfo == b""
