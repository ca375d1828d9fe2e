"""The client of an endpoint: it asks a question and returns the reply. Errors are replies too, not exceptions."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter

import aiohttp
import httpx2
import openai

from tamis_schemas import ConfigurationError, ErrorKind

from ..limiter.rate_headers import RateHeaders, read_rate_headers
from .answer_reading import read_answer
from .api_key import NO_KEY, FixedKey, KeySource, NoKey
from .call_error import cleaned, of_exception, of_redirect, refusal_of
from .chat import CallError, ChatAnswer, ChatRequest, Message, Reply, Rung, is_below, lower
from .completion import read_completion
from .dialect import (
    AFTER_OTHER_SHAPE,
    FORBIDDEN,
    Adherence,
    Dialect,
    ParameterRefusal,
    adherence_of,
    after_refusal,
    body,
)
from .json_answer import Malformed
from .lean_client import AnswerTooLarge, LeanClient, Redirected
from .model_list import ModelList, listed_models
from .shared_dialects import DialectTurn, SharedDialects

__all__ = ["CallError", "ChatAnswer", "ChatRequest", "LlmClient", "Message", "Reply"]

CONNECT_TIMEOUT = 10.0  # seconds
# Endpoints that run on uvicorn close idle connections after 5 seconds; a request sent just then is lost.
KEEPALIVE = 4.0  # seconds
# The longest answers of the largest models, with their reasoning, have a million bytes; requested token probabilities
# add about 600 bytes per token.
MAX_ANSWER_BYTES = 8_000_000
COMPILES_GRAMMARS = "llama.cpp"  # the name of its server in every answer's headers
SHOWN = 200  # characters of one answer in messages about its model


@dataclass(frozen=True, slots=True)
class LearnResult:
    """The effect of an answer on the next call, and on the batch."""

    ask_again: bool = False  # True: repeat the question, because the next call has another request format
    hopeless: str | None = None  # reason why the model is useless to the batch, with an example of its answers


NO_CHANGE = LearnResult()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The reply to one HTTP request, and the endpoint's refusal if it refused the request."""

    reply: Reply
    refusal: ParameterRefusal | None = None  # set if the request itself was refused, and nothing was paid


