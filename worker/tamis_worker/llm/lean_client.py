"""Calls with the `openai` package at the lowest cost in CPU.

The lean client uses the package's connections, headers and exceptions. The client skips work that the package repeats
for every request: copying the options, building the URL and headers, converting the answer to its types. The public
path, `post(..., cast_to=object)`, costs twice as much (docs/performance.md). The lean client follows no redirection to
another origin. The package would follow such a redirection, and send the prompt and the key there.

The lean client uses private parts of the package. `CONDITIONS` lists the behaviour that a call needs from each part. A
new client checks all conditions, and uses the public path if a condition fails.
"""

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx2
import openai

ERROR_BYTES = 64_000  # of an error answer; its meaning is at the beginning
SAME_REQUEST = frozenset({307, 308})  # redirections that repeat the same request; others change it to a GET
PORTS = {"http": 80, "https": 443}
# Headers that callers cannot add: they describe the body, the target or the key.
OWN_HEADERS = frozenset(
    {"authorization", "connection", "content-encoding", "content-length", "content-type", "host", "transfer-encoding"}
)

PATH = "/chat/completions"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RequestTemplate:
    """The parts that all requests of a client share."""

    headers: httpx2.Headers
    extensions: Mapping[str, Any]


class AnswerTooLarge(Exception):
    """The error of an answer with more bytes than the limit. The rest was not read."""


class Redirected(Exception):
    """The error of a redirection to another origin. Nothing was sent there."""

    def __init__(self, status: int, target: httpx2.URL) -> None:
        self.status = status
        self.origin = f"{target.scheme}://{target.netloc.decode('ascii', 'replace')}"
        super().__init__(f"{status}: {self.origin}")


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A successful answer with its complete content."""

    headers: httpx2.Headers
    content: bytes


@dataclass(frozen=True, slots=True)
class _Question:
    body: Mapping[str, Any]
    content: bytes  # the body as JSON
    key: str
    headers: Mapping[str, str]  # added to the usual headers
    timeouts: Mapping[str, float | None] | None  # seconds; None: the client's setting


class LeanClient(openai.AsyncOpenAI):
    """An `AsyncOpenAI` that makes one kind of request, without retries."""

    def __init__(
        self, *, base_url: str, api_key: str, timeout: httpx2.Timeout, http: httpx2.AsyncClient, max_bytes: int
    ) -> None:
        """Prepare the client. At most `max_bytes` of an answer are read: endpoints may ignore the limit of tokens."""
        super().__init__(base_url=base_url, api_key=api_key, max_retries=0, timeout=timeout, http_client=http)
        self._http = http
        self._max_bytes = max_bytes
        self._connect_within = timeout.connect
        self._endpoint = httpx2.URL(f"{str(self.base_url).rstrip('/')}{PATH}")
        self._key = self._key_in_template = api_key
        self._template: RequestTemplate | None = None
        if broken := broken_conditions(self):
            warn_of(broken)
        else:
            self._template = request_template(self)

    async def ask(
        self,
        body: Mapping[str, Any],
        *,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        silence: float | None = None,
    ) -> HttpAnswer:
        """Return the answer to one request.

        An error answer is raised as an exception that contains the answer's first `ERROR_BYTES` bytes. Calls through
        the package's public interface raise it with all bytes.

        Args:
            body: sent as JSON.
            api_key: the key to send; None: the previous key.
            headers: added to the usual headers; the names in `OWN_HEADERS` are ignored.
            silence: longest time between two pieces of the answer, in seconds; None: the client's setting.

        Raises:
            AnswerTooLarge: the answer has more than `max_bytes`.
            Redirected: the endpoint redirects to another origin, redirects twice, or wants a GET after the redirection.
            openai.APIStatusError: the endpoint answered 4xx or 5xx.
            openai.APITimeoutError, openai.APIConnectionError: there was no answer.
            UnicodeEncodeError: a text holds half of a surrogate pair.
        """
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        self._key = self._key if api_key is None else api_key
        added = {name: value for name, value in (headers or {}).items() if name.lower() not in OWN_HEADERS}
        timeouts: Mapping[str, float | None] | None = None
        if silence is not None:
            timeouts = {"connect": self._connect_within, "read": silence, "write": silence, "pool": silence}
        question = _Question(body, content, self._key, added, timeouts)
        try:
            return await self._sent(question, self._endpoint)
        except openai.APIStatusError as error:
            if not error.response.is_redirect:
                raise
            target = self._same_server(error.response)
        try:
            return await self._sent(question, target)
        except openai.APIStatusError as error:
            if error.response.is_redirect:
                raise Redirected(error.status_code, _target(error.response)) from None
            raise

    async def _sent(self, question: _Question, url: httpx2.URL) -> HttpAnswer:
        """Send the question to one URL, and return the answer. Raise `APIStatusError` for a redirection too."""
        if self._template is None:
            response = await self._publicly(question, url)
        else:
            response = await self._leanly(self._template, question, url)
        try:
            content = await self._read(response)
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=response.request) from error
        except httpx2.HTTPError as error:
            raise openai.APIConnectionError(request=response.request) from error
        if response.is_success:
            return HttpAnswer(response.headers, content)
        headers = [(name, value) for name, value in response.headers.multi_items() if name != "content-encoding"]
        read = httpx2.Response(response.status_code, headers=headers, content=content, request=response.request)
        raise status_error(self, read)

    async def _leanly(self, template: RequestTemplate, question: _Question, url: httpx2.URL) -> httpx2.Response:
        if question.key != self._key_in_template:
            template.headers["authorization"] = f"Bearer {question.key}"
            self._key_in_template = question.key
        extensions = template.extensions
        if question.timeouts is not None:
            extensions = {**extensions, "timeout": question.timeouts}
        request = httpx2.Request("POST", url, headers=template.headers, content=question.content, extensions=extensions)
        for name, value in question.headers.items():
            request.headers[name] = value
        try:
            return await self._http.send(request, stream=True, follow_redirects=False)
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except httpx2.HTTPError as error:
            raise openai.APIConnectionError(request=request) from error

    async def _publicly(self, question: _Question, url: httpx2.URL) -> httpx2.Response:
        headers = {**question.headers, "Authorization": f"Bearer {question.key}"}
        timeout = self.timeout if question.timeouts is None else httpx2.Timeout(**question.timeouts)
        stream = await self.post(
            str(url),
            cast_to=object,
            body=question.body,
            options={"headers": headers, "timeout": timeout, "follow_redirects": False},
            stream=True,  # of the answer's bytes, so that `_read` limits them
            stream_cls=openai.AsyncStream[object],
        )
        return stream.response

    def _same_server(self, response: httpx2.Response) -> httpx2.URL:
        """Return the target of a redirection on the same server. Raise `Redirected` for all other redirections."""
        target = _target(response)
        if response.status_code not in SAME_REQUEST or target.userinfo or _origin(target) != _origin(self._endpoint):
            raise Redirected(response.status_code, target)
        return target

    async def _read(self, response: httpx2.Response) -> bytes:
        """Return the bytes of an answer, up to the limit. Raise `AnswerTooLarge` if a successful answer has more."""
        limit = self._max_bytes if response.is_success else ERROR_BYTES
        parts: list[bytes] = []
        size = 0
        async with aclosing(response), aclosing(response.aiter_bytes()) as arriving:
            async for part in arriving:
                parts.append(part)
                size += len(part)
                if size > limit:
                    if response.is_success:
                        raise AnswerTooLarge(f"the answer has more than {limit:,} bytes (TAMIS_MAX_ANSWER_BYTES)")
                    break
        return b"".join(parts)[:limit]


def _target(response: httpx2.Response) -> httpx2.URL:
    try:
        return response.request.url.join(response.headers.get("location", ""))
    except httpx2.InvalidURL:
        return response.request.url


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or PORTS.get(url.scheme)


def request_template(client: openai.AsyncOpenAI) -> RequestTemplate:
    """Return the headers and time-outs of the package's requests. The package has no public function for them."""
    request = _example(client)
    request.headers.pop("content-length", None)
    return RequestTemplate(request.headers, request.extensions)


