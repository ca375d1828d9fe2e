"""The parts of the `openai` package that are not public and that the lean client stands on.

Each has a condition here: what it must do for a call to be made by it. They are checked whenever a client is made;
where one does not hold, the client takes the package's public path instead.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx2
import openai

PATH = "/chat/completions"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RequestTemplate:
    """The parts of a request that are the same in all of a client's."""

    headers: httpx2.Headers
    extensions: Mapping[str, Any]


def request_template(client: openai.AsyncOpenAI) -> RequestTemplate:
    """The headers and time-outs that the package would send: no public way shows them."""
    request = _example(client)
    request.headers.pop("content-length", None)
    return RequestTemplate(request.headers, request.extensions)


def status_error(client: openai.AsyncOpenAI, response: httpx2.Response) -> openai.APIStatusError:
    """The error that the package raises for an answer, which must be read."""
    return client._make_status_error_from_response(response)


def broken_conditions(client: openai.AsyncOpenAI) -> tuple[str, ...]:
    """The names of the parts that are not as they were."""
    return tuple(name for name, holds in CONDITIONS.items() if not _holds(holds, client))


@cache
def warn_of(broken: tuple[str, ...]) -> None:
    """Log, once in a process, that calls cost more than they need to."""
    log.warning(
        "this release of openai (%s) has no %s as known here: calls take its public path, which costs more CPU each",
        openai.__version__,
        ", ".join(broken),
    )


def _example(client: openai.AsyncOpenAI) -> httpx2.Request:
    from openai._models import FinalRequestOptions  # here, because a release without it must not end the worker

    return client._build_request(FinalRequestOptions.construct(method="post", url=PATH, json_data={}))


def _holds(condition: Callable[[openai.AsyncOpenAI], bool], client: openai.AsyncOpenAI) -> bool:
    try:
        return condition(client)
    except Exception as error:  # whatever it is, the part cannot be used; the public path is taken
        log.debug("a part of openai that is not public fails: %r", error)
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
