"""The double's HTTP side: /v1 as OpenAI's, and /double for the tests."""

import asyncio
import hashlib
import json
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from . import answers, errors, strictness
from .connection import Manner, Request, Response
from .errors import Problem
from .limits import Limits
from .script import Fault, Kind, Options, Quotes
from .tally import Turnstile

TOO_MANY = 429
CLIENT_LEFT = 499  # remembered for a call whose client went away before the answer
CHARACTERS_PER_TOKEN = 4
ECHO = b"{authorization}"  # in the message of a fault: what the request says there
# Faults that strike before anybody has looked at the request.
BEFORE_READING = frozenset(errors.USUAL) | {Kind.DROPPED, Kind.BAD_GATEWAY}


@dataclass(slots=True)
class _Record:
    number: int
    body: dict[str, Any]
    key_present: bool
    key_matches: bool
    in_flight: int
    started: float
    ended: float | None = None
    status: int | None = None
    fault: str | None = None

    @property
    def model(self) -> str:
        return str(self.body.get("model"))

    def to_json(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in self.__slots__ if name != "body"}
        parameters = {n: v for n, v in self.body.items() if n not in ("model", "messages", "response_format")}
        return told | {
            "model": self.model,
            "messages": self.body["messages"],
            "response_format": self.body.get("response_format"),
            "parameters": parameters,
        }


