"""The examination of the LLM: the list of models, the answers to sample questions, their cost, and the key."""

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from tamis_producer.config.redaction import shown_url
from tamis_producer.files.price_file import known_prices
from tamis_schemas import ConfigurationError, TamisError
from tamis_worker.config.settings import WorkerSettings
from tamis_worker.engine.conversation import CallPolicy
from tamis_worker.llm.api_key import NoKey, key_source
from tamis_worker.llm.chat import CallError
from tamis_worker.llm.llm import LlmClient
from tamis_worker.llm.model_list import ModelList

from .answers import judge_answers, judge_bill
from .endpoint import SUBJECT, ExaminedEndpoint, judge_list, out_of_reach
from .finding import Finding, failure, ok, warning
from .interview import AskedQuestion, SampleQuestion, interview, sample_questions

LISTS_WITHIN = 15.0  # s; longer than the connection timeout, whose error is more precise
ANSWERS_WITHIN = 120.0  # s per question, or TAMIS_CALL_TIMEOUT if that is shorter
ALL_ANSWER_WITHIN = 300.0  # s for all questions; a small model on a busy CPU takes a minute for each

# The client identifies itself by the key, and can send no user and password.
NO_USER = "remove them from TAMIS_LLM_BASE_URL: only the key (TAMIS_LLM_API_KEY) identifies the caller"
KEY_SUBJECT = "LLM key"
SOON = timedelta(hours=24)  # a batch may take this long


def examine_llm(
    settings: WorkerSettings, *, call: bool, tell: Callable[[str], object], learn: Callable[[str], object]
) -> Iterator[Finding]:
    """Yield the findings about the LLM. `call`: whether to ask the model, which costs money.

    `tell` receives the name of each step that begins. `learn` receives each key before its use, so that the caller can
    redact the key.
    """
    keys = (settings.llm_api_key_file, settings.llm_api_key, settings.llm_api_key_command)
    try:
        url = _url_of(settings)
        endpoint = ExaminedEndpoint(
            base_url=shown_url(url),
            model=settings.default_model,
            has_key=any(key is not None for key in keys),
            of_stack=not settings.names_an_llm,
        )
        if urlsplit(url).username:
            yield failure(SUBJECT, f"user and password in the URL of {endpoint.base_url} cannot be sent", NO_USER)
            return
        questions = sample_questions(endpoint.model, CallPolicy.of(settings), settings.steering)
        prices = known_prices(settings.prices)
        tell(f"listing the models of {endpoint.base_url}")
        listed, answered, expires = asyncio.run(_ask(url, settings, questions, call, tell, learn))
    except ConfigurationError as error:
        yield failure(SUBJECT, str(error), "see docs/settings.md")
        return
    except TamisError as error:
        yield failure(SUBJECT, str(error), "correct TAMIS_PRICES")
        return
    yield from _beside_the_stack(settings, endpoint)
    yield from judge_list(endpoint, listed, asking=bool(answered))
    if answered:
        yield from judge_answers(endpoint, answered)
        yield from judge_bill(endpoint.model, answered, prices)
    if endpoint.has_key:
        yield judge_key(expires, datetime.now(UTC), renewed=_renewal_of(settings))


