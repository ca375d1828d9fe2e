"""A post box between two threads: many things are put in, one call fetches them all."""

import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")

LETTERS = 4096  # bytes read at once from the bell; each is one ring


class Mailbox(Generic[T]):
    """Things put in by one thread, taken out by another, which is rung for once until it has come."""

    def __init__(self, ring: Callable[[], object]) -> None:
        self._ring = ring
        self._things: deque[T] = deque()
        self._rung = False

    def put(self, thing: T) -> None:
        """Put a thing in."""
        self._things.append(thing)
        if not self._rung:
            self._rung = True
            self._ring()

    def take(self) -> list[T]:
        """Everything that is in, in order."""
        self._rung = False  # first: what is put in from now on rings again
        taken = []
        while self._things:
            taken.append(self._things.popleft())
        return taken


class ThreadMailbox(Mailbox[T]):
    """Rings by a socket, so that an event loop can wait for it."""

    def __init__(self) -> None:
        self._bell, self._cord = socket.socketpair()
        self._bell.setblocking(False)
        self._cord.setblocking(False)
        super().__init__(lambda: self._cord.send(b"\0"))

    def fileno(self) -> int:
        """What to wait for until it is readable."""
        return self._bell.fileno()

    def take(self) -> list[T]:
        """Everything that is in, in order; the bell is silent afterwards."""
        with suppress(BlockingIOError):
            self._bell.recv(LETTERS)
        return super().take()

    def wait(self, within: float) -> None:
        """Return once something is in, or the time (seconds) is over."""
        self._bell.settimeout(within)
        with suppress(TimeoutError):
            self._bell.recv(1)
        self._bell.setblocking(False)

    def close(self) -> None:
        """Give the socket back."""
        self._bell.close()
        self._cord.close()
