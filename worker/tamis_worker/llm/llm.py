"""The one seam to the `openai` package: a question in, a reply out, errors as values."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import aiohttp
import httpx2
import openai

from tamis_schemas import ConfigurationError, ErrorKind, Usage

from .call_error import cleaned, of_answer, of_exception, refusal_of
from .chat import Answer, CallError, ChatRequest, Message, Reply
from .dialect import BELOW, Dialect, Refusal, after_refusal, body
from .lean_client import AnswerTooLarge, LeanClient
from .model_list import ModelList, listed_models
from .rate_headers import RateHeaders, read_rate_headers

__all__ = ["Answer", "CallError", "ChatRequest", "Llm", "Message", "Reply"]

CONNECT_TIMEOUT = 10.0  # seconds
# Endpoints that run on uvicorn close idle connections after 5 seconds; a request sent just then is lost.
KEEPALIVE = 4.0  # seconds
# A schema is refused before anything is written: whoever waits for another call to find out waits no longer than this.
PROBE_PATIENCE = 3.0  # seconds
MAX_ANSWER_BYTES = 4_000_000  # the longest answers of the largest models, with their reasoning, have a quarter of it
NO_KEY = "none"  # sent to endpoints that ask for none: the package insists on a key


@dataclass(frozen=True, slots=True)
class Learnt:
    """What an answer has changed."""

    anew: bool = False  # the question is worth asking anew: the next call asks in another way


@dataclass(slots=True)
class _Known:
    """What is known of a model and a schema, and the gate before the call that finds out more."""

    dialect: Dialect = field(default_factory=Dialect)
    settled: bool = False  # the endpoint has answered in this dialect
    probe: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one HTTP request came to."""

    reply: Reply
    refusal: Refusal | None = None  # where the request itself was refused, and nothing was paid
    understood: bool = False  # the endpoint takes the dialect


