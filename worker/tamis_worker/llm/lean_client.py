"""The `openai` package by its cheapest path: its connections, its headers and its errors, without the rest.

What stays is what makes it the package: URL, keys and headers as it builds them, its transport, the exceptions that it
raises. What goes is what it does anew for every request: options, copies of options, URL, headers, types of the
answer. `post(..., cast_to=object)` costs twice as much (docs/performance.md).
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


class AnswerTooLarge(Exception):
    """An answer has more bytes than are read; the rest of it was left where it is."""


class LeanClient(openai.AsyncOpenAI):
    """An `AsyncOpenAI` that asks one kind of question, without retries of its own."""

    def __init__(
        self, *, base_url: str, api_key: str, timeout: httpx2.Timeout, http: httpx2.AsyncClient, max_bytes: int
    ) -> None:
        """`max_bytes` of an answer are read at most: a budget of tokens is the endpoint's promise alone."""
        super().__init__(base_url=base_url, api_key=api_key, max_retries=0, timeout=timeout, http_client=http)
        self._http = http
        self._max_bytes = max_bytes
        example = self._build_request(FinalRequestOptions.construct(method="post", url=PATH, json_data={}))
        example.headers.pop("content-length", None)
        self._sent_to = example.url
        self._sent_headers = example.headers
        self._sent_extensions = example.extensions

    async def ask(self, body: Mapping[str, Any]) -> httpx2.Response:
        """The answer to one request, whole; of an error the first 64,000 bytes.

        Raises:
            AnswerTooLarge: the answer has more than `max_bytes`.
            openai.APIStatusError: the endpoint answered 4xx or 5xx.
            openai.APITimeoutError, openai.APIConnectionError: there was no answer.
            UnicodeEncodeError: a text holds half of a surrogate pair.
        """
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        request = httpx2.Request(
            "POST", self._sent_to, headers=self._sent_headers, content=content, extensions=self._sent_extensions
        )
        try:
            response = await self._http.send(request, stream=True)
            await self._read(response)
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except httpx2.HTTPError as error:
            raise openai.APIConnectionError(request=request) from error
        if response.is_success:
            return response
        raise self._make_status_error_from_response(response)

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
