"""The error of a call, from exceptions of the `openai` package and from error answers.

| sign | kind |
|---|---|
| no answer in time | timeout |
| no connection, or a broken one | connection |
| a known error code or message | its kind in `CODES` or `MESSAGES` |
| 401 · 402, 403 · 404 · 408 · 413 · 429, 498 · 501 | its kind in `STATUSES` |
| 409, other 5xx, a body that is not JSON | server |
| other 4xx | invalid_request |

An error that every other call would get too is marked `everyone`. Such errors are authentication, model_not_found, and
a `permission` error that concerns the account's money.

Gateways put the error object of an endpoint into their own error object. So the messages and codes of all layers are
read.
"""

import json
import re
import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp
import openai

from tamis_producer.config.redaction import forms_of
from tamis_schemas import ErrorKind
from tamis_schemas.values.network_words import network_words
from tamis_schemas.values.printable import printable_line

from .chat import CallError, Obstacle
from .dialect import ParameterRefusal

MAX_MESSAGE = 500  # characters

CODES = {
    "context_length_exceeded": ErrorKind.CONTEXT_LENGTH,
    "exceed_context_size_error": ErrorKind.CONTEXT_LENGTH,  # llama.cpp, as the type
    "content_filter": ErrorKind.CONTENT_FILTER,  # Azure, of the prompt
    "content_policy_violation": ErrorKind.CONTENT_FILTER,
    # Status 400 of Groq: this answer did not follow the schema, another one may.
    "json_validate_failed": ErrorKind.MALFORMED,
    "tool_use_failed": ErrorKind.MALFORMED,
    "model_not_found": ErrorKind.MODEL_NOT_FOUND,
    "invalid_api_key": ErrorKind.AUTHENTICATION,
    # Status 429, but waiting does not help: the quota must be paid.
    "insufficient_quota": ErrorKind.PERMISSION,
    "billing_hard_limit_reached": ErrorKind.PERMISSION,
    "billing_not_active": ErrorKind.PERMISSION,
}
QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})

# For 400, 422 and 429 without a known code.
_TOO_LONG = re.compile(
    r"maximum context|context.?(length|window|size)|(prompt|input|request) (is )?too (long|large)", re.IGNORECASE
)
_NO_MODEL = re.compile(r"model.{1,200}(does not exist|not found)|not a valid model", re.IGNORECASE | re.DOTALL)
_BAD_KEY = re.compile(r"api.?key.{0,20}(not valid|invalid)|(invalid|incorrect).{0,5}api.?key", re.IGNORECASE)
# LiteLLM and Azure wrap the code of a filter in a text.
_FILTERED = re.compile(r"content.?policy.?violation|content management policy|responsible.?ai.?policy", re.IGNORECASE)
MESSAGES = (
    (_FILTERED, ErrorKind.CONTENT_FILTER),
    (_TOO_LONG, ErrorKind.CONTEXT_LENGTH),  # also with 429: larger than the tokens of a minute
    (_NO_MODEL, ErrorKind.MODEL_NOT_FOUND),
    (_BAD_KEY, ErrorKind.AUTHENTICATION),
)

PAYMENT_REQUIRED = 402
CAPACITY_EXCEEDED = 498  # Groq's own status, of its flex tier
STATUSES = {
    401: ErrorKind.AUTHENTICATION,
    PAYMENT_REQUIRED: ErrorKind.PERMISSION,
    403: ErrorKind.PERMISSION,
    404: ErrorKind.MODEL_NOT_FOUND,
    408: ErrorKind.TIMEOUT,
    409: ErrorKind.SERVER,
    413: ErrorKind.CONTEXT_LENGTH,
    425: ErrorKind.SERVER,
    429: ErrorKind.RATE_LIMITED,
    501: ErrorKind.INVALID_REQUEST,  # a retry would get the same answer
    CAPACITY_EXCEEDED: ErrorKind.RATE_LIMITED,
}
ADVICE = {
    ErrorKind.AUTHENTICATION: "is TAMIS_LLM_API_KEY a key of this endpoint?",
    ErrorKind.MODEL_NOT_FOUND: "is TAMIS_MODEL a model of this endpoint, and does TAMIS_LLM_BASE_URL end in /v1?",
}