class Llm:
    """One endpoint, asked over one pool of connections; one per process, in one event loop.

    How each model wants to be asked for each schema is found out by the first calls and remembered: see `dialect`. By
    schema too, so that one schema that an endpoint refuses does not loosen the answers to all others.
    """

    def __init__(
        self, base_url: str, api_key: str, *, timeout: float, connections: int, max_answer_bytes: int = MAX_ANSWER_BYTES
    ) -> None:
        """Nothing connects yet.

        Args:
            base_url: up to and including `/v1`.
            api_key: empty where the endpoint asks for none.
            timeout: seconds that one call may take from first to last.
            connections: calls in flight at once; further ones wait for a connection, on their own time.
            max_answer_bytes: of one HTTP answer; more is not read, and the call counts as failed.

        Raises:
            ConfigurationError: where `base_url` is none.
        """
        if not base_url.startswith(("http://", "https://")):
            raise ConfigurationError(f"TAMIS_LLM_BASE_URL: {base_url!r} does not begin with http:// or https://")
        self._api_key = api_key or NO_KEY
        self._timeout = timeout
        self._known: dict[tuple[str, str], _Known] = {}  # by model and schema name
        limits = httpx2.Limits(max_connections=connections, keepalive_expiry=KEEPALIVE)
        times = httpx2.Timeout(timeout, connect=min(CONNECT_TIMEOUT, timeout))
        http = openai.DefaultAioHttpClient(timeout=times, limits=limits)
        self._client = LeanClient(
            base_url=base_url, api_key=self._api_key, timeout=times, http=http, max_bytes=max_answer_bytes
        )

    async def close(self) -> None:
        """Close the connections. Calls in flight end with an error."""
        await self._client.close()

    async def models(self, *, within: float, headers: Mapping[str, str] | None = None) -> ModelList | CallError:
        """What the endpoint lists, which costs nothing, or why it lists nothing.

        `within` are seconds; `headers` are sent beside the usual ones.
        """
        sent = {**(headers or {}), "Authorization": f"Bearer {self._api_key}"}
        try:
            async with asyncio.timeout(within):
                return await listed_models(self._client, sent)
        except (openai.OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError, ValueError) as error:
            return of_exception(error, api_key=self._api_key)

    def dialect_of(self, request: ChatRequest) -> Dialect:
        """How such a request is put to the endpoint, as far as that is known."""
        return self._known_of(request).dialect

    async def learn(self, request: ChatRequest, reply: Reply, *, usable: bool) -> Learnt:
        """What a reply teaches of how to ask; `usable` says that the operation took it."""
        known = self._known_of(request)
        below = BELOW.get(known.dialect.rung)
        if usable or below is None or isinstance(reply, CallError):
            return Learnt()
        known.dialect = replace(known.dialect, rung=below)
        return Learnt(anew=True)

    @asynccontextmanager
    async def finding_out(self, request: ChatRequest) -> AsyncIterator[None]:
        """Around the permit for a call and the call: as long as it is not known how to ask, one call finds out.

        The others wait for it, for a while, before they ask for a permit: those who waited with one in their hands
        would all call at once afterwards, and more than the limit in one window.
        """
        known = self._known_of(request)
        if known.settled:
            yield
            return
        try:
            async with asyncio.timeout(PROBE_PATIENCE):
                await known.probe.acquire()
        except TimeoutError:
            yield
            return
        if known.settled:  # by the call that was waited for
            known.probe.release()
            yield
            return
        try:
            yield
        finally:
            known.probe.release()

    async def ask(self, request: ChatRequest) -> Reply:
        """The reply to a request: one paid call at most, and the unpaid ones that find out how to ask.

        Whatever the endpoint or the network does is a value; cancellation raises.
        """
        known = self._known_of(request)
        while True:
            dialect = known.dialect
            outcome = await self._call(request, dialect)
            known.settled = known.settled or outcome.understood
            optional = ("temperature", *request.options)
            following = None if outcome.refusal is None else after_refusal(dialect, outcome.refusal, optional)
            if following is None:
                return outcome.reply
            if known.dialect == dialect:  # else another call has found out meanwhile
                known.dialect = following

    def _known_of(self, request: ChatRequest) -> _Known:
        about = request.model, request.schema_name
        known = self._known.get(about)
        if known is None:
            known = self._known[about] = _Known()
        return known

    async def _call(self, request: ChatRequest, dialect: Dialect) -> _Outcome:
        started = perf_counter()
        rate: RateHeaders | None = None
        try:
            # The client's own time-outs are between two pieces of an answer: a slow trickle would never end.
            async with asyncio.timeout(self._timeout):
                response = await self._client.ask(body(request, dialect))
            rate = _rate(response.headers)
            outcome = self._outcome(json.loads(response.content))
        except openai.APIStatusError as error:
            rate = _rate(error.response.headers)
            reply = of_exception(error, api_key=self._api_key)
            # An error of a known kind is about something else, whatever words it uses.
            refused = reply.kind is ErrorKind.INVALID_REQUEST
            outcome = _Outcome(reply, refusal_of(error.status_code, error.body, error.message) if refused else None)
        except AnswerTooLarge as error:
            outcome = _Outcome(CallError(ErrorKind.SERVER, str(error), 200))
        except RecursionError:
            outcome = _Outcome(CallError(ErrorKind.SERVER, "the endpoint answered JSON that is nested too deeply", 200))
        except UnicodeEncodeError as error:
            reason = f"the prompt is not text: half of a surrogate pair at character {error.start}"
            outcome = _Outcome(CallError(ErrorKind.INVALID_REQUEST, reason))
        except (openai.OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError, ValueError) as error:
            outcome = _Outcome(of_exception(error, api_key=self._api_key))
        latency_ms = round((perf_counter() - started) * 1000)
        return replace(outcome, reply=replace(outcome.reply, latency_ms=latency_ms, rate=rate))

    def _outcome(self, received: object) -> _Outcome:
        """What a 200 came to."""
        if not isinstance(received, Mapping):
            shown = cleaned(str(received)[:200], self._api_key)
            reply = CallError(
                ErrorKind.SERVER, f"not an API answer; does TAMIS_LLM_BASE_URL end in /v1? {shown!r}", 200
            )
            return _Outcome(reply)
        error = received.get("error")
        if isinstance(error, Mapping):  # some gateways answer 200 and say inside what went wrong
            code = str(error.get("code"))
            status = int(code) if code.isdecimal() and 400 <= int(code) < 600 else 500
            return _Outcome(of_answer(status, error, text="no message", headers={}, api_key=self._api_key))
        return _Outcome(self._reply(received), understood=True)

    def _reply(self, received: Mapping[str, Any]) -> Reply:
        usage = _usage(received.get("usage"))
        choices = received.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, Mapping) else None
        if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
            return CallError(ErrorKind.EMPTY, "the answer holds no choice", 200, usage=usage)
        content = _text(message.get("content"))
        finish_reason = str(choice.get("finish_reason") or "stop")
        if message.get("refusal"):
            said = cleaned(str(message["refusal"]), self._api_key)
            return CallError(ErrorKind.REFUSED, f"the model refuses: {said}", 200, usage=usage)
        if finish_reason == "content_filter":
            return CallError(ErrorKind.CONTENT_FILTER, "the content filter held the answer back", 200, usage=usage)
        if finish_reason == "length":
            tokens = usage.completion_tokens
            return CallError(ErrorKind.TRUNCATED, f"the answer was cut off after {tokens} tokens", 200, usage=usage)
        if not content.strip():
            return CallError(ErrorKind.EMPTY, f"no content; finish_reason {finish_reason!r}", 200, usage=usage)
        return Answer(content, str(received.get("model") or ""), usage, finish_reason, latency_ms=0)


def _rate(headers: httpx2.Headers) -> RateHeaders | None:
    # Once through all of them: looking up each name takes as long as the whole of this.
    found = {name.lower(): value for name, value in headers.raw if name[:12].lower() == b"x-ratelimit-"}
    if not found:
        return None
    return read_rate_headers({name.decode("latin-1"): value.decode("latin-1") for name, value in found.items()})


def _usage(given: object) -> Usage:
    """The tokens paid for; what an endpoint does not count is 0."""
    if not isinstance(given, Mapping):
        return Usage()
    prompt, completion = _count(given, "prompt_tokens"), _count(given, "completion_tokens")
    return Usage(
        prompt,
        completion,
        min(prompt, _count(given.get("prompt_tokens_details"), "cached_tokens")),
        min(completion, _count(given.get("completion_tokens_details"), "reasoning_tokens")),
    )


def _count(given: object, name: str) -> int:
    """A number of tokens; many endpoints leave details out, or give null."""
    count = given.get(name) if isinstance(given, Mapping) else None
    return count if isinstance(count, int) and count > 0 else 0


def _text(content: object) -> str:
    """A message's content; some endpoints give it in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""
