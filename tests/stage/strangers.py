"""Callers who misbehave, over sockets of their own, and one who behaves and takes the time."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2 as httpx

SMALL_BUFFER = 4_096  # bytes that the machine takes for a caller who reads nothing
FIRST_BYTES = 1_024
ANSWERS_WITHIN = 60.0  # s


@dataclass(frozen=True)
class Strangers:
    """Whoever calls one gateway; what they open is closed at the end of `with`."""

    url: str
    open_sockets: ExitStack

    def connect(self, said: bytes = b"") -> socket.socket:
        """A connection that has said so much."""
        parts = urlsplit(self.url)
        caller = socket.socket()
        self.open_sockets.enter_context(caller)
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        caller.settimeout(ANSWERS_WITHIN)
        caller.connect((str(parts.hostname), int(parts.port or 0)))
        caller.sendall(said)
        return caller

    def ask(self, path: str, key: str) -> socket.socket:
        """A connection that has asked for something, and read nothing yet."""
        return self.connect(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n".encode())

    def post(self, path: str, key: str, *, length: int, kind: str = "application/x-ndjson") -> socket.socket:
        """A connection that has said it will send a body of so many bytes."""
        return self.connect(
            f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {length}\r\n\r\n".encode()
        )


@contextmanager
def strangers(url: str) -> Iterator[Strangers]:
    """Callers of a gateway, gone at the end."""
    with ExitStack() as open_sockets:
        yield Strangers(url, open_sockets)


def first_bytes(caller: socket.socket, size: int = FIRST_BYTES) -> bytes:
    """The beginning of what a caller is answered; less where the connection ends before."""
    received = b""
    while len(received) < size and (part := caller.recv(size - len(received))):
        received += part
    return received


def status_of(answer: bytes) -> int:
    """The status of an answer's first line; 0 where there is none."""
    words = answer.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/") else 0


@dataclass
class Waits:
    """How long somebody else waited, request after request."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """Seconds."""
        return max(self.seconds)

    def within(self, share: float) -> float:
        """The seconds that this share of the requests took at most."""
        ranked = sorted(self.seconds)
        return ranked[min(len(ranked) - 1, int(share * len(ranked)))]

    def __str__(self) -> str:
        half, most = (round(1000 * self.within(share)) for share in (0.5, 0.99))
        return (
            f"{len(self.seconds)} requests, {len(self.failures)} failed; ms: median {half}, 99 % {most}, "
            f"longest {round(1000 * self.longest)}"
        )


@contextmanager
def somebody_else(url: str, paths: list[str], key: str, *, every: float = 0.02) -> Iterator[Waits]:
    """Asks for these paths by turns, each in a connection of its own, and takes the time, until the end of `with`."""
    waits, over = Waits(), threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=ANSWERS_WITHIN) as http:
            while True:
                for path in paths:
                    began = time.monotonic()
                    try:
                        answer = http.get(path, headers={"Connection": "close"})
                        if answer.status_code != 200:
                            waits.failures.append(f"{path}: {answer.status_code} {answer.text[:200]}")
                    except httpx.TransportError as error:
                        waits.failures.append(f"{path}: {error!r}")
                    waits.seconds.append(time.monotonic() - began)
                    if over.wait(every):
                        return

    thread = threading.Thread(target=ask, name="somebody else")
    thread.start()
    try:
        yield waits
    finally:
        over.set()
        thread.join()
