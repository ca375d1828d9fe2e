"""Answers compressed with gzip for callers who take it, piece by piece as they come.

A stream of events is left alone: each must be there when it is told. Of what else is streamed nothing is held back for
longer than `FLUSH_EVERY`, and nothing is gathered beyond `FLUSH_BYTES`.
"""

import time
import zlib
from collections.abc import Callable
from typing import Any

from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALLEST = 1_000  # bytes of a whole answer; a smaller one gains nothing
LEVEL = 4  # results as JSON become a seventh smaller than with 1, and hardly larger than with 6, in a third of its time
FLUSH_EVERY = 0.1  # s
FLUSH_BYTES = 65_536  # before compression
OFF_THE_LOOP = 65_536  # bytes that take about a millisecond: larger pieces are compressed on a thread
GZIP = 16 + zlib.MAX_WBITS  # with the header and the checksum of a gzip file
TEXTS = ("text/", "application/json", "application/x-ndjson", "application/problem+json", "image/svg+xml")
EVENTS = "text/event-stream"


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


class Compressed:
    """An application whose texts are compressed."""

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            taken = takes_gzip(Headers(scope=scope).get("accept-encoding", ""))
            send = _Answer(send, self._clock, taken=taken and scope["method"] != "HEAD").send
        await self._app(scope, receive, send)


class _Answer:
    """One answer on its way out."""

    def __init__(self, send: Send, clock: Callable[[], float], *, taken: bool) -> None:
        self._send = send
        self._clock = clock
        self._taken = taken
        self._start: Message | None = None  # held until it is known whether the body is worth it
        self._gzip: Any = None  # a compressor, whose type zlib does not name
        self._held = 0  # bytes given to it since the last flush
        self._flushed = 0.0

    async def send(self, message: Message) -> None:
        """Pass one message on."""
        if message["type"] == "http.response.start":
            self._start = message
        elif message["type"] != "http.response.body":
            await self._send(message)
        else:
            if self._start is not None:
                await self._begin(self._start, message)
                self._start = None
            await self._send(message if self._gzip is None else await self._compressed(message))

    async def _begin(self, start: Message, first: Message) -> None:
        headers = MutableHeaders(raw=start["headers"])
        kind = headers.get("content-type", "")
        if kind.startswith(TEXTS) and not kind.startswith(EVENTS) and "content-encoding" not in headers:
            headers.add_vary_header("Accept-Encoding")
            if self._taken and (first.get("more_body", False) or len(first.get("body", b"")) >= SMALLEST):
                self._gzip = zlib.compressobj(LEVEL, wbits=GZIP)
                self._flushed = self._clock()
                headers["Content-Encoding"] = "gzip"
                del headers["Content-Length"]
        await self._send(start)

    async def _compressed(self, message: Message) -> Message:
        body, more = message.get("body", b""), message.get("more_body", False)
        self._held += len(body)
        now = self._clock()
        flush = zlib.Z_NO_FLUSH
        if not more:
            flush = zlib.Z_FINISH
        elif self._held >= FLUSH_BYTES or now - self._flushed >= FLUSH_EVERY:
            flush, self._held, self._flushed = zlib.Z_SYNC_FLUSH, 0, now
        if len(body) > OFF_THE_LOOP:
            piece = await run_in_threadpool(self._piece, body, flush)
        else:
            piece = self._piece(body, flush)
        return {"type": "http.response.body", "body": piece, "more_body": more}

    def _piece(self, body: bytes, flush: int) -> bytes:
        compressed: bytes = self._gzip.compress(body)
        return compressed if flush == zlib.Z_NO_FLUSH else compressed + self._gzip.flush(flush)
