"""The common handling of all requests: fair shares of the CPU, limits of bodies, headers and compression of answers."""

import asyncio
import re
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import problems

_BATCH = re.compile(r"(?<=^/v1/batches)/[^/]+/")
PATIENCE = 30.0  # s to wait for a body, in addition to its time at the slowest rate
SLOWEST = 10_000  # bytes a second
AT_ONCE = 2  # requests that begin at the same time; more would only compete for the processor
DOWNLOADS_AT_ONCE = 1  # requests that read a whole batch
DOWNLOADS = ("/results", "/report", "/records")  # ends of the paths of these requests
LONGEST_TURN = 0.1  # s; then the next request begins, even if this one still computes
WITHOUT_TURN = frozenset({"/healthz", "/readyz", "/metrics"})  # probes, which have no key
LARGE = 200_000  # bytes of a body: a hundred abstracts
LARGE_AT_ONCE = 2  # large bodies that are read at the same time
UPLOADS_AT_ONCE = 4  # small uploads that are read at the same time; their records are in the gateway's memory
MOST_HELD = 24_000_000  # bytes of all bodies in memory together; a text may take ten times its bytes while it is read
MOST_VALUES = 100_000  # JSON values in a body, approximately: 4,500 items with 20 fields each
SMALLEST = 1_000  # bytes of a whole answer; gzip gains nothing for a smaller one
LEVEL = 4  # JSON is a seventh smaller than at level 1, and hardly larger than at 6, which takes three times as long
OFF_THE_LOOP = 65_536  # bytes, about a millisecond: larger pieces are compressed on a thread


class Heads:
    """ASGI middleware that answers HEAD like GET, with the same headers and no body (RFC 9110, 9.3.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        ended = False

        async def sent(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                await send(message)
            elif not ended:  # the server then tells a stream that its reader has gone
                ended = True
                await send({"type": "http.response.body"})

        await self._app({**scope, "method": "GET"}, receive, sent)


class RequestLimits:
    """ASGI middleware that limits the size and pace of bodies, and the number of JSON values in them.

    A request for a new batch may omit its length: the route counts the bytes as they arrive. No values are counted in
    the bodies of routes with their own limits.
    """

    def __init__(self, app: ASGIApp, *, largest: int, largest_of: Mapping[str, int | None]) -> None:
        """Wrap `app`. `largest`: most bytes of a body.

        `largest_of`: other limits for POST, by path; None: the route itself limits the body.
        """
        self._app = app
        self._largest = largest
        self._largest_of = largest_of
        self._held = 0  # bytes of the bodies in memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def framed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        if (refusal := self._refusal(scope)) is not None:
            await refusal(scope, receive, framed)
        else:
            is_limited = scope["method"] == "POST" and self._path(scope) in self._largest_of
            await (self._app(scope, _paced(receive), framed) if is_limited else self._hold(scope, receive, framed))

    async def _hold(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count its body as held in memory until the answer has ended."""
        values, size = ValueCount(), 0

        def add(part: bytes) -> None:
            nonlocal size
            values.add(part)
            size += len(part)
            self._held += len(part)
            if self._held > MOST_HELD:
                raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, "too many large requests at once: send it again")

        try:
            await self._app(scope, _paced(receive, add), send)
        finally:
            self._held -= size

    def _path(self, scope: Scope) -> str:
        return _BATCH.sub("/{batch_id}/", scope["path"])

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers and "content-length" in headers:  # RFC 9112, 6.3: it may hide a request
            response = problems.unreadable("state either the content-length or the transfer-encoding")
            response.headers["Connection"] = "close"
            return response
        most = self._largest_of.get(self._path(scope), self._largest) if scope["method"] == "POST" else self._largest
        if most is None:
            return None
        if "transfer-encoding" in headers:
            detail = "state the content-length, and do not send the request in chunks"
            return problems.problem(HTTPStatus.LENGTH_REQUIRED, "length-required", "The length is missing", detail)
        if int(headers.get("content-length", 0)) > most:  # the server has checked that it is a number
            detail = f"a request may have at most {most:,} bytes"
            return problems.problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", "The request is too large", detail
            )
        return None


class ValueCount:
    """The number of JSON values in a body, counted while the body arrives and before it is parsed.

    The cost of parsing depends on the number of values, not of bytes: `{}` has two bytes, and takes 64 in memory.
    """

    def __init__(self) -> None:
        self._n = 1
        self._escape = b""  # a backslash at the end of the last part
        self._in_text = 0

    def add(self, part: bytes) -> None:
        """Count the values in the next part. Raise `HTTPException` (413) if there are too many."""
        part = (self._escape + part).replace(rb"\\", b"")
        self._escape = b"\\" if part.endswith(b"\\") else b""
        pieces = part.replace(rb"\"", b"").split(b'"')
        # Outside texts, commas and brackets separate values. NUL occurs in UTF-16, which would hide them.
        outside = b"".join(pieces[self._in_text :: 2])
        self._n += sum(map(outside.count, (b",", b"[", b"{"))) + part.count(0)
        self._in_text = (self._in_text + len(pieces) - 1) % 2
        if self._n > MOST_VALUES:
            detail = f"more than {MOST_VALUES:,} JSON values, the maximum of a body or an item: send several requests"
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)


