"""The LLM endpoint: does it answer, does it take the key, does it know the model.

It is asked for the list of its models, which costs nothing; on request one short question is put to the model.
"""

import http.client
import json
import socket
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .finding import Finding, failure, ok, warning

ANSWER_WITHIN = 20.0  # s
LONGEST_ANSWER = 5_000_000  # bytes; a list of thousands of models is far below
SHOWN = 5  # models


class Obstacle(StrEnum):
    """Why no answer came."""

    NAME = "name"
    REFUSED = "refused"
    TLS = "tls"
    SILENT = "silent"
    OTHER = "other"


@dataclass(frozen=True)
class EndpointReading:
    """What the endpoint answered, or why it did not."""

    status: int | None = None
    models: tuple[str, ...] | None = None  # None: the answer is no list of models
    obstacle: Obstacle | None = None
    why: str = ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key must not follow a redirect to another server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def read_endpoint(base_url: str, key: str | None, *, ask: str | None = None) -> EndpointReading:
    """The list of models; with `ask`, a model's name, what became of one short question to it."""
    url = f"{base_url.rstrip('/')}/{'models' if ask is None else 'chat/completions'}"
    if not url.startswith(("http://", "https://")):
        return EndpointReading(obstacle=Obstacle.OTHER, why="the URL does not begin with http:// or https://")
    question = {"model": ask, "messages": [{"role": "user", "content": "Reply with the word ok."}]}
    request = urllib.request.Request(  # noqa: S310 - http and https only, see above
        url,
        data=None if ask is None else json.dumps(question).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "tamis"}
        | ({"Authorization": f"Bearer {key}"} if key else {}),
    )
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=ANSWER_WITHIN) as response:
            return EndpointReading(status=response.status, models=_models(response.read(LONGEST_ANSWER)))
    except urllib.error.HTTPError as error:
        with error:
            return EndpointReading(status=error.code)
    except urllib.error.URLError as error:
        return _obstacle(error.reason)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return _obstacle(error)


def _models(body: bytes) -> tuple[str, ...] | None:
    try:
        return tuple(str(one["id"]) for one in json.loads(body)["data"])
    except (ValueError, KeyError, TypeError):
        return None


def _obstacle(reason: object) -> EndpointReading:
    match reason:
        case ssl.SSLError():
            kind = Obstacle.TLS
        case socket.gaierror():
            kind = Obstacle.NAME
        case ConnectionRefusedError():
            kind = Obstacle.REFUSED
        case TimeoutError():
            kind = Obstacle.SILENT
        case _:
            kind = Obstacle.OTHER
    return EndpointReading(obstacle=kind, why=str(reason).splitlines()[0] if str(reason) else type(reason).__name__)


def judge_endpoint(base_url: str, model: str, reading: EndpointReading, *, asked: bool = False) -> list[Finding]:
    """What to say of the endpoint."""
    subject = "LLM"
    if reading.obstacle is not None:
        return [_unreachable(subject, base_url, reading)]
    match reading.status:
        case 401:
            return [failure(subject, f"{base_url} refuses the key (401)", "put TAMIS_LLM_API_KEY right")]
        case 403:
            mend = "give the key access to it, or use another key in TAMIS_LLM_API_KEY"
            return [failure(subject, f"{base_url} does not let this key in (403)", mend)]
        case 404 if asked:
            mend = "put TAMIS_MODEL right, or the path in TAMIS_LLM_BASE_URL, which usually ends with /v1"
            return [failure(subject, f"{base_url} knows no model {model!r} (404)", mend)]
        case 429:
            mend = "wait, or look at the account's quota: workers wait for a rate limit, and pause at an empty account"
            return [warning(subject, f"{base_url} has had too many requests (429)", mend)]
        case 200 if asked:
            return [ok(subject, f"{base_url} answered a question to {model}")]
        case 200 if reading.models is not None:
            return _listed(subject, base_url, model, reading.models)
        case 200 | 404 | 405 | 501:
            mend = "`tamis doctor --call` puts one short question to it, which is paid for"
            what = f"{base_url} answers but lists no models ({reading.status}): key and model are not checked"
            return [warning(subject, what, mend)]
        case status if status is not None and 300 <= status < 400:
            mend = "name in TAMIS_LLM_BASE_URL where it leads to"
            return [failure(subject, f"{base_url} sends elsewhere ({status})", mend)]
        case status if status is not None and status >= 500:
            mend = "look at the endpoint: workers try again, and an item fails after TAMIS_ITEM_DEADLINE"
            return [failure(subject, f"{base_url} is in trouble ({status})", mend)]
        case status:
            return [failure(subject, f"{base_url} answers {status}", "put TAMIS_LLM_BASE_URL and TAMIS_MODEL right")]


def _listed(subject: str, base_url: str, model: str, models: tuple[str, ...]) -> list[Finding]:
    plural = "" if len(models) == 1 else "s"
    answers = ok(subject, f"{base_url} answers and lists {len(models)} model{plural}")
    if model in models:
        return [answers, ok(subject, f"it lists {model}")]
    some = ", ".join(sorted(models)[:SHOWN]) + (" ..." if len(models) > SHOWN else "")
    mend = "put TAMIS_MODEL right; not every endpoint lists all: `tamis doctor --call` asks it, which is paid for"
    return [answers, warning(subject, f"it does not list the model {model!r}; it lists {some or 'none'}", mend)]


def _unreachable(subject: str, base_url: str, reading: EndpointReading) -> Finding:
    match reading.obstacle:
        case Obstacle.NAME:
            return failure(subject, f"the host of {base_url} is not known", "put TAMIS_LLM_BASE_URL right")
        case Obstacle.REFUSED:
            mend = "start it, or put TAMIS_LLM_BASE_URL right"
            return failure(subject, f"nothing listens at {base_url}", mend)
        case Obstacle.TLS:
            mend = "trust its certificate (SSL_CERT_FILE names a file of authorities), or put the host name right"
            return failure(subject, f"TLS to {base_url} fails: {reading.why}", mend)
        case Obstacle.SILENT:
            mend = "look at the endpoint and at firewalls in between"
            return failure(subject, f"{base_url} does not answer within {ANSWER_WITHIN:.0f} s", mend)
        case _:
            return failure(subject, f"{base_url} cannot be asked: {reading.why}", "put TAMIS_LLM_BASE_URL right")