# No capacity at the requested tier, now.
_NO_CAPACITY = re.compile(r"resource[ _]unavailable|capacity_exceeded", re.IGNORECASE)
# The cause of an exception without a connection.
OBSTACLES: tuple[tuple[type[Exception], Obstacle], ...] = (
    (ssl.SSLError, Obstacle.TLS),
    (socket.gaierror, Obstacle.NAME),
    (ConnectionRefusedError, Obstacle.REFUSED),
)

# The exceptions before a connection existed, so no request was sent.
UNCONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)

# Texts that look like keys, whole or masked. A masked key is searched only from the beginning of a word: from every
# character, a long word without a star would cost the square of its length.
_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai)[-_][\w*-]+(?:\.[\w*-]+)*|\b(?:eyJ[\w-]{8,}|ya29)\.[\w.-]+|(?<=Bearer )\S+|"
    r"(?<!\S)\S*?\*{4,}\S*"
)

LAYERS = 4  # of nested errors
LARGEST_INNER = 10_000  # characters of an error in JSON text


def of_exception(error: Exception, *, api_key: str, within: float | None = None) -> CallError:
    """Return the error for an exception of the `openai` package or its transport, without the API key.

    `within`: time limit of the call, in seconds.
    """
    if isinstance(error, openai.APIStatusError):
        headers = error.response.headers
        return of_answer(error.status_code, error.body, text=error.message, headers=headers, api_key=api_key)
    chain = _chain(error)
    sent = not any(isinstance(link, UNCONNECTED) for link in chain)
    if _is_timeout(error):
        limit = f"answer within {within:g} s" if sent and within else "answer in time" if sent else "connection in time"
        return CallError(ErrorKind.TIMEOUT, f"no {limit}", sent=sent)
    if isinstance(error, openai.APIResponseValidationError | ValueError):
        return CallError(ErrorKind.SERVER, "the endpoint answered something that is not JSON")
    cause = chain[-1]
    obstacle = next((kind for raised, kind in OBSTACLES if isinstance(cause, raised)), None)
    words = network_words(" ".join(map(str, chain)))
    message = cleaned(words or f"{type(cause).__name__}: {cause}", api_key)
    return CallError(ErrorKind.CONNECTION, message, sent=sent, obstacle=obstacle)


def of_answer(status: int, error: object, *, text: str, headers: Mapping[str, str], api_key: str) -> CallError:
    """Return the error for an HTTP answer that reports an error.

    `error`: the answer's error object. `text`: the message if the error object has none.
    """
    refusal = refusal_of(status, error, text)
    names = (refusal.code, *(text_in(layer, "type") for layer in layers_of(error)))
    kind = _kind(refusal, names)
    used_up = not QUOTA_CODES.isdisjoint(names)
    message = refusal.message if refusal.message.startswith(str(status)) else f"{status}: {refusal.message}"
    if used_up:
        message = f"{status}: the quota of the API key is used up: {refusal.message}"
    elif kind in ADVICE:
        message = f"{cleaned(message, api_key).rstrip('.')} ({ADVICE[kind]})"
    # A 403 may concern one request only; a message about money concerns the key.
    of_key = kind is ErrorKind.PERMISSION and (used_up or status == PAYMENT_REQUIRED)
    return CallError(
        kind,
        cleaned(message, api_key),
        status=status,
        retry_after=retry_after(headers),
        everyone=of_key or kind in (ErrorKind.AUTHENTICATION, ErrorKind.MODEL_NOT_FOUND),
        no_capacity=kind is ErrorKind.RATE_LIMITED and _tells_of_no_capacity(status, (*names, refusal.message)),
    )


def of_redirect(status: int, origin: str) -> CallError:
    """Return the error for a redirection to another origin. Neither the prompt nor the key was sent there."""
    message = (
        f"{status}: the endpoint redirects to {printable_line(origin)[: MAX_MESSAGE // 2]}, and neither prompt nor "
        "key was sent there; correct TAMIS_LLM_BASE_URL"
    )
    return CallError(ErrorKind.MODEL_NOT_FOUND, message, status, everyone=True)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that `retry-after-ms` or Retry-After asks to wait; None if neither header gives a time.

    If Retry-After is a date, the answer's Date is subtracted, so that only the endpoint's clock matters. Without a
    Date, `now` is subtracted.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    header = headers.get("retry-after")
    seconds = _number(header)
    if seconds is not None or header is None:
        return seconds
    until = _date(header)
    if until is None:
        return None
    since = _date(headers.get("date", "")) or now or datetime.now(UTC)
    return max(0.0, (until - since).total_seconds())


