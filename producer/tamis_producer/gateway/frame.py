"""Around every request: its turn, the size and the pace of its body, what every answer says of itself, and gzip."""

import asyncio
import re
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import problems

_BATCH = re.compile(r"(?<=^/v1/batches)/[^/]+/")
PATIENCE = 30.0  # s that may be waited for a body's parts, and as much more as they would take at the slowest
SLOWEST = 10_000  # bytes a second
AT_ONCE = 2  # requests that begin; more would only take the processor from each other
DOWNLOADS_AT_ONCE = 1  # of those that read a whole batch
DOWNLOADS = ("/results", "/report", "/records")  # how their paths end
LONGEST_TURN = 0.1  # s; then the next one begins, whatever the one before still does
WITHOUT_TURN = frozenset({"/healthz", "/readyz", "/metrics"})  # probes, which have no key
SMALLEST = 1_000  # bytes of a whole answer; a smaller one gains nothing by gzip
LEVEL = 4  # results as JSON become a seventh smaller than with 1, and hardly larger than with 6, in a third of its time
OFF_THE_LOOP = 65_536  # bytes that take about a millisecond: larger pieces are compressed on a thread


class RequestLimits:
    """Refuses what is too large, or too slow; a batch is counted as it comes, and may be without a length."""

    def __init__(self, app: ASGIApp, *, largest: int, largest_of: Mapping[str, int | None]) -> None:
        """`largest`: bytes of a body; `largest_of`: by the path of a POST, `{batch_id}` in it, or None."""
        self._app = app
        self._largest = largest
        self._largest_of = largest_of

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
            await self._app(scope, _paced(receive), framed)

    def _refusal(self, scope: Scope) -> Response | None:
        path = _BATCH.sub("/{batch_id}/", scope["path"])
        most = self._largest_of.get(path, self._largest) if scope["method"] == "POST" else self._largest
        if most is None:
            return None
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers:
            detail = "a request says its content-length, and is not sent in chunks"
            return problems.problem(HTTPStatus.LENGTH_REQUIRED, "length-required", "The length is missing", detail)
        if int(headers.get("content-length", 0)) > most:  # the server has seen to its being a number
            detail = f"a request has {most:,} bytes at most"
            return problems.problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", "The request is too large", detail
            )
        return None


def _paced(receive: Receive) -> Receive:
    """The same body, as long as it does not come too slowly. Time in which nobody asks for it does not count."""
    waited, size, whole = 0.0, 0, False

    async def paced() -> Message:
        nonlocal waited, size, whole
        if whole:  # all that can still come is the hang-up
            return await receive()
        began = time.monotonic()
        try:
            async with asyncio.timeout(allowed(size) - waited):
                message = await receive()
        except TimeoutError as error:
            detail = f"a body comes within {PATIENCE:g} s, or with {SLOWEST:,} bytes a second"
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, detail) from error
        waited += time.monotonic() - began
        size += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        return message

    return paced


def allowed(size: int) -> float:
    """The seconds that may be waited for a body of which so many bytes have come."""
    return PATIENCE + size / SLOWEST


class Compressed(GZipMiddleware):
    """An application whose answers are compressed with gzip for callers who take it, piece by piece as they come.

    A stream of events is left alone, and so is what is compressed already.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app, SMALLEST, LEVEL, OFF_THE_LOOP)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whose caller's word on gzip is told in the one form that Starlette looks for."""
        if scope["type"] == "http":
            headers = MutableHeaders(scope=scope)
            taken = scope["method"] != "HEAD" and takes_gzip(headers.get("accept-encoding", ""))
            headers["accept-encoding"] = "gzip" if taken else "identity"
        await super().__call__(scope, receive, send)


def takes_gzip(accepted: str) -> bool:
    """Return whether an `Accept-Encoding` names gzip, or anything, and does not rule it out with `q=0`."""
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
    """A fair queue of so many turns at once: a caller's first request before others' next.

    To be used on one event loop.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._fresh: Queue = OrderedDict()  # callers who had no turn since they wait
        self._served: Queue = OrderedDict()  # who had one, in the order of their next

    async def take(self, caller: str) -> None:
        """Return once it is this caller's turn, which `give_back` ends."""
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
        """End a turn; the next one begins."""
        while queue := self._fresh or self._served:
            caller, turns = queue.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._served[caller] = turns
            if not turn.done():  # else whoever waited is gone
                turn.set_result(None)
                return
        self._free += 1


class Turns:
    """An application whose requests begin in turns.

    A turn ends with the beginning of the answer, or where the request waits for its caller or for a batch: it is for
    what computes, not for what lasts.
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
        # A caller is known by the key, right or wrong; without one, by the address.
        await queue.take(Headers(scope=scope).get("authorization") or (scope["client"] or ("", 0))[0])
        turn = _Turn(queue)
        try:
            await self._app(scope, turn.receiving(receive), turn.sending(send))
        finally:
            turn.end()


class _Turn:
    """The turn of one request, which ends once."""

    def __init__(self, queue: TurnQueue) -> None:
        self._queue: TurnQueue | None = queue
        self._latest = asyncio.get_running_loop().call_later(LONGEST_TURN, self.end)

    def end(self) -> None:
        """Let the next request begin; nothing where it does already."""
        self._latest.cancel()
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.give_back()

    def receiving(self, receive: Receive) -> Receive:
        """The same; whoever asks again, or has more to come, waits for the caller."""
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
        """The same."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.end()
            await send(message)

        return sent
