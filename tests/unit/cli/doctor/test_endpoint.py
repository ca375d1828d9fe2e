"""What the doctor says of an endpoint; each row is a thing that goes wrong in practice."""

from dataclasses import replace

import pytest

from tamis_cli.doctor.endpoint import ExaminedEndpoint, judge_error, judge_list, out_of_reach
from tamis_cli.doctor.finding import Level
from tamis_schemas import ErrorKind
from tamis_worker.llm.chat import CallError, Obstacle

OK, WARNING, FAILURE = Level.OK, Level.WARNING, Level.FAILURE
URL = "https://llm.example/v1"
ENDPOINT = ExaminedEndpoint(URL, "m")


def error(kind: ErrorKind, status: int | None = None, **more: object) -> CallError:
    return CallError(kind, "why", status, **more)  # type: ignore[arg-type] # fields


UNKNOWN_HOST = error(ErrorKind.CONNECTION, obstacle=Obstacle.NAME, sent=False)
REFUSED = error(ErrorKind.CONNECTION, obstacle=Obstacle.REFUSED, sent=False)
TLS = error(ErrorKind.CONNECTION, obstacle=Obstacle.TLS, sent=False)


@pytest.mark.parametrize(
    ("met", "level", "says", "mend"),
    [
        (error(ErrorKind.AUTHENTICATION, 401, everyone=True), FAILURE, "refuses the key (401)", "TAMIS_LLM_API_KEY"),
        (error(ErrorKind.PERMISSION, 403), FAILURE, "denies this key access (403)", "TAMIS_LLM_API_KEY"),
        (error(ErrorKind.PERMISSION, 402, everyone=True), FAILURE, "requires payment: why", "top up the key's account"),
        (error(ErrorKind.MODEL_NOT_FOUND, 404, everyone=True), FAILURE, "has no model 'm' (404)", "TAMIS_MODEL"),
        (error(ErrorKind.RATE_LIMITED, 429), WARNING, "too many requests (429)", "quota"),
        (error(ErrorKind.RATE_LIMITED, 429, no_capacity=True), WARNING, "no capacity on this tier", "standard tier"),
        (error(ErrorKind.AUTHENTICATION, everyone=True, sent=False), FAILURE, "why", "file or command"),
        (error(ErrorKind.MODEL_NOT_FOUND, 302), FAILURE, "redirects: why", "TAMIS_LLM_BASE_URL"),
        (error(ErrorKind.INVALID_REQUEST, 307), FAILURE, "redirects: why", "TAMIS_LLM_BASE_URL"),
        (error(ErrorKind.SERVER, 503), FAILURE, "reports a server error: why", "TAMIS_ITEM_DEADLINE"),
        (error(ErrorKind.SERVER), FAILURE, "gives no usable answer: why", "ends in /v1"),
        (error(ErrorKind.INVALID_REQUEST, 400), FAILURE, "gives no usable answer: why", "TAMIS_MODEL"),
        (error(ErrorKind.TIMEOUT), FAILURE, "does not answer in time", "firewalls"),
        (error(ErrorKind.CONNECTION), FAILURE, "drops the connection: why", "endpoint"),
        (UNKNOWN_HOST, FAILURE, f"the host of {URL} is unknown", "TAMIS_LLM_BASE_URL"),
        (REFUSED, FAILURE, f"no server listens at {URL}", "start it"),
        (TLS, FAILURE, f"TLS to {URL} fails: why", "SSL_CERT_FILE"),
    ],
)
def test_an_endpoint_that_does_not_answer_is_judged_by_why(met: CallError, level: Level, says: str, mend: str) -> None:
    found = judge_error(ENDPOINT, met)
    assert (found.level, says in found.what, mend in (found.mend or "")) == (level, True, True), found


@pytest.mark.parametrize("status", [401, 403])
def test_without_a_key_here_the_endpoint_is_not_at_fault(status: int) -> None:
    met = error(ErrorKind.AUTHENTICATION if status == 401 else ErrorKind.PERMISSION, status)
    alone = judge_error(replace(ENDPOINT, has_key=False), met)
    assert (alone.level, alone.what) == (FAILURE, f"{URL} requires a key ({status}), and none is set")
    beside = judge_error(replace(ENDPOINT, has_key=False, of_stack=True), met)
    assert beside.level is WARNING
    assert "the running stack's workers have one" in beside.what
    assert f"TAMIS_LLM_API_KEY here too, with TAMIS_LLM_BASE_URL={URL} and TAMIS_MODEL=m" in (beside.mend or "")


@pytest.mark.parametrize(
    ("met", "hopeless"),
    [
        (UNKNOWN_HOST, True),
        (error(ErrorKind.TIMEOUT, sent=False), True),
        (error(ErrorKind.AUTHENTICATION, 401), True),
        (error(ErrorKind.SERVER, 301), True),
        (error(ErrorKind.PERMISSION, 403), False),  # a key may be good for chat alone
        (error(ErrorKind.MODEL_NOT_FOUND, 404), False),  # /models is not served
        (error(ErrorKind.SERVER, 500), False),
        (error(ErrorKind.TIMEOUT), False),
    ],
)
def test_nobody_is_asked_who_cannot_be_reached(met: CallError, hopeless: bool) -> None:
    assert out_of_reach(met) is hopeless


@pytest.mark.parametrize(
    ("listed", "level", "says"),
    [
        (("m", "n"), OK, "answers and lists m"),
        (("n",), WARNING, "does not list the model 'm'; it lists n"),
        ((), WARNING, "it lists none"),
        (tuple("abcdefg"), WARNING, "it lists a, b, c, d, e ..."),
        (error(ErrorKind.SERVER), WARNING, "lists no models: key and model were not checked"),
        (error(ErrorKind.MODEL_NOT_FOUND, 404), WARNING, "lists no models (404)"),
        (error(ErrorKind.PERMISSION, 403), WARNING, "lists no models (403)"),
        (error(ErrorKind.RATE_LIMITED, 429), WARNING, "too many requests"),
        (error(ErrorKind.SERVER, 503), FAILURE, "server error"),
        (error(ErrorKind.TIMEOUT), FAILURE, "does not answer in time"),
        (error(ErrorKind.AUTHENTICATION, 401), FAILURE, "refuses the key"),
        (UNKNOWN_HOST, FAILURE, "is unknown"),
    ],
)
def test_where_the_model_is_not_asked_the_list_is_all_there_is(
    listed: tuple[str, ...] | CallError, level: Level, says: str
) -> None:
    (found,) = judge_list(ENDPOINT, listed, asking=False)
    assert (found.level, says in found.what) == (level, True), found
    if level is WARNING and "list" in found.what:
        assert "without --no-call" in (found.mend or "")


def test_where_the_model_is_asked_a_missing_list_or_model_is_no_fault() -> None:
    for met in (error(ErrorKind.MODEL_NOT_FOUND, 404), error(ErrorKind.SERVER, 500), error(ErrorKind.TIMEOUT)):
        assert judge_list(ENDPOINT, met, asking=True) == []
    (found,) = judge_list(ENDPOINT, ("n",), asking=True)
    assert (found.level, found.what) == (OK, f"{URL} answers but does not list m; it lists n")
