"""The double's HTTP side: /v1 as OpenAI's, and /double for the tests."""

import asyncio
import hashlib
import json
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from . import answers, errors, strictness
from .errors import Problem
from .limits import Limits
from .script import Fault, Kind, Options, Quotes

CLIENT_LEFT = 499  # remembered for a call whose client went away before the answer
CHARACTERS_PER_TOKEN = 4
# Faults that strike before anybody has looked at the request.
BEFORE_READING = frozenset(errors.USUAL) | {Kind.DROPPED, Kind.BAD_GATEWAY}


@dataclass(slots=True)
class _Record:
    number: int
    model: str
    messages: Any
    response_format: Any
    parameters: dict[str, Any]
    key_present: bool
    key_matches: bool
    in_flight: int
    started: float
    ended: float | None = None
    status: int | None = None
    fault: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class Server:
    """The double itself: what it was told, and what it remembers. It never keeps an API key."""

    def __init__(self, options: Options) -> None:
        self._in_flight = 0
        self._changed = asyncio.Event()  # set, and replaced, whenever a call comes or ends
        self.tell(options)
        self.forget()

    def tell(self, options: Options) -> None:
        """Behave like this from now on; limits start afresh, and faults may hit again."""
        self._options = options
        self._limits = Limits(options.rpm, options.tpm, options.minute, time.monotonic())
        self._hits: Counter[int] = Counter()

    def forget(self) -> None:
        """Forget every call; those in flight go on, unremembered."""
        self._records: list[_Record] = []
        self._seen: Counter[bytes] = Counter()
        self._statuses: Counter[str] = Counter()
        self._number = 0

    def app(self) -> web.Application:
        """The routes."""
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/double/calls", self._tell_calls)
        app.router.add_get("/double/count", self._tell_count)
        app.router.add_get("/double/wait", self._wait)
        app.router.add_post("/double/script", self._take_script)
        app.router.add_post("/double/reset", self._reset)
        return app

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        started = time.monotonic()
        try:
            body = json.loads(await request.read())
            messages = body["messages"]
            prompt = "\n".join(str(message["content"]) for message in messages)
        except (ValueError, TypeError, KeyError):
            return _problem(Problem(400, "We could not parse the JSON body of your request."), {})
        key = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        self._number += 1
        self._in_flight += 1
        self._announce()
        record = _Record(
            number=self._number,
            model=str(body.get("model")),
            messages=messages,
            response_format=body.get("response_format"),
            parameters={n: v for n, v in body.items() if n not in ("model", "messages", "response_format")},
            key_present=bool(key),
            key_matches=self._options.api_key is None or key == self._options.api_key,
            in_flight=self._in_flight,
            started=started,
        )
        if self._options.remember:
            self._records.append(record)
        statuses = self._statuses  # of before a reset, if one comes meanwhile
        try:
            response = await self._answer(request, record, body, prompt)
        except asyncio.CancelledError:
            record.status = CLIENT_LEFT
            raise
        finally:
            self._in_flight -= 1
            record.ended = time.monotonic()
            statuses[str(record.status)] += 1
            self._announce()
        return response

    async def _answer(
        self, request: web.Request, record: _Record, body: dict[str, Any], prompt: str
    ) -> web.StreamResponse:
        options = self._options
        problem = self._refusal(record, body, prompt)
        fault = self._fault(record.number, prompt, refused=problem is not None)
        record.fault = fault.kind.value if fault else None
        if fault is not None and fault.kind in BEFORE_READING:
            if fault.delay:
                await asyncio.sleep(fault.delay)
            if fault.kind is Kind.DROPPED:
                record.status = 0
                _abort(request)
                return web.Response()
            problem = errors.of_fault(fault)
            if problem is None:
                record.status = 502
                page = "<html><body><h1>502 Bad Gateway</h1></body></html>"
                return web.Response(status=502, text=page, content_type="text/html")
        if problem is not None:
            record.status = problem.status
            return _problem(problem, self._limits.headers(time.monotonic()))
        completion = self._completion(record, body, prompt, fault)
        over = self._limits.admit(completion["usage"]["total_tokens"], time.monotonic())
        headers = self._limits.headers(time.monotonic())
        if over is not None:
            record.status = 429
            return _problem(errors.of_limit(record.model, over), headers)
        delay = options.latency + (fault.delay if fault and fault.kind is not Kind.TRICKLE else 0.0)
        if delay:
            await asyncio.sleep(delay)
        return await self._send(request, record, json.dumps(completion).encode(), headers, fault)

    async def _send(
        self, request: web.Request, record: _Record, body: bytes, headers: dict[str, str], fault: Fault | None
    ) -> web.StreamResponse:
        record.status = 200
        match fault.kind if fault else None:
            case Kind.CUT:
                response = web.StreamResponse(headers={**headers, "content-length": str(len(body))})
                response.content_type = "application/json"
                await response.prepare(request)
                await response.write(body[: len(body) // 2])
                _abort(request)
                return response
            case Kind.TRICKLE:
                response = web.StreamResponse(headers={**headers, "content-length": str(len(body))})
                response.content_type = "application/json"
                await response.prepare(request)
                piece = -(-len(body) // 10)
                for place in range(0, len(body), piece):
                    await asyncio.sleep(fault.delay if fault else 0.0)
                    await response.write(body[place : place + piece])
                await response.write_eof()
                return response
            case Kind.NOT_JSON:
                body = b'{"id": "chatcmpl-double", "choices": [{"mess'
            case _:
                pass
        return web.Response(body=body, headers=headers, content_type="application/json")

    def _fault(self, number: int, prompt: str, *, refused: bool) -> Fault | None:
        """The first fault that hits; a request that is refused anyway is not hit by faults of answers."""
        if not self._options.faults:
            return None
        name = hashlib.sha256(prompt.encode()).digest()
        seen = self._seen[name]
        self._seen[name] += 1
        for place, fault in enumerate(self._options.faults):
            used_up = fault.limit is not None and self._hits[place] >= fault.limit
            late = refused and fault.kind not in BEFORE_READING
            if not used_up and not late and fault.hits(number, prompt, seen):
                self._hits[place] += 1
                return fault
        return None

    def _refusal(self, record: _Record, body: dict[str, Any], prompt: str) -> Problem | None:
        """What is wrong with the request itself, in the order in which a real server finds it."""
        options = self._options
        if not record.key_matches:
            return errors.USUAL[Kind.UNAUTHORIZED]
        if options.models and record.model not in options.models:
            message = f"The model `{record.model}` does not exist or you do not have access to it."
            return Problem(404, message, code="model_not_found")
        if options.concurrency is not None and record.in_flight > options.concurrency:
            return errors.of_concurrency(options.concurrency)
        for name in options.refuses:
            if name in body:
                return errors.of_parameter(name, body[name])
        objection = self._format_objection(body.get("response_format"))
        if objection is not None:
            return Problem(400, objection, param="response_format")
        if options.max_context is not None and _tokens(prompt) > options.max_context:
            message = (
                f"This model's maximum context length is {options.max_context} tokens. However, your messages "
                f"resulted in {_tokens(prompt)} tokens. Please reduce the length of the messages."
            )
            return Problem(400, message, param="messages", code="context_length_exceeded")
        return None

    def _format_objection(self, wanted: dict[str, Any] | None) -> str | None:
        if wanted is None or wanted.get("type") == "text":
            return None
        kind = wanted.get("type")
        if kind not in self._options.response_formats:
            return f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."
        if kind == "json_schema" and self._options.strict_openai:
            part = wanted["json_schema"]
            reason = strictness.objection(part["schema"]) if part.get("strict") else None
            return reason and f"Invalid schema for response_format '{part.get('name')}': {reason}"
        return None

    def _completion(self, record: _Record, body: dict[str, Any], prompt: str, fault: Fault | None) -> dict[str, Any]:
        content: str | None = self._content(body, prompt)
        finish_reason = "stop"
        refusal = None
        match fault.kind if fault else None:
            case Kind.MALFORMED:
                content = (fault and fault.content) or "The record should be included, with high confidence."
            case Kind.WRONG_SCHEMA:
                content = (fault and fault.content) or '{"unexpected": true}'
            case Kind.REFUSAL:
                content, refusal = None, (fault and fault.message) or "I'm sorry, I cannot help with that."
            case Kind.CONTENT_FILTER:
                content, finish_reason = "", "content_filter"
            case Kind.TRUNCATED:
                content, finish_reason = (content or "")[: len(content or "") // 2], "length"
            case Kind.EMPTY:
                content = ""
            case _:
                pass
        budget = body.get("max_completion_tokens", body.get("max_tokens"))
        if budget is not None and content and _tokens(content) > budget:
            content, finish_reason = content[: budget * CHARACTERS_PER_TOKEN], "length"
        asked, written = _tokens(prompt), _tokens(content or refusal or "")
        message = {"role": "assistant", "content": content, "refusal": refusal}
        choice = {"index": 0, "message": message, "finish_reason": finish_reason}
        return {
            "id": f"chatcmpl-double{record.number}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": f"{record.model}-double",
            "choices": [] if fault and fault.kind is Kind.NO_CHOICES else [choice],
            "usage": {"prompt_tokens": asked, "completion_tokens": written, "total_tokens": asked + written},
        }

    def _content(self, body: dict[str, Any], prompt: str) -> str:
        for scripted in self._options.answers:
            if scripted.contains in prompt:
                return scripted.answer if isinstance(scripted.answer, str) else json.dumps(scripted.answer)
        wanted = body.get("response_format") or {"type": "text"}
        if wanted["type"] == "json_schema":
            return json.dumps(self._answer_for(wanted["json_schema"]["schema"], prompt))
        schema = answers.schema_in(prompt)
        if schema is None:
            return "{}" if wanted["type"] == "json_object" else "Hello."
        content = json.dumps(self._answer_for(schema, prompt), indent=2)
        # Left to itself a model wraps JSON into prose.
        return content if wanted["type"] == "json_object" else f"Here is the answer:\n\n```json\n{content}\n```\n"

    def _answer_for(self, schema: dict[str, Any], prompt: str) -> Any:
        answer = answers.answer_for(schema, prompt)
        quotes = self._options.quotes
        return answer if quotes is None else answers.with_quotes(answer, prompt, Quotes(quotes))

    async def _models(self, request: web.Request) -> web.Response:
        names = self._options.models or ("double",)
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "double"} for name in names]
        return web.json_response({"object": "list", "data": models})

    async def _tell_calls(self, request: web.Request) -> web.Response:
        return web.json_response([record.to_json() for record in self._records])

    async def _tell_count(self, request: web.Request) -> web.Response:
        return web.json_response({"calls": self._number, "in_flight": self._in_flight, "statuses": self._statuses})

    async def _wait(self, request: web.Request) -> web.Response:
        calls, in_flight = (int(request.query.get(name, -1)) for name in ("calls", "in_flight"))
        try:
            async with asyncio.timeout(float(request.query["bound"])):
                while self._number < calls or (in_flight >= 0 and self._in_flight != in_flight):
                    await self._changed.wait()
        except TimeoutError:
            seen = f"{self._number} calls, {self._in_flight} in flight"
            return web.json_response({"error": seen}, status=408)
        return web.json_response({})

    def _announce(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _take_script(self, request: web.Request) -> web.Response:
        try:
            self.tell(Options.from_json({**self._options.to_json(), **await request.json()}))
        except (TypeError, ValueError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({})

    async def _reset(self, request: web.Request) -> web.Response:
        self.forget()
        self.tell(Options.from_json(await request.json()))
        return web.json_response({})


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _problem(problem: Problem, headers: dict[str, str]) -> web.Response:
    headers = {**headers, **problem.headers, "x-request-id": "req_double"}
    return web.Response(status=problem.status, body=problem.body(), headers=headers, content_type="application/json")


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