async def _ask(
    url: str,
    settings: WorkerSettings,
    questions: tuple[SampleQuestion, ...],
    call: bool,
    tell: Callable[[str], object],
    learn: Callable[[str], object],
) -> tuple[ModelList | CallError, tuple[AskedQuestion, ...], datetime | None]:
    """Return the list of models or the error of its request, the asked questions, and the key's expiry (None: unknown).

    Questions are asked only if `call` is True and the endpoint is reachable.
    """
    keys = key_source(
        settings.llm_api_key.get_secret_value() if settings.llm_api_key else "",
        file=settings.llm_api_key_file,
        command=settings.llm_api_key_command,
        ttl=settings.llm_api_key_ttl,
        learn=learn,
    )
    llm = LlmClient(
        url,
        keys,
        timeout=min(settings.call_timeout, ANSWERS_WITHIN),
        connections=len(questions),
        max_answer_bytes=settings.max_answer_bytes,
        compiles_grammars=settings.bounded_schema,
    )
    try:
        answered: tuple[AskedQuestion, ...] = ()
        listed = await llm.models(within=LISTS_WITHIN, headers=questions[0].request.headers)
        if call and not (isinstance(listed, CallError) and out_of_reach(listed)):
            tell(f"asking {questions[0].request.model} {len(questions)} questions")
            answered = await interview(llm, questions, within=ALL_ANSWER_WITHIN)
        expires = None
        with suppress(NoKey):
            expires = expiry_of(await keys.current())
        return listed, answered, expires
    finally:
        await llm.close()


def _url_of(settings: WorkerSettings) -> str:
    """Return the URL of the endpoint that this terminal's settings name.

    If the settings name no endpoint, return the URL of the running stack's endpoint.
    """
    stack = settings.stack
    if not settings.names_an_llm and stack is not None and stack.llm_base_url is not None:
        return stack.llm_base_url
    return settings.endpoint


def _beside_the_stack(settings: WorkerSettings, endpoint: ExaminedEndpoint) -> Iterator[Finding]:
    stack = settings.stack
    if stack is None or stack.llm_base_url is None:
        return
    theirs = shown_url(stack.llm_base_url)
    if theirs != endpoint.base_url:
        what = f"the workers of the running stack ask {stack.model or 'a model'} at {theirs}, not {endpoint.base_url}"
        mend = "the checks below are of this terminal's endpoint; restart `tamis up` here to make its workers use it"
        yield warning(SUBJECT, what, mend)


def _renewal_of(settings: WorkerSettings) -> str | None:
    """Return the source of fresh keys, in words; None if the key is read only once, when a process starts."""
    if settings.llm_api_key_file is not None:
        return "TAMIS_LLM_API_KEY_FILE is read again when it changes"
    return None if settings.llm_api_key is not None else "TAMIS_LLM_API_KEY_COMMAND prints a fresh key"


def expiry_of(key: str) -> datetime | None:
    """Return when a key expires, if the key is a JSON web token with the claim `exp`; otherwise None."""
    with suppress(ValueError, KeyError, TypeError, OverflowError, OSError):
        _, content, _ = key.split(".")
        claims = json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))
        return datetime.fromtimestamp(claims["exp"], UTC)
    return None


def judge_key(expires: datetime | None, now: datetime, *, renewed: str | None) -> Finding:
    """Return the finding about the key's expiry, which may be unknown (None).

    `renewed`: the source of fresh keys, in words; None if there is no source.
    """
    how = f"; {renewed}" if renewed else ""
    if expires is None:
        return ok(KEY_SUBJECT, f"it states no expiry date{how}")
    left = expires - now
    at = f"{expires:%Y-%m-%d %H:%M} UTC"
    if left <= timedelta(0):
        mend = "renew it" if renewed else "put a fresh key in TAMIS_LLM_API_KEY"
        return warning(KEY_SUBJECT, f"it expired at {at}", mend)
    text = f"it expires in {_words(left)}, at {at}"
    if left <= SOON and not renewed:
        mend = "set TAMIS_LLM_API_KEY_FILE to a file that is renewed, or TAMIS_LLM_API_KEY_COMMAND"
        return warning(KEY_SUBJECT, f"{text}, and nothing renews it", mend)
    return ok(KEY_SUBJECT, f"{text}{how}")


def _words(left: timedelta) -> str:
    """Return a duration in words, in the largest unit that fits at least twice: `3 days`, `5 hours`, `58 minutes`."""
    seconds = left.total_seconds()
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length:,.0f} {unit}"
    return f"{seconds:.0f} seconds"
