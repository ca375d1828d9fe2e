"""Turns among callers: who asks for much at once waits for itself, and who asks seldom is answered first."""

import asyncio
from collections import OrderedDict, deque

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

AT_ONCE = 2  # requests that begin; more would only take the processor from each other
DOWNLOADS_AT_ONCE = 1  # of those that read a whole batch
DOWNLOADS = ("/results", "/report", "/records")  # how their paths end
LONGEST_TURN = 0.1  # s; then the next one begins, whatever the one before still does
WITHOUT_TURN = frozenset({"/healthz", "/readyz", "/metrics"})  # probes, which have no key

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
        await queue.take(_caller(scope))
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


def _caller(scope: Scope) -> str:
    """Return the caller's name: a key, right or wrong; without one, an address."""
    return Headers(scope=scope).get("authorization") or (scope["client"] or ("", 0))[0]
