"""A mailbox between two threads: many items are put in, one call fetches them all."""

import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")

WAKEUPS = 4096  # read at once; each is one byte


class Mailbox(Generic[T]):
    """Items put in by one thread, taken out by another, which is woken once until it has come."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._items: deque[T] = deque()
        self._awake = False

    def put(self, item: T) -> None:
        """Put an item in."""
        self._items.append(item)
        if not self._awake:
            self._awake = True
            self._wake()

    def take(self) -> list[T]:
        """Take out everything that is in, in order."""
        self._awake = False  # first: what is put in from now on wakes again
        taken = []
        while self._items:
            taken.append(self._items.popleft())
        return taken


class ThreadMailbox(Mailbox[T]):
    """A mailbox that wakes by a socket, so that an event loop can wait for it."""

    def __init__(self) -> None:
        self._wakeup_reader, self._wakeup_writer = socket.socketpair()
        self._wakeup_reader.setblocking(False)
        self._wakeup_writer.setblocking(False)
        super().__init__(lambda: self._wakeup_writer.send(b"\0"))

    def fileno(self) -> int:
        """The descriptor that is readable while something is in."""
        return self._wakeup_reader.fileno()

    def take(self) -> list[T]:
        """Take out everything that is in, in order; nothing is readable afterwards."""
        with suppress(BlockingIOError):
            self._wakeup_reader.recv(WAKEUPS)
        return super().take()

    def wait(self, within: float) -> None:
        """Return once something is in, or the time (seconds) is over."""
        self._wakeup_reader.settimeout(within)
        with suppress(TimeoutError):
            self._wakeup_reader.recv(1)
        self._wakeup_reader.setblocking(False)

    def close(self) -> None:
        """Give the socket back."""
        self._wakeup_reader.close()
        self._wakeup_writer.close()
