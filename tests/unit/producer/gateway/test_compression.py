"""Answers are compressed piece by piece for who takes it, and streams of events are left alone."""

import asyncio
import zlib
from collections.abc import Sequence

import pytest
from starlette.types import Message, Receive, Scope, Send

from tamis_producer.gateway.compression import FLUSH_BYTES, FLUSH_EVERY, GZIP, SMALLEST, Compressed, takes_gzip

LINE = b'{"index": 0, "value": true}\n'


class Clock:
    """Says the times that it is given, one after the other."""

    def __init__(self, *times: float) -> None:
        self.times = list(times)

    def __call__(self) -> float:
        return self.times.pop(0) if self.times else 0.0


def answer(
    kind: str, bodies: Sequence[bytes], *, accept: str = "gzip", method: str = "GET", clock: Clock | None = None
) -> tuple[dict[bytes, bytes], list[bytes]]:
    """The headers, and each piece of the body as it was sent."""
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", kind.encode())]
        if len(bodies) == 1:
            headers.append((b"content-length", str(len(bodies[0])).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for place, body in enumerate(bodies, 1):
            await send({"type": "http.response.body", "body": body, "more_body": place < len(bodies)})

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "headers": [(b"accept-encoding", accept.encode())]}
    asyncio.run(Compressed(app, clock or Clock())(scope, receive, send))
    assert [message.get("more_body", False) for message in sent[1:]] == [True] * (len(bodies) - 1) + [False]
    return dict(sent[0]["headers"]), [message["body"] for message in sent[1:]]


def read(pieces: Sequence[bytes]) -> list[int]:
    """How many bytes a reader has after each piece."""
    reader, had = zlib.decompressobj(GZIP), 0
    counted = []
    for piece in pieces:
        had += len(reader.decompress(piece))
        counted.append(had)
    assert reader.eof
    return counted


def test_a_stream_is_compressed_as_it_comes_and_nothing_is_gathered_beyond_a_bound() -> None:
    half, whole = b"x" * (FLUSH_BYTES // 2), b"y" * (2 * FLUSH_BYTES)  # the second one on a thread
    headers, pieces = answer("application/x-ndjson", [half, half, whole, half, LINE])
    assert headers[b"content-encoding"] == b"gzip"
    assert headers[b"vary"] == b"Accept-Encoding"
    assert b"content-length" not in headers
    after = read(pieces)
    assert after[1] == FLUSH_BYTES  # 32 + 32 kB
    assert after[2] == 3 * FLUSH_BYTES  # + 128 kB
    assert after[4] == 3 * FLUSH_BYTES + FLUSH_BYTES // 2 + len(LINE)
    assert sum(map(len, pieces)) < FLUSH_BYTES // 10


def test_a_slow_stream_keeps_nobody_waiting_for_what_is_there() -> None:
    # Begins at 0; the first line comes at once, the second after the time, the third right after it.
    slow = Clock(0.0, 0.0, FLUSH_EVERY, FLUSH_EVERY)
    _, pieces = answer("application/x-ndjson", [LINE, LINE, LINE, b""], clock=slow)
    n = len(LINE)
    assert read(pieces)[1] == 2 * n
    assert read(pieces)[3] == 3 * n


@pytest.mark.parametrize(
    ("kind", "bodies", "accept", "method"),
    [
        ("text/event-stream", [LINE * 100, LINE], "gzip", "GET"),
        ("application/json", [b"x" * (SMALLEST - 1)], "gzip", "GET"),
        ("image/png", [b"x" * SMALLEST], "gzip", "GET"),
        ("application/json", [b"x" * SMALLEST], "br", "GET"),
        ("application/json", [b"x" * SMALLEST], "gzip;q=0, *", "GET"),
        ("application/json", [b"x" * SMALLEST], "gzip", "HEAD"),
    ],
)
def test_what_gains_nothing_or_must_not_wait_is_sent_as_it_is(
    kind: str, bodies: list[bytes], accept: str, method: str
) -> None:
    headers, pieces = answer(kind, bodies, accept=accept, method=method)
    assert b"content-encoding" not in headers
    assert pieces == bodies


def test_a_whole_answer_is_compressed_from_a_size_on() -> None:
    headers, pieces = answer("application/json", [b"x" * SMALLEST])
    assert headers[b"content-encoding"] == b"gzip"
    assert read(pieces) == [SMALLEST]


@pytest.mark.parametrize(
    ("accepted", "taken"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("*;q=1, gzip;q=0", False),
        ("gzip;q=much", False),
    ],
)
def test_who_takes_gzip(accepted: str, taken: bool) -> None:
    assert takes_gzip(accepted) is taken