class LlmClient:
    """The client of one endpoint, with one pool of connections. A process has one client, in one event loop.

    From refusals, the client learns the form of request that the endpoint accepts for each model and schema. From
    answers, the client learns the request format of each model, for all workers.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | KeySource,
        *,
        timeout: float,
        connections: int,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        dialects: SharedDialects | None = None,
        compiles_grammars: bool = False,
    ) -> None:
        """Prepare the client, without a connection.

        Args:
            base_url: up to and including `/v1`.
            api_key: the key, or the source of keys that expire; empty if the endpoint needs no key.
            timeout: longest time of a whole call, in seconds.
            connections: limit on calls in flight. Further calls wait for a connection, and this wait counts as time of
                the call.
            max_answer_bytes: limit on the bytes of an HTTP answer; the call fails if the answer has more.
            dialects: request formats, shared by all clients of the endpoint; None: there is no other client.
            compiles_grammars: True if the endpoint surely compiles schemas into grammars; otherwise its headers decide.

        Raises:
            ConfigurationError: `base_url` is no URL, or the key cannot be sent.
        """
        if not base_url.startswith(("http://", "https://")):
            raise ConfigurationError(f"TAMIS_LLM_BASE_URL: {base_url!r} does not begin with http:// or https://")
        self._keys = FixedKey(api_key or NO_KEY) if isinstance(api_key, str) else api_key
        self._timeout = timeout
        self._accepted: dict[tuple[str, str], Dialect] = {}  # accepted forms, by model and schema name
        self._dialects = dialects or SharedDialects()
        self._compiles_grammars = compiles_grammars
        limits = httpx2.Limits(max_connections=connections, keepalive_expiry=KEEPALIVE)
        times = httpx2.Timeout(timeout, connect=min(CONNECT_TIMEOUT, timeout))
        http = openai.DefaultAioHttpClient(timeout=times, limits=limits, follow_redirects=False)
        self._client = LeanClient(
            base_url=base_url, api_key=NO_KEY, timeout=times, http=http, max_bytes=max_answer_bytes
        )

    async def close(self) -> None:
        """Close the connections. Calls in flight end with an error."""
        await self._dialects.close()
        await self._client.close()

    async def models(self, *, within: float, headers: Mapping[str, str] | None = None) -> ModelList | CallError:
        """Return the models that the endpoint lists, or the error. The call costs nothing.

        `within`: longest time of the call, in seconds. `headers`: added to the usual headers.
        """
        try:
            key = await self._keys.current()
        except NoKey as error:
            return _no_key(error)
        try:
            async with asyncio.timeout(within):
                return await listed_models(self._client, {**(headers or {}), "Authorization": f"Bearer {key}"})
        except (openai.OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError, ValueError) as error:
            return of_exception(error, api_key=key, within=within)

    def dialect_of(self, request: ChatRequest) -> Dialect:
        """Return the form in which requests with this model and schema are sent now."""
        accepted = self._accepted.get((request.model, request.schema_name), Dialect())
        return replace(accepted, rung=lower(accepted.rung, self._dialects.rung_state(request.model).rung))

    def dialect_turn(self, request: ChatRequest) -> DialectTurn:
        """Return the context manager that admits a call to the model.

        In the manager's `with` block, await `wait` before you acquire the limiter's permit. Leave the block after
        `learn`.

        Until an answer of the model is usable, all workers together make one call at a time. All other calls wait
        without permits.
        """
        return self._dialects.turn(request.model, request.schema_name)

    async def ask(self, request: ChatRequest) -> Reply:
        """Return the reply to a request. Refused requests, which cost nothing, are repeated in another form.

        At most one call is paid. Failures of endpoint and network are returned as errors, not raised.
        """
        about = request.model, request.schema_name
        if self._compiles_grammars:
            await self._bound_for_grammars(request.model)
        highest = self._dialects.next_rung(request.model)
        while True:
            accepted = self._accepted.setdefault(about, Dialect())
            # `replace` takes six times as long.
            dialect = Dialect(lower(accepted.rung, highest), accepted.budget, accepted.left_out)
            outcome = await self._call(request, dialect)
            if outcome.refusal is None:
                return outcome.reply
            following = after_refusal(dialect, outcome.refusal, ("temperature", *request.options))
            if following is None:
                return outcome.reply
            if self._accepted[about] == accepted:  # else another call has already learned the dialect
                rung = accepted.rung if following.rung is dialect.rung else following.rung
                self._accepted[about] = replace(following, rung=rung)

    async def learn(self, request: ChatRequest, reply: Reply, *, usable: bool) -> LearnResult:
        """Record for all workers whether the request's format worked, and return the effect on the next call.

        `usable`: the operation accepted the reply. Filtered replies and refusals by the model change nothing. In a
        proven format, empty replies and prose change nothing either. After a cut-off reply, a server that compiles
        grammars gets every limit of the schema.
        """
        model, asked_on = request.model, reply.rung
        if asked_on is None:
            return NO_CHANGE
        if usable:
            await self._dialects.record_answer(model, asked_on, Adherence.USABLE, shape=request.schema_name)
            await self._bound_for_grammars(model)
            return NO_CHANGE
        content, adherence = "", Adherence.OTHER_SHAPE
        if isinstance(reply, ChatAnswer):
            state = self._dialects.rung_state(model)
            if state.proven and asked_on is state.rung and "{" not in reply.content:
                return NO_CHANGE  # a refusal in prose, for example: the record is the cause
            content, adherence = reply.content, _adherence(reply.content, request)
        elif reply.kind is ErrorKind.TRUNCATED:
            await self._bound_for_grammars(model)
            bounded_now = self._dialects.rung_state(model).rung is Rung.BOUNDED
            return LearnResult(ask_again=asked_on is Rung.STRICT and bounded_now)
        elif reply.kind is not ErrorKind.EMPTY or self._dialects.rung_state(model).proven:
            return NO_CHANGE
        repair = any(message.role == "assistant" for message in request.messages)
        state = await self._dialects.record_answer(model, asked_on, adherence, shape=request.schema_name, repair=repair)
        await self._bound_for_grammars(model)
        if adherence is Adherence.OTHER_SHAPE and state.proven and is_below(asked_on, state.rung):
            self._step_down(request, asked_on)
        count = await self._dialects.hopeless(model)
        if count is not None:
            last = await self._without_key(content)
            why = f"{count} answers of {model} in a row were unusable, and none before was usable; the last: {last!r}"
            return LearnResult(hopeless=why)
        bad = adherence is not Adherence.FOLLOWED
        return LearnResult(ask_again=bad and self.dialect_of(request).rung is not asked_on)

    async def _without_key(self, content: str) -> str:
        """Return the beginning of an answer's text without the API key, for messages."""
        key = ""
        with suppress(NoKey):
            key = await self._keys.current()
        return cleaned(content, key)[:SHOWN]

    async def _bound_for_grammars(self, model: str) -> None:
        """Change the model's request format from `STRICT` to `BOUNDED` if the server compiles schemas into grammars.

        The bounded schema contains every limit in a form that grammars obey.
        """
        state = self._dialects.rung_state(model)
        if self._compiles_grammars and state.rung is Rung.STRICT:
            await self._dialects.change(model, replace(state, rung=Rung.BOUNDED))

    def _step_down(self, request: ChatRequest, asked_on: Rung) -> None:
        """If the format `asked_on` had too many bad answers, choose a less binding format for this schema only."""
        lower_rung = AFTER_OTHER_SHAPE.get(asked_on)
        counts = self._dialects.answer_counts(request.model, asked_on)
        if lower_rung is not None and counts.beyond_tolerance(Adherence.OTHER_SHAPE):
            about = request.model, request.schema_name
            self._accepted[about] = replace(self._accepted[about], rung=lower_rung)

    async def _call(self, request: ChatRequest, dialect: Dialect) -> _Outcome:
        """Make one request. If the key is refused and another key exists, repeat the request with that key."""
        try:
            key = await self._keys.current()
        except NoKey as error:
            return _Outcome(_no_key(error))
        outcome = await self._call_with(key, request, dialect)
        if isinstance(outcome.reply, CallError) and outcome.reply.kind is ErrorKind.AUTHENTICATION:
            other = await self._keys.instead_of(key)
            if other is not None:
                return await self._call_with(other, request, dialect)
        return outcome

    async def _call_with(self, key: str, request: ChatRequest, dialect: Dialect) -> _Outcome:
        started = perf_counter()
        rate: RateHeaders | None = None
        written = body(request, dialect)
        within = self._timeout if request.timeout is None else request.timeout
        try:
            # The client's own time-outs are between two pieces of an answer: a slow trickle would never end.
            async with asyncio.timeout(within):
                response = await self._client.ask(
                    written, api_key=key, headers=request.headers, silence=request.timeout
                )
            if not self._dialects.rung_state(request.model).proven:
                self._compiles_grammars |= response.headers.get("server") == COMPILES_GRAMMARS
            rate = _rate(response.headers)
            content_type = response.headers.get("content-type", "")
            outcome = _outcome(read_completion(response.content, content_type=content_type, api_key=key))
        except openai.APIStatusError as error:
            rate = _rate(error.response.headers)
            refused = of_exception(error, api_key=key)
            # An error of a known kind concerns something else, even if its text is similar.
            is_refusal = refused.kind is ErrorKind.INVALID_REQUEST or error.status_code == FORBIDDEN
            refusal = refusal_of(error.status_code, error.body, error.message) if is_refusal else None
            outcome = _Outcome(refused, refusal)
        except Redirected as error:
            outcome = _Outcome(of_redirect(error.status, error.origin))
        except AnswerTooLarge as error:
            outcome = _Outcome(CallError(ErrorKind.SERVER, str(error), 200))
        except UnicodeEncodeError as error:
            reason = f"the prompt is not text: half of a surrogate pair at character {error.start}"
            outcome = _Outcome(CallError(ErrorKind.INVALID_REQUEST, reason))
        except (openai.OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError, ValueError) as error:
            outcome = _Outcome(of_exception(error, api_key=key, within=within))
        latency_ms = round((perf_counter() - started) * 1000)
        reply = replace(outcome.reply, latency_ms=latency_ms, rate=rate, rung=dialect.rung, body=written)
        return _Outcome(reply, outcome.refusal)


def _no_key(error: NoKey) -> CallError:
    return CallError(ErrorKind.AUTHENTICATION, f"there is no API key: {error}", everyone=True, sent=False)


def _outcome(reply: Reply) -> _Outcome:
    """Return the outcome of a reply with status 200. Such a reply may contain a refusal, if a gateway sent it."""
    if isinstance(reply, CallError) and (reply.kind is ErrorKind.INVALID_REQUEST or reply.status == FORBIDDEN):
        return _Outcome(reply, ParameterRefusal(reply.status or 400, reply.message))
    return _Outcome(reply)


def _adherence(content: str, request: ChatRequest) -> Adherence:
    try:
        return adherence_of(read_answer(content, request.schema).value, request.schema)
    except Malformed as reason:
        return adherence_of(reason, request.schema)


def _rate(headers: httpx2.Headers) -> RateHeaders | None:
    # One pass over all headers: looking up each name takes as long as this whole function.
    rates = {name.lower(): value for name, value in headers.raw if name[:12].lower() == b"x-ratelimit-"}
    if not rates:
        return None
    return read_rate_headers({name.decode("latin-1"): value.decode("latin-1") for name, value in rates.items()})