class Server:
    """The double itself: what it was told, and what it remembers. It never keeps an API key."""

    def __init__(self, options: Options) -> None:
        self._in_flight = 0
        self._changed = asyncio.Event()  # set, and replaced, whenever a call comes or ends while somebody watches
        self._watched = False
        self.tell(options)
        self.forget()

    def tell(self, options: Options) -> None:
        """Behave like this from now on; limits start afresh, and faults may hit again."""
        self._options = options
        now = time.monotonic()
        self._limits = Limits(options.rpm, options.tpm, options.minute, now, sliding=options.sliding)
        self._hits: Counter[int] = Counter()

    def forget(self) -> None:
        """Forget every call; those in flight go on, unremembered."""
        self._records: list[_Record] = []
        self._seen: Counter[bytes] = Counter()
        self._statuses: Counter[str] = Counter()
        self._number = 0
        self._turnstile = Turnstile(self._options.minute)

    async def respond(self, request: Request) -> Response:
        """The answer to whatever is asked of the double."""
        match request.method, request.path:
            case "POST", "/v1/chat/completions":
                return await self._chat(request)
            case "GET", "/v1/models":
                return self._models(request)
            case "GET", "/double/calls":
                return _json([record.to_json() for record in self._records])
            case "GET", "/double/count":
                counts = {"calls": self._number, "in_flight": self._in_flight, "statuses": self._statuses}
                return _json(counts)
            case "GET", "/double/tally":
                return _json(self._turnstile.tally().to_json())
            case "GET", "/double/wait":
                return await self._wait(request.query)
            case "POST", "/double/script":
                return self._take_script(request.body)
            case "POST", "/double/reset":
                self.tell(Options.from_json(json.loads(request.body)))
                self.forget()
                return _json({})
            case _:
                return _json({"error": f"{request.method} {request.path} is not served"}, status=404)

    async def _chat(self, request: Request) -> Response:
        started = time.monotonic()
        try:
            body = json.loads(request.body)
            prompt = "\n".join([str(message["content"]) for message in body["messages"]])
        except (ValueError, TypeError, KeyError):
            return _problem(Problem(400, "We could not parse the JSON body of your request."), {})
        key = _key(request)
        self._number += 1
        self._in_flight += 1
        self._announce()
        record = _Record(
            number=self._number,
            body=body,
            key_present=bool(key),
            key_matches=self._options.api_key is None or key == self._options.api_key,
            in_flight=self._in_flight,
            started=started,
        )
        if self._options.remember:
            self._records.append(record)
        statuses = self._statuses  # of before a reset, if one comes meanwhile
        try:
            response = await self._answer(record, body, prompt)
            if ECHO in response.body:
                said = json.dumps(request.headers.get("authorization", ""))[1:-1].encode()
                response = replace(response, body=response.body.replace(ECHO, said))
            return response
        except asyncio.CancelledError:
            record.status = CLIENT_LEFT
            raise
        finally:
            self._in_flight -= 1
            record.ended = time.monotonic()
            statuses[str(record.status)] += 1
            self._announce()

    async def _answer(self, record: _Record, body: dict[str, Any], prompt: str) -> Response:
        options = self._options
        problem = self._refusal(record, body, prompt)
        fault = self._fault(record.number, prompt, refused=problem is not None)
        record.fault = fault.kind.value if fault else None
        if fault is not None and fault.kind in BEFORE_READING:
            if fault.delay:
                await asyncio.sleep(fault.delay)
            if fault.kind is Kind.DROPPED:
                record.status = 0
                return Response(manner=Manner.DROPPED)
            problem = errors.of_fault(fault)
            if problem is None:
                record.status = 502
                page = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
                return Response(page, status=502, content_type="text/html")
        if problem is not None:
            record.status = problem.status
            if problem.status == TOO_MANY:
                self._turnstile.count(0, time.monotonic(), admitted=False)
            return _problem(problem, self._limits.headers(time.monotonic()))
        completion = self._completion(record, body, prompt, fault)
        now, tokens = time.monotonic(), completion["usage"]["total_tokens"]
        over = self._limits.admit(tokens, now)
        self._turnstile.count(tokens, now, admitted=over is None)
        headers = self._limits.headers(now)
        if over is not None:
            record.status = TOO_MANY
            return _problem(errors.of_limit(record.model, over), headers)
        delay = options.latency + (fault.delay if fault and fault.kind is not Kind.TRICKLE else 0.0)
        if delay:
            await asyncio.sleep(delay)
        record.status = 200
        return _sent(json.dumps(completion).encode(), headers, fault)

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
        quotes = None if self._options.quotes is None else Quotes(self._options.quotes)
        answer = answers.with_citations(answer, prompt, quotes)
        return answer if quotes is None else answers.with_quotes(answer, prompt, quotes)

    def _models(self, request: Request) -> Response:
        if self._options.api_key is not None and _key(request) != self._options.api_key:
            return _problem(errors.USUAL[Kind.UNAUTHORIZED], {})
        names = self._options.models or ("double",)
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "double"} for name in names]
        return _json({"object": "list", "data": models})

    async def _wait(self, query: dict[str, str]) -> Response:
        calls, in_flight = (int(query.get(name, -1)) for name in ("calls", "in_flight"))
        try:
            async with asyncio.timeout(float(query["bound"])):
                while self._number < calls or (in_flight >= 0 and self._in_flight != in_flight):
                    self._watched = True
                    await self._changed.wait()
        except TimeoutError:
            return _json({"error": f"{self._number} calls, {self._in_flight} in flight"}, status=408)
        return _json({})

    def _announce(self) -> None:
        if self._watched:
            self._watched = False
            self._changed.set()
            self._changed = asyncio.Event()

    def _take_script(self, body: bytes) -> Response:
        try:
            self.tell(Options.from_json({**self._options.to_json(), **json.loads(body)}))
        except (TypeError, ValueError) as error:
            return _json({"error": str(error)}, status=400)
        return _json({})


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _key(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ").strip()


def _json(value: object, *, status: int = 200) -> Response:
    return Response(json.dumps(value).encode(), status)


def _problem(problem: Problem, headers: dict[str, str]) -> Response:
    return Response(problem.body(), problem.status, {**headers, **problem.headers, "x-request-id": "req_double"})


def _sent(body: bytes, headers: dict[str, str], fault: Fault | None) -> Response:
    match fault.kind if fault else None:
        case Kind.CUT:
            return Response(body, headers=headers, manner=Manner.CUT)
        case Kind.TRICKLE:
            return Response(body, headers=headers, manner=Manner.TRICKLE, pause=fault.delay if fault else 0.0)
        case Kind.ENDLESS:
            return Response(body, headers=headers, manner=Manner.ENDLESS)
        case Kind.NOT_JSON:
            return Response(b'{"id": "chatcmpl-double", "choices": [{"mess', headers=headers)
        case _:
            return Response(body, headers=headers)
