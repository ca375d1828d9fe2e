"""The `openai` package by its cheapest path: its connections, its headers and its errors, without the rest.

What stays is what makes it the package: URL and headers as it builds them, its transport, the exceptions that it
raises. What goes is what it does anew for every request: options, copies of options, URL, headers, types of the
answer. `post(..., cast_to=object)` costs twice as much (docs/performance.md). And it follows no redirection to anywhere
else, which the package does, with the prompt and the key.
"""

import json
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import httpx2
import openai
from openai._models import FinalRequestOptions  # no public way shows the headers that it would send

PATH = "/chat/completions"
ERROR_BYTES = 64_000  # of an error answer; what it means stands at its beginning
SAME_REQUEST = frozenset({307, 308})  # redirections after which the same is sent once more; others make a GET of it
PORTS = {"http": 80, "https": 443}
# Headers that nobody adds to a request: they say what it holds, to whom it goes, and with which key.
OWN_HEADERS = frozenset(
    {"authorization", "connection", "content-encoding", "content-length", "content-type", "host", "transfer-encoding"}
)


class AnswerTooLarge(Exception):
    """An answer has more bytes than are read; the rest of it was left where it is."""


class Redirected(Exception):
    """The endpoint points to somewhere else; nothing was sent there."""

    def __init__(self, status: int, target: httpx2.URL) -> None:
        self.status = status
        self.origin = f"{target.scheme}://{target.netloc.decode('ascii', 'replace')}"
        super().__init__(f"{status}: {self.origin}")


class LeanClient(openai.AsyncOpenAI):
    """An `AsyncOpenAI` that asks one kind of question, without retries of its own."""

    def __init__(
        self, *, base_url: str, api_key: str, timeout: httpx2.Timeout, http: httpx2.AsyncClient, max_bytes: int
    ) -> None:
        """`max_bytes` of an answer are read at most: a budget of tokens is the endpoint's promise alone."""
        super().__init__(base_url=base_url, api_key=api_key, max_retries=0, timeout=timeout, http_client=http)
        self._http = http
        self._max_bytes = max_bytes
        self._connect_within = timeout.connect
        example = self._build_request(FinalRequestOptions.construct(method="post", url=PATH, json_data={}))
        example.headers.pop("content-length", None)
        self._sent_to = example.url
        self._sent_key = api_key
        self._sent_headers = example.headers
        self._sent_extensions = example.extensions

    async def ask(
        self,
        body: Mapping[str, Any],
        *,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        silence: float | None = None,
    ) -> httpx2.Response:
        """The answer to one request, whole; of an error the first 64,000 bytes.

        Args:
            body: as JSON.
            api_key: the one to send; None: the one before.
            headers: added to the usual ones; those in `OWN_HEADERS` stay as they are.
            silence: seconds between two pieces of the answer, in the place of the client's own.

        Raises:
            AnswerTooLarge: the answer has more than `max_bytes`.
            Redirected: the endpoint points to another host, or asks for another request.
            openai.APIStatusError: the endpoint answered 4xx or 5xx.
            openai.APITimeoutError, openai.APIConnectionError: there was no answer.
            UnicodeEncodeError: a text holds half of a surrogate pair.
        """
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        if api_key is not None and api_key != self._sent_key:
            self._sent_headers["authorization"] = f"Bearer {api_key}"
            self._sent_key = api_key
        extensions = self._sent_extensions
        if silence is not None:
            times = {"connect": self._connect_within, "read": silence, "write": silence, "pool": silence}
            extensions = {**extensions, "timeout": times}
        request = httpx2.Request(
            "POST", self._sent_to, headers=self._sent_headers, content=content, extensions=extensions
        )
        for name, value in (headers or {}).items():
            if name.lower() not in OWN_HEADERS:
                request.headers[name] = value
        response = await self._answered(request)
        if response.is_redirect:
            request.url = self._moved_to(response)
            response = await self._answered(request)
            if response.is_redirect:
                raise Redirected(response.status_code, _target(response))
        if response.is_success:
            return response
        raise self._make_status_error_from_response(response)

    async def _answered(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._http.send(request, stream=True, follow_redirects=False)
            await self._read(response)
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except httpx2.HTTPError as error:
            raise openai.APIConnectionError(request=request) from error
        return response

    def _moved_to(self, response: httpx2.Response) -> httpx2.URL:
        """Where on the same server the same request is to be sent."""
        target = _target(response)
        if response.status_code not in SAME_REQUEST or target.userinfo or _origin(target) != _origin(self._sent_to):
            raise Redirected(response.status_code, target)
        return target

    async def _read(self, response: httpx2.Response) -> None:
        """Read as much of an answer as may be; its connection is given back, or closed where there is more."""
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
        response._content = b"".join(parts)[:limit]  # as `aread` does, which would read all of it


def _target(response: httpx2.Response) -> httpx2.URL:
    try:
        return response.request.url.join(response.headers.get("location", ""))
    except httpx2.InvalidURL:
        return response.request.url


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or PORTS.get(url.scheme)