def cleaned(message: str, api_key: str) -> str:
    """Return a message without the API key or texts like keys, in one line of at most `MAX_MESSAGE` characters."""
    for form in sorted(forms_of(api_key), key=len, reverse=True) if len(api_key) >= 8 else ():
        message = message.replace(form, "[key]")  # shorter ones are placeholders, and parts of ordinary words
    message = printable_line(" ".join(_KEY.sub("[key]", message).split()))
    return message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 3] + "..."


def refusal_of(status: int, error: object, text: str) -> ParameterRefusal:
    """Return the fields of an error answer under OpenAI's names; missing fields are None.

    The messages of nested errors, which gateways send, are joined.
    """
    layers = list(layers_of(error))
    words = dict.fromkeys(filter(None, map(_words, layers)))
    codes = [code for layer in layers if (code := text_in(layer, "code")) is not None]
    return ParameterRefusal(
        status,
        ": ".join(words) or text,
        param=next((param for layer in layers if (param := text_in(layer, "param")) is not None), None),
        code=next((code for code in codes if not code.isdecimal()), codes[0] if codes else None),
    )


def layers_of(error: object, depth: int = LAYERS) -> Iterator[object]:
    """Yield an error, then the errors nested in its message or metadata, to `depth` levels. JSON text is parsed."""
    error = _parsed(error)
    if isinstance(error, Mapping) and "message" not in error and error.get("error"):
        error = _parsed(error["error"])
    yield error
    if isinstance(error, Mapping) and depth > 1:
        inner, raw = _parsed(error.get("message")), _get(error.get("metadata"), "raw")
        if isinstance(inner, Mapping):
            yield from layers_of(inner, depth - 1)
        if raw:
            yield from layers_of(raw, depth - 1)


def _words(layer: object) -> str:
    if not isinstance(layer, Mapping):
        return layer if isinstance(layer, str) else ""
    message = layer.get("message") or layer.get("detail")
    return "" if message is None or isinstance(_parsed(message), Mapping) else str(message)


def _parsed(held: object) -> object:
    if isinstance(held, str) and held.lstrip()[:1] == "{":
        with suppress(ValueError, RecursionError):
            return json.loads(held[:LARGEST_INNER])
    return held


def _get(error: object, name: str) -> object:
    return error.get(name) if isinstance(error, Mapping) else None


def text_in(error: object, name: str) -> str | None:
    """Return a field of an error object, as text; None if the field or the object is missing."""
    value = _get(error, name)
    return None if value is None else str(value)


def _kind(refusal: ParameterRefusal, names: Iterable[str | None]) -> ErrorKind:
    for name in names:
        if name in CODES:
            return CODES[name]
    if refusal.status in (400, 422, 429):
        for pattern, kind in MESSAGES:
            if pattern.search(refusal.message):
                return kind
    if refusal.status in STATUSES:
        return STATUSES[refusal.status]
    return ErrorKind.SERVER if refusal.status >= 500 else ErrorKind.INVALID_REQUEST


def _tells_of_no_capacity(status: int, texts: Iterable[str | None]) -> bool:
    return status == CAPACITY_EXCEEDED or any(_NO_CAPACITY.search(text) for text in texts if text)


def _is_timeout(error: BaseException) -> bool:
    """Return True if the error was a time-out.

    Over aiohttp, the `openai` package reports every broken connection as a time-out. Only the exception's cause shows
    what happened.
    """
    chain = _chain(error)
    if any(isinstance(link, TimeoutError) for link in chain):
        return True
    underneath = any(isinstance(link, aiohttp.ClientError | OSError) for link in chain)
    return isinstance(error, openai.APITimeoutError) and not underneath


def _chain(error: BaseException) -> list[BaseException]:
    links = [error]
    while links[-1].__cause__ is not None:
        links.append(links[-1].__cause__)
    return links


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
