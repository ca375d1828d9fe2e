"""The double's HTTP side: /v1 as OpenAI's, and /double for the tests."""

import asyncio
import hashlib
import json
import time
from collections import Counter
from dataclasses import replace
from typing import Any

from . import errors
from .account import Books
from .asked import Asked
from .completion import completion_of
from .connection import Manner, Request, Response
from .errors import Problem
from .limits import Limits
from .model import written
from .personalities.character import Character
from .personalities.expiring_key import ExpiringKey
from .record import Record
from .refusals import refusal
from .script import Fault, Kind, Options
from .tally import Turnstile

TOO_MANY = 429
CLIENT_LEFT = 499  # remembered for a call whose client went away before the answer
ECHO = b"{authorization}"  # in the message of a fault: what the request says there
# Faults that strike before anybody has looked at the request.
BEFORE_READING = frozenset(errors.USUAL) | {Kind.DROPPED, Kind.BAD_GATEWAY}
# Faults of an answer that a client cannot read to its end.
UNREAD = frozenset({Kind.CUT, Kind.ENDLESS, Kind.NOT_JSON})


class Server:
    """The double itself: what it was told, and what it remembers. It never keeps an API key."""

    def __init__(self, options: Options) -> None:
        self._in_flight = 0
        self._changed = asyncio.Event()  # set, and replaced, whenever a call comes or ends while somebody watches
        self._watched = False
        self._character = Character()
        self.tell(options)
        self.forget()

    def tell(self, options: Options) -> None:
        """Behave like this from now on; limits start afresh, and faults may hit again.

        Personalities that were there before keep what they remember.
        """
        self._character = Character(options.personalities, self._character)
        self._options = options
        now = time.monotonic()
        self._limits = Limits(options.rpm, options.tpm, options.minute, now, sliding=options.sliding)
        self._hits: Counter[int] = Counter()

    def forget(self) -> None:
        """Forget every call, also what personalities remember of them; those in flight go on, unremembered."""
        self._character = Character(self._options.personalities)
        self._books = Books()
        self._records: list[Record] = []
        self._seen: Counter[bytes] = Counter()
        self._statuses: Counter[str] = Counter()
        self._number = 0
        self._turnstile = Turnstile(self._options.minute)

    async def respond(self, request: Request) -> Response:
        """The answer to whatever is asked of the double."""
        match request.method, request.path:
            case "POST", path if path.endswith("/v1/chat/completions"):
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
            case "GET", "/double/account":
                return _json(self._books.account().to_json())
            case ("GET", "/double/key") | ("POST", "/double/key/rotate"):
                return self._valid_key(rotate=request.method == "POST")
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
            asked = Asked(
                json.loads(request.body),
                self._number + 1,
                key=_key(request),
                headers=request.headers,
                path=request.path,
                now=started,
            )
            prompt = asked.prompt
            if self._options.faults or self._character:
                asked = replace(asked, seen=self._seen_before(prompt))
        except (ValueError, TypeError, KeyError, AttributeError):
            return _problem(Problem(400, "We could not parse the JSON body of your request."), {})
        self._number += 1
        self._in_flight += 1
        self._announce()
        record = Record(
            number=self._number,
            body=asked.body,
            key_present=bool(asked.key),
            key_matches=self._options.api_key is None or asked.key == self._options.api_key,
            in_flight=self._in_flight,
            started=started,
        )
        if self._options.remember:
            self._records.append(record)
        statuses = self._statuses  # of before a reset, if one comes meanwhile
        try:
            response = await self._answer(record, asked)
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

    async def _answer(self, record: Record, asked: Asked) -> Response:
        options, character, books = self._options, self._character, self._books
        problem = refusal(asked, options, record.in_flight) or character.refusal(asked)
        fault = self._fault(asked, refused=problem is not None)
        record.fault = fault.kind.value if fault else None
        if fault is not None and fault.kind in BEFORE_READING:
            if fault.delay:
                await asyncio.sleep(fault.delay)
            problem = _struck(fault)
        if problem is not None:
            response = problem if isinstance(problem, Response) else self._told(problem)
            record.status = 0 if response.manner is Manner.DROPPED else response.status
            return response
        completion = completion_of(asked, written(asked, options, character), character, fault)
        now, tokens = time.monotonic(), completion["usage"]["total_tokens"]
        over = self._limits.admit(tokens, now)
        self._turnstile.count(tokens, now, admitted=over is None)
        headers = self._limits.headers(now)
        if over is not None:
            record.status = TOO_MANY
            return _problem(errors.of_limit(asked.model, over), headers)
        # Only now: what a refused call holds is not kept in a cache, and not billed.
        completion = character.completion(asked, completion)
        read = fault is None or fault.kind not in UNREAD
        delay = options.latency + (fault.delay if fault and fault.kind is not Kind.TRICKLE else 0.0)
        delay += character.delay(asked)
        try:
            if delay:
                await asyncio.sleep(delay)
        except asyncio.CancelledError:
            read = False
            raise
        finally:
            books.enter(asked.model, completion, read=read)
        record.status = 200
        record.content = _content(completion)
        response = Response(json.dumps(completion).encode(), headers=headers)
        return _harmed(character.response(asked, response, completion), fault)

    def _told(self, problem: Problem) -> Response:
        now = time.monotonic()
        if problem.status == TOO_MANY:
            self._turnstile.count(0, now, admitted=False)
        return _problem(problem, self._limits.headers(now))

    def _seen_before(self, prompt: str) -> int:
        name = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()
        self._seen[name] += 1
        return self._seen[name] - 1

    def _fault(self, asked: Asked, *, refused: bool) -> Fault | None:
        """The first fault that hits; a request that is refused anyway is not hit by faults of answers."""
        for place, fault in enumerate(self._options.faults):
            used_up = fault.limit is not None and self._hits[place] >= fault.limit
            late = refused and fault.kind not in BEFORE_READING
            if not used_up and not late and fault.hits(asked.number, asked.prompt, asked.seen, asked.model):
                self._hits[place] += 1
                return fault
        return None

    def _models(self, request: Request) -> Response:
        key, keys = _key(request), self._character.find(ExpiringKey)
        problem = keys.problem(key, time.monotonic()) if keys else None
        if problem is None and self._options.api_key is not None and key != self._options.api_key:
            problem = errors.USUAL[Kind.UNAUTHORIZED]
        if problem is not None:
            return _problem(problem, {})
        names = self._options.models or ("double",)
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "double"} for name in names]
        return _json({"object": "list", "data": models})

    def _valid_key(self, *, rotate: bool) -> Response:
        keys = self._character.find(ExpiringKey)
        if keys is None:
            return _json({"error": "no key expires: the personality expiring_key is not scripted"}, status=400)
        now = time.monotonic()
        return _json({"key": keys.rotate(now) if rotate else keys.valid(now)})

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


