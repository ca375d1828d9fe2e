"""The one seam to the `openai` package: a question in, a reply out, errors as values."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter

import aiohttp
import httpx2
import openai

from tamis_schemas import ConfigurationError, ErrorKind

from .api_key import NO_KEY, FixedKey, KeySource, NoKey
from .call_error import of_exception, of_redirect, refusal_of
from .chat import Answer, CallError, ChatRequest, Message, Reply
from .completion import read_completion
from .dialect import Dialect, Refusal, after_refusal, body
from .lean_client import AnswerTooLarge, LeanClient, Redirected
from .rate_headers import RateHeaders, read_rate_headers

__all__ = ["Answer", "CallError", "ChatRequest", "Llm", "Message", "Reply"]

CONNECT_TIMEOUT = 10.0  # seconds
# Endpoints that run on uvicorn close idle connections after 5 seconds; a request sent just then is lost.
KEEPALIVE = 4.0  # seconds
# A schema is refused before anything is written: whoever waits for another call to find out waits no longer than this.
PROBE_PATIENCE = 3.0  # seconds
MAX_ANSWER_BYTES = 4_000_000  # the longest answers of the largest models, with their reasoning, have a quarter of it


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
        self,
        base_url: str,
        api_key: str | KeySource,
        *,
        timeout: float,
        connections: int,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        """Nothing connects yet.

        Args:
            base_url: up to and including `/v1`.
            api_key: empty where the endpoint asks for none; or where keys come from that expire.
            timeout: seconds that one call may take from first to last.
            connections: calls in flight at once; further ones wait for a connection, on their own time.
            max_answer_bytes: of one HTTP answer; more is not read, and the call counts as failed.

        Raises:
            ConfigurationError: where `base_url` is none, or the key cannot be sent.
        """
        if not base_url.startswith(("http://", "https://")):
            raise ConfigurationError(f"TAMIS_LLM_BASE_URL: {base_url!r} does not begin with http:// or https://")
        self._keys = FixedKey(api_key or NO_KEY) if isinstance(api_key, str) else api_key
        self._timeout = timeout
        self._known: dict[tuple[str, str], _Known] = {}  # by model and schema name
        limits = httpx2.Limits(max_connections=connections, keepalive_expiry=KEEPALIVE)
        times = httpx2.Timeout(timeout, connect=min(CONNECT_TIMEOUT, timeout))
        http = openai.DefaultAioHttpClient(timeout=times, limits=limits, follow_redirects=False)
        self._client = LeanClient(
            base_url=base_url, api_key=NO_KEY, timeout=times, http=http, max_bytes=max_answer_bytes
        )

    async def close(self) -> None:
        """Close the connections. Calls in flight end with an error."""
        await self._client.close()

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
        """One request; a second one where the key was refused and there is another."""
        try:
            key = await self._keys.current()
        except NoKey as error:
            reply = CallError(ErrorKind.AUTHENTICATION, f"there is no API key: {error}", everyone=True, sent=False)
            return _Outcome(reply)
        outcome = await self._call_with(key, request, dialect)
        if isinstance(outcome.reply, CallError) and outcome.reply.kind is ErrorKind.AUTHENTICATION:
            other = await self._keys.instead_of(key)
            if other is not None:
                return await self._call_with(other, request, dialect)
        return outcome

    async def _call_with(self, key: str, request: ChatRequest, dialect: Dialect) -> _Outcome:
        started = perf_counter()
        rate: RateHeaders | None = None
        try:
            # The client's own time-outs are between two pieces of an answer: a slow trickle would never end.
            async with asyncio.timeout(self._timeout if request.timeout is None else request.timeout):
                response = await self._client.ask(
                    body(request, dialect), api_key=key, headers=request.headers, silence=request.timeout
                )
            rate = _rate(response.headers)
            content_type = response.headers.get("content-type", "")
            outcome = _outcome(read_completion(response.content, content_type=content_type, api_key=key))
        except openai.APIStatusError as error:
            rate = _rate(error.response.headers)
            reply = of_exception(error, api_key=key)
            # An error of a known kind is about something else, whatever words it uses.
            refused = reply.kind is ErrorKind.INVALID_REQUEST
            outcome = _Outcome(reply, refusal_of(error.status_code, error.body, error.message) if refused else None)
        except Redirected as error:
            outcome = _Outcome(of_redirect(error.status, error.origin))
        except AnswerTooLarge as error:
            outcome = _Outcome(CallError(ErrorKind.SERVER, str(error), 200))
        except UnicodeEncodeError as error:
            reason = f"the prompt is not text: half of a surrogate pair at character {error.start}"
            outcome = _Outcome(CallError(ErrorKind.INVALID_REQUEST, reason))
        except (openai.OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError, ValueError) as error:
            outcome = _Outcome(of_exception(error, api_key=key))
        latency_ms = round((perf_counter() - started) * 1000)
        return replace(outcome, reply=replace(outcome.reply, latency_ms=latency_ms, rate=rate))


def _outcome(reply: Reply) -> _Outcome:
    """What a 200 came to; gateways refuse a request inside of one."""
    if isinstance(reply, CallError) and reply.kind is ErrorKind.INVALID_REQUEST:
        return _Outcome(reply, Refusal(reply.status or 400, reply.message))
    read = isinstance(reply, Answer) or (reply.status == 200 and reply.kind is not ErrorKind.SERVER)
    return _Outcome(reply, understood=read)


def _rate(headers: httpx2.Headers) -> RateHeaders | None:
    # Once through all of them: looking up each name takes as long as the whole of this.
    found = {name.lower(): value for name, value in headers.raw if name[:12].lower() == b"x-ratelimit-"}
    if not found:
        return None
    return read_rate_headers({name.decode("latin-1"): value.decode("latin-1") for name, value in found.items()})
