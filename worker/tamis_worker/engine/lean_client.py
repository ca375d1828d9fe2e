"""The `openai` package by its cheapest path: its connections, its headers and its errors, without the rest.

What stays is what makes it the package: URL, keys and headers as it builds them, its transport, the exceptions that it
raises. What goes is what it does anew for every request: options, copies of options, URL, headers, types of the
answer. `post(..., cast_to=object)` costs twice as much (docs/performance.md).
"""

import json
from collections.abc import Mapping
from typing import Any

import httpx2
import openai
from openai._models import FinalRequestOptions  # no public way shows the headers that it would send

PATH = "/chat/completions"


class LeanClient(openai.AsyncOpenAI):
    """An `AsyncOpenAI` that asks one kind of question, without retries of its own."""

    def __init__(self, *, base_url: str, api_key: str, timeout: httpx2.Timeout, http: httpx2.AsyncClient) -> None:
        super().__init__(base_url=base_url, api_key=api_key, max_retries=0, timeout=timeout, http_client=http)
        self._http = http
        example = self._build_request(FinalRequestOptions.construct(method="post", url=PATH, json_data={}))
        example.headers.pop("content-length", None)
        self._sent_to = example.url
        self._sent_headers = example.headers
        self._sent_extensions = example.extensions

    async def ask(self, body: Mapping[str, Any]) -> httpx2.Response:
        """The answer to one request, whole.

        Raises:
            openai.APIStatusError: the endpoint answered 4xx or 5xx.
            openai.APITimeoutError, openai.APIConnectionError: there was no answer.
            UnicodeEncodeError: a text holds half of a surrogate pair.
        """
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        request = httpx2.Request(
            "POST", self._sent_to, headers=self._sent_headers, content=content, extensions=self._sent_extensions
        )
        try:
            response = await self._http.send(request)
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except httpx2.HTTPError as error:
            raise openai.APIConnectionError(request=request) from error
        if response.is_success:
            return response
        raise self._make_status_error_from_response(response)