def _key(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ").strip()


def _json(value: object, *, status: int = 200) -> Response:
    return Response(json.dumps(value).encode(), status)


def _problem(problem: Problem, headers: dict[str, str]) -> Response:
    return Response(problem.body(), problem.status, {**headers, **problem.headers, "x-request-id": "req_double"})


def _struck(fault: Fault) -> Problem | Response:
    """What a fault says before anybody has looked at the request."""
    if fault.kind is Kind.DROPPED:
        return Response(manner=Manner.DROPPED)
    page = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
    return errors.of_fault(fault) or Response(page, status=502, content_type="text/html")


def _content(completion: dict[str, Any]) -> str | None:
    """The text of the answer, as a client reads it that expects no more than a string."""
    choices = completion.get("choices")
    content = choices[0]["message"].get("content") if choices else None
    return content if isinstance(content, str) else None


def _harmed(response: Response, fault: Fault | None) -> Response:
    """The response, as a fault lets it come through."""
    match fault.kind if fault else None:
        case Kind.CUT:
            return replace(response, manner=Manner.CUT)
        case Kind.TRICKLE:
            return replace(response, manner=Manner.TRICKLE, pause=fault.delay if fault else 0.0)
        case Kind.ENDLESS:
            return replace(response, manner=Manner.ENDLESS)
        case Kind.NOT_JSON:
            return replace(response, body=b'{"id": "chatcmpl-double", "choices": [{"mess')
        case _:
            return response
