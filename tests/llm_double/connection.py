"""HTTP/1.1 as far as a double of an API needs it, at a tenth of what a web framework costs a request.

The double shares its machine with what is measured against it. Requests have a `content-length` or no body; one is
answered after the other on a connection; whoever leaves before the answer has its call cancelled.
"""

import asyncio
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from enum import Enum, auto
from http import HTTPStatus
from typing import TypeAlias, cast
from urllib.parse import parse_qsl

LARGEST = 64 * 2**20  # bytes of a body
LARGEST_HEAD = 64 * 2**10
PIECES = 10  # of an answer that trickles
ENDLESS = 10**12  # bytes that an endless answer promises
PIECE = b" " * 2**16  # of an endless answer; white space, so that it stays JSON
PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Manner(Enum):
    """How an answer is sent."""

    WHOLE = auto()
    TRICKLE = auto()  # in pieces, `pause` apart
    CUT = auto()  # its first half, then the connection breaks
    ENDLESS = auto()  # with white space behind it, as long as somebody reads
    DROPPED = auto()  # not at all: the connection breaks


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks; names of headers are in small letters."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.target.partition("?")[2]))


@dataclass(frozen=True, slots=True)
class Response:
    """What it is told."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    manner: Manner = Manner.WHOLE
    pause: float = 0.0

    def head(self) -> bytes:
        lines = [
            f"HTTP/1.1 {self.status} {PHRASES.get(self.status, '')}",
            f"date: {_today()}",
            f"content-type: {self.content_type}",
            f"content-length: {ENDLESS if self.manner is Manner.ENDLESS else len(self.body)}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


Respond: TypeAlias = Callable[[Request], Awaitable[Response]]


class Connection(asyncio.Protocol):
    """One client's connection; `respond` is asked for each answer."""

    _transport: asyncio.Transport

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own is not a subclass of it

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        if self._answering is None:
            self._take()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answering is not None:
            self._answering.cancel()

    def _take(self) -> None:
        """Begin to answer the request that has been received, if it is whole."""
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            if len(self._received) > LARGEST_HEAD:
                self._transport.abort()
            return
        first, *lines = self._received[:end].decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        method, _, rest = first.partition(" ")
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdecimal() or int(length) > LARGEST:
            self._transport.write(Response(status=411).head())
            self._transport.close()
            return
        whole = end + 4 + int(length)
        if len(self._received) < whole:
            return
        body, self._received = self._received[end + 4 : whole], self._received[whole:]
        request = Request(method, rest.partition(" ")[0], headers, body)
        self._answering = self._loop.create_task(self._answer(request))

    async def _answer(self, request: Request) -> None:
        try:
            response = await self._respond(request)
        except Exception:  # a fault of the double: the client sees it, and so does whoever reads the test's output
            traceback.print_exc(file=sys.stderr)
            response = Response(status=500)
        await self._send(response)
        self._answering = None
        if request.headers.get("connection", "").lower() == "close":
            self._transport.close()
        elif self._received:
            self._take()

    async def _send(self, response: Response) -> None:
        match response.manner:
            case Manner.WHOLE:
                self._transport.write(response.head() + response.body)
            case Manner.TRICKLE:
                self._transport.write(response.head())
                piece = -(-len(response.body) // PIECES)
                for place in range(0, len(response.body), piece):
                    await asyncio.sleep(response.pause)
                    self._transport.write(response.body[place : place + piece])
            case Manner.ENDLESS:
                self._transport.write(response.head() + response.body)
                while not self._transport.is_closing():
                    if self._transport.get_write_buffer_size() < len(PIECE):
                        self._transport.write(PIECE)
                    await asyncio.sleep(0)
            case Manner.CUT:
                self._transport.write(response.head() + response.body[: len(response.body) // 2])
                self._transport.abort()
            case Manner.DROPPED:
                self._transport.abort()


_date = (0, "")  # the second, and how HTTP writes it: written once a second


def _today() -> str:
    global _date
    now = int(time.time())
    if _date[0] != now:
        _date = (now, formatdate(now, usegmt=True))
    return _date[1]