def status_error(client: openai.AsyncOpenAI, response: httpx2.Response) -> openai.APIStatusError:
    """Return the error that the package raises for an answer. The answer's content must have been read."""
    return client._make_status_error_from_response(response)


def broken_conditions(client: openai.AsyncOpenAI) -> tuple[str, ...]:
    """Return the names of the package's private parts that do not behave as needed."""
    return tuple(name for name, holds in CONDITIONS.items() if not _holds(holds, client))


@cache
def warn_of(broken: tuple[str, ...]) -> None:
    """Log once in a process that private parts of `openai` have changed. Calls then cost more CPU."""
    log.warning(
        "this release of openai (%s) lacks the expected %s: calls use its public interface, which costs more CPU",
        openai.__version__,
        ", ".join(broken),
    )


def _example(client: openai.AsyncOpenAI) -> httpx2.Request:
    from openai._models import FinalRequestOptions  # here: a release without the module must not end the worker

    return client._build_request(FinalRequestOptions.construct(method="post", url=PATH, json_data={}))


def _holds(condition: Callable[[openai.AsyncOpenAI], bool], client: openai.AsyncOpenAI) -> bool:
    try:
        return condition(client)
    except Exception as error:  # any failure means the public path
        log.debug("a private part of openai failed: %r", error)
        return False


def _takes_options(_: openai.AsyncOpenAI) -> bool:
    from openai._models import FinalRequestOptions

    options = FinalRequestOptions.construct(method="post", url=PATH, json_data={})
    return (options.method, options.url, options.json_data) == ("post", PATH, {})


def _builds_requests(client: openai.AsyncOpenAI) -> bool:
    request = _example(client)
    timeout = client.timeout
    return (
        (request.method, str(request.url)) == ("POST", f"{str(client.base_url).rstrip('/')}{PATH}")
        and request.headers["authorization"] == f"Bearer {client.api_key}"
        and request.headers["content-type"] == "application/json"
        and isinstance(timeout, httpx2.Timeout)
        and request.extensions["timeout"] == timeout.as_dict()
    )


def _makes_status_errors(client: openai.AsyncOpenAI) -> bool:
    answer = httpx2.Response(429, json={"error": {"code": "c"}}, request=httpx2.Request("POST", client.base_url))
    error = status_error(client, answer)
    return type(error) is openai.RateLimitError and error.response is answer and error.body == {"code": "c"}


CONDITIONS: Mapping[str, Callable[[openai.AsyncOpenAI], bool]] = {
    "openai._models.FinalRequestOptions": _takes_options,
    "openai.AsyncOpenAI._build_request": _builds_requests,
    "openai.AsyncOpenAI._make_status_error_from_response": _makes_status_errors,
}