def _paced(receive: Receive, add: Callable[[bytes], object] = len) -> Receive:
    """Return a version of `receive` that answers 408 if the body is too slow. Only time spent in `receive` counts.

    `add` is called with each part of the body.
    """
    waited, size, whole = 0.0, 0, False

    async def paced() -> Message:
        nonlocal waited, size, whole
        if whole:  # after the whole body, only the end of the connection can come
            return await receive()
        began = time.monotonic()
        try:
            async with asyncio.timeout(allowed(size) - waited):
                message = await receive()
        except TimeoutError as error:
            detail = f"a body must arrive within {PATIENCE:g} s, or at {SLOWEST:,} bytes per second"
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail) from error
        waited += time.monotonic() - began
        part = message.get("body", b"")
        size += len(part)
        add(part)
        whole = not message.get("more_body", False)
        return message

    return paced


def allowed(size: int) -> float:
    """Return the longest time in seconds in which a body's first `size` bytes may arrive."""
    return PATIENCE + size / SLOWEST


class Compressed(GZipMiddleware):
    """ASGI middleware that compresses answers with gzip, piece by piece, for callers that accept gzip.

    Streams of events and already compressed answers pass unchanged.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app, SMALLEST, LEVEL, OFF_THE_LOOP)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; rewrite the caller's `Accept-Encoding` to the form that Starlette expects."""
        if scope["type"] == "http":
            headers = MutableHeaders(scope=scope)
            headers["accept-encoding"] = "gzip" if takes_gzip(headers.get("accept-encoding", "")) else "identity"
        await super().__call__(scope, receive, send)


def takes_gzip(accepted: str) -> bool:
    """Return whether an `Accept-Encoding` allows gzip, by name or by `*`, and does not exclude it with `q=0`."""
    qualities: dict[str, float] = {}
    for part in accepted.lower().split(","):
        name, _, parameter = part.partition(";")
        quality = parameter.strip().removeprefix("q=")
        try:
            qualities[name.strip()] = float(quality) if quality else 1.0
        except ValueError:
            qualities[name.strip()] = 0.0
    return qualities.get("gzip", qualities.get("*", 0.0)) > 0


Queue = OrderedDict[str, deque["asyncio.Future[None]"]]


class TurnQueue:
    """A fair queue on one event loop: at most `at_once` requests have a turn, in which they may compute.

    A caller's first request is served before further requests of other callers.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._fresh: Queue = OrderedDict()  # waiting callers that have had no turn yet
        self._served: Queue = OrderedDict()  # waiting callers that have had a turn, in the order of their next turns

    async def take(self, caller: str) -> None:
        """Wait until it is the caller's turn. The caller must end the turn by `give_back`."""
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        queue = self._served if caller in self._served else self._fresh
        queue.setdefault(caller, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()
            raise

    def give_back(self) -> None:
        """End a turn, and begin the next one."""
        while queue := self._fresh or self._served:
            caller, turns = queue.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._served[caller] = turns
            if not turn.done():  # otherwise the waiting caller has gone
                turn.set_result(None)
                return
        self._free += 1


async def disconnected(request: Request) -> None:
    """Wait until the caller has disconnected. The body must have been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class LargeBodies:
    """A queue for reading large bodies: one body of an API key at a time, and at most two bodies of all keys.

    Further bodies wait in the order of their arrival. Waiting bodies are on disk, so they need little memory.
    `threads` limits the threads that read small uploads.
    """

    def __init__(self) -> None:
        self._keys: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._together = asyncio.Semaphore(LARGE_AT_ONCE)
        self.threads = CapacityLimiter(UPLOADS_AT_ONCE)

    @asynccontextmanager
    async def turn(self, request: Request, size: int) -> AsyncIterator[None]:
        """Wait until a body of `size` bytes may be read. A small body need not wait.

        Raises `HTTPException` (400) if the caller has disconnected meanwhile.
        """
        if size <= LARGE:
            yield
            return
        key = self._keys.setdefault(request.headers.get("authorization", ""), asyncio.Lock())
        async with key, self._together:
            if await request.is_disconnected():
                raise HTTPException(HTTPStatus.BAD_REQUEST, "the caller has gone")
            yield


class Turns:
    """ASGI middleware that lets only few requests compute at once: each request waits for its turn.

    A turn ends when the answer begins, when the request waits for its caller or for a batch, or after 0.1 seconds. So
    turns limit computing, not the number of open requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._downloads, self._others = TurnQueue(DOWNLOADS_AT_ONCE), TurnQueue(AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["path"] in WITHOUT_TURN:
            await self._app(scope, receive, send)
            return
        queue = self._downloads if scope["path"].endswith(DOWNLOADS) else self._others
        # A caller is identified by its key, right or wrong; without a key, by its address.
        await queue.take(Headers(scope=scope).get("authorization") or (scope["client"] or ("", 0))[0])
        turn = _Turn(queue)
        try:
            await self._app(scope, turn.receiving(receive), turn.sending(send))
        finally:
            turn.end()


class _Turn:
    """The turn of one request. Ending it twice is harmless."""

    def __init__(self, queue: TurnQueue) -> None:
        self._queue: TurnQueue | None = queue
        self._latest = asyncio.get_running_loop().call_later(LONGEST_TURN, self.end)

    def end(self) -> None:
        """Let the next request begin; do nothing if the turn has ended already."""
        self._latest.cancel()
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.give_back()

    def receiving(self, receive: Receive) -> Receive:
        """Return a version of `receive` that ends the turn if a read must wait for the caller."""
        asked_before = False

        async def received() -> Message:
            nonlocal asked_before
            if asked_before:
                self.end()
            asked_before = True
            message = await receive()
            if message.get("more_body", False):
                self.end()
            return message

        return received

    def sending(self, send: Send) -> Send:
        """Return a version of `send` that ends the turn at the beginning of the answer."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.end()
            await send(message)

        return sent
