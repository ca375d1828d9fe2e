"""The LLM endpoint: whether it answers, accepts the key, and has the model."""

from dataclasses import dataclass
from typing import Final

from tamis_schemas import ErrorKind
from tamis_worker.llm.chat import CallError, Obstacle
from tamis_worker.llm.model_list import ModelList

from .finding import Finding, failure, ok, warning

SUBJECT: Final = "LLM"
SHOWN = 5  # models

NAMES_IT = "correct TAMIS_LLM_BASE_URL"
NAMES_BOTH = "correct TAMIS_MODEL, or the path in TAMIS_LLM_BASE_URL, which usually ends in /v1"
ASKS_IT = "`tamis doctor` without --no-call asks the model, which costs money"


@dataclass(frozen=True)
class ExaminedEndpoint:
    """An LLM endpoint to examine, and whether its URL is from this terminal or from the running stack."""

    base_url: str  # without user and password
    model: str
    has_key: bool = True  # this terminal has a key
    of_stack: bool = False  # True: the URL is from the running stack, not from this terminal's settings


def out_of_reach(error: CallError) -> bool:
    """Return whether any request would fail like this one: no connection, a refused key, or a redirect."""
    return not error.sent or error.kind is ErrorKind.AUTHENTICATION or _redirects(error)


def judge_list(endpoint: ExaminedEndpoint, listed: ModelList | CallError, *, asking: bool) -> list[Finding]:
    """Return the findings about the list of models.

    `asking`: whether the model was asked questions too. If so, a list that is missing or incomplete is no fault.
    """
    url, model = endpoint.base_url, endpoint.model
    if isinstance(listed, CallError):
        return _unlisted(endpoint, listed, asking=asking)
    if model in listed:
        return [ok(SUBJECT, f"{url} answers and lists {model}")]
    some = ", ".join(sorted(listed)[:SHOWN]) + (" ..." if len(listed) > SHOWN else "") or "none"
    if asking:
        return [ok(SUBJECT, f"{url} answers but does not list {model}; it lists {some}")]
    mend = f"correct TAMIS_MODEL. Some endpoints do not list every model: {ASKS_IT}"
    return [warning(SUBJECT, f"{url} answers but does not list the model {model!r}; it lists {some}", mend)]


def _unlisted(endpoint: ExaminedEndpoint, error: CallError, *, asking: bool) -> list[Finding]:
    if out_of_reach(error):
        return [judge_error(endpoint, error)]
    if asking:
        return []
    if error.kind in (ErrorKind.TIMEOUT, ErrorKind.CONNECTION, ErrorKind.RATE_LIMITED) or (error.status or 0) >= 500:
        return [judge_error(endpoint, error)]
    status = "" if error.status is None else f" ({error.status})"
    what = f"{endpoint.base_url} answers but lists no models{status}: key and model were not checked"
    return [warning(SUBJECT, what, ASKS_IT)]


def judge_error(endpoint: ExaminedEndpoint, error: CallError) -> Finding:
    """Return the finding about a request that failed."""
    url = endpoint.base_url
    if error.obstacle is not None:
        return _no_way(url, error)
    if _redirects(error):
        mend = "put the target of the redirect in TAMIS_LLM_BASE_URL"
        return failure(SUBJECT, f"{url} redirects: {error.message}", mend)
    if error.status in (401, 403) and not endpoint.has_key:
        return _keyless(endpoint, error)
    match error.kind:
        case ErrorKind.AUTHENTICATION if not error.sent:
            return failure(SUBJECT, error.message, "correct TAMIS_LLM_API_KEY, or its file or command")
        case ErrorKind.AUTHENTICATION:
            return failure(SUBJECT, f"{url} refuses the key ({error.status})", "correct TAMIS_LLM_API_KEY")
        case ErrorKind.PERMISSION if error.everyone:
            mend = "top up the key's account, or set another key in TAMIS_LLM_API_KEY"
            return failure(SUBJECT, f"{url} requires payment: {error.message}", mend)
        case ErrorKind.PERMISSION:
            mend = "give the key access, or set another key in TAMIS_LLM_API_KEY"
            return failure(SUBJECT, f"{url} denies this key access ({error.status})", mend)
        case ErrorKind.MODEL_NOT_FOUND:
            return failure(SUBJECT, f"{url} has no model {endpoint.model!r} ({error.status})", NAMES_BOTH)
        case ErrorKind.RATE_LIMITED if error.no_capacity:
            return warning(SUBJECT, f"{url} has no capacity on this tier now", "try later, or use the standard tier")
        case ErrorKind.RATE_LIMITED:
            mend = "wait, or check the account's quota: workers wait for a rate limit, but pause at an empty account"
            return warning(SUBJECT, f"{url} reports too many requests ({error.status})", mend)
        case ErrorKind.TIMEOUT:
            within = f"within {error.latency_ms / 1000:.0f} s" if error.latency_ms >= 1000 else "in time"
            return failure(SUBJECT, f"{url} does not answer {within}", "check the endpoint, and firewalls in between")
        case ErrorKind.CONNECTION:
            return failure(SUBJECT, f"{url} drops the connection: {error.message}", "check the endpoint")
        case ErrorKind.SERVER if (error.status or 0) >= 500:
            mend = "check the endpoint: workers try again, and an item fails after TAMIS_ITEM_DEADLINE"
            return failure(SUBJECT, f"{url} reports a server error: {error.message}", mend)
        case _:
            return failure(SUBJECT, f"{url} gives no usable answer: {error.message}", NAMES_BOTH)


def _redirects(error: CallError) -> bool:
    return error.status is not None and 300 <= error.status < 400


def _keyless(endpoint: ExaminedEndpoint, error: CallError) -> Finding:
    url = endpoint.base_url
    if endpoint.of_stack:
        what = f"{url} requires a key, and none is set here; the running stack's workers have one"
        names = f"TAMIS_LLM_BASE_URL={url} and TAMIS_MODEL={endpoint.model}"
        return warning(SUBJECT, what, f"to check it from this terminal, set TAMIS_LLM_API_KEY here too, with {names}")
    return failure(SUBJECT, f"{url} requires a key ({error.status}), and none is set", "set TAMIS_LLM_API_KEY")


def _no_way(url: str, error: CallError) -> Finding:
    match error.obstacle:
        case Obstacle.NAME:
            return failure(SUBJECT, f"the host of {url} is unknown", NAMES_IT)
        case Obstacle.REFUSED:
            return failure(SUBJECT, f"no server listens at {url}", f"start it, or {NAMES_IT}")
        case _:
            mend = "trust its certificate (SSL_CERT_FILE names a file of authorities), or correct the host name"
            return failure(SUBJECT, f"TLS to {url} fails: {error.message}", mend)
