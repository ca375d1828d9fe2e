"""The LLM as the workers would ask it: its list of models, one question of each operation, its key, its bill."""

import asyncio
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from urllib.parse import urlsplit

from tamis_producer.price_file import known_prices
from tamis_producer.redaction import shown_url
from tamis_producer.setting_files import files_named
from tamis_schemas import ConfigurationError, TamisError

from ..engine.asking import Patience
from ..llm.chat import CallError
from ..llm.llm import Llm
from ..llm.model_list import ModelList
from ..settings import WorkerSettings
from .answers import judge_answers
from .bill import judge_bill
from .endpoint import SUBJECT, Endpoint, judge_list, out_of_reach
from .finding import Finding, failure, warning
from .interview import Asked, interview
from .llm_key import KeySource, expiry_of, judge_key
from .sample_questions import SampleQuestion, sample_questions

LISTS_WITHIN = 15.0  # s; longer than the wait for a connection, so that it is known that there was none
ANSWERS_WITHIN = 120.0  # s for one question, or TAMIS_CALL_TIMEOUT where that is shorter
ALL_ANSWER_WITHIN = 300.0  # s for all questions; a small model on a busy CPU takes a minute for each

# The client sends a key, and takes no second way of saying who it is.
NO_USER = "take them out of TAMIS_LLM_BASE_URL: an endpoint is told who asks by TAMIS_LLM_API_KEY"


def examine_llm(
    settings: WorkerSettings, *, call: bool, tell: Callable[[str], object] = lambda _: None
) -> Iterator[Finding]:
    """What is found of the LLM; `call`: it is asked, which is paid for.

    `tell` takes what is being done.
    """
    try:
        endpoint = _endpoint_of(settings)
        if urlsplit(settings.endpoint).username:
            yield failure(SUBJECT, f"user and password in the URL of {endpoint.base_url} cannot be sent", NO_USER)
            return
        questions = sample_questions(endpoint.model, Patience.of(settings))
        prices = known_prices(settings.prices)
        tell(f"listing the models of {endpoint.base_url}")
        listed, asked = asyncio.run(_ask(settings, questions, call, tell))
    except ConfigurationError as error:
        yield failure(SUBJECT, str(error), "see docs/settings.md")
        return
    except TamisError as error:
        yield failure(SUBJECT, str(error), "put TAMIS_PRICES right")
        return
    yield from _beside_the_stack(settings, endpoint)
    yield from judge_list(endpoint, listed, asking=bool(asked))
    if asked:
        yield from judge_answers(endpoint, asked)
        yield from judge_bill(endpoint.model, asked, prices)
    yield from judge_key(_source_of(settings), expiry_of(_key_of(settings)), datetime.now(UTC))


async def _ask(
    settings: WorkerSettings, questions: tuple[SampleQuestion, ...], call: bool, tell: Callable[[str], object]
) -> tuple[ModelList | CallError, tuple[Asked, ...]]:
    """The list of models, and the interview; nobody is interviewed who cannot be reached."""
    llm = Llm(
        settings.endpoint,
        _key_of(settings),
        timeout=min(settings.call_timeout, ANSWERS_WITHIN),
        connections=len(questions),
        max_answer_bytes=settings.max_answer_bytes,
    )
    try:
        listed = await llm.models(within=LISTS_WITHIN, headers=questions[0].request.headers)
        if not call or (isinstance(listed, CallError) and out_of_reach(listed)):
            return listed, ()
        tell(f"asking {questions[0].request.model} {len(questions)} questions")
        return listed, await interview(llm, questions, within=ALL_ANSWER_WITHIN)
    finally:
        await llm.close()


def _endpoint_of(settings: WorkerSettings) -> Endpoint:
    """The endpoint of this terminal; where it names none, that of the stack in another one."""
    return Endpoint(
        base_url=shown_url(settings.endpoint),
        model=settings.default_model,
        has_key=bool(_key_of(settings)),
        of_stack=not settings.names_an_llm,
    )


def _beside_the_stack(settings: WorkerSettings, endpoint: Endpoint) -> Iterator[Finding]:
    stack = settings.stack
    if stack is None or stack.llm_base_url is None:
        return
    theirs = shown_url(stack.llm_base_url)
    if theirs != endpoint.base_url:
        what = f"the workers of the running stack ask {stack.model or 'a model'} at {theirs}, not {endpoint.base_url}"
        mend = "what follows is about this terminal's; start `tamis up` anew where its workers should ask it"
        yield warning(SUBJECT, what, mend)


def _key_of(settings: WorkerSettings) -> str:
    return settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""


def _source_of(settings: WorkerSettings) -> KeySource:
    if settings.llm_api_key is None:
        return KeySource.NONE
    return KeySource.FILE if "TAMIS_LLM_API_KEY" in files_named(os.environ) else KeySource.SETTING
