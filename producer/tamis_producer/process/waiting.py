"""Waiting of a client: its thread stands still, or the event loop that it runs on does other things meanwhile.

What a call does is written once, as if for a thread. On an event loop it runs in a greenlet, as SQLAlchemy runs its
own: `await_only` hands what is to be awaited to the loop, and comes back with the result.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")

TURN = 0.002  # s of computing, after which other coroutines have their turn
PAUSE = 0.0002  # s; time for another thread to wake up and take the interpreter

FIRST_POLL = 0.05  # s
SLOWEST_POLL = 1.0  # s
POLLS_GROW = 1.1  # times, from one to the next: the end is seen a tenth of the time waited after it, at most


class Waiting(Protocol):
    """The port through which a client waits, whatever it runs on."""

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""

    def in_turns(self, items: Iterable[T]) -> Iterator[T]:
        """The same items; between two of them others may have their turn."""


class OnThread:
    """The thread stands still."""

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        time.sleep(seconds)

    def in_turns(self, items: Iterable[T]) -> Iterator[T]:
        """The same items."""
        return iter(items)


ON_THREAD = OnThread()


class BesideLoop(OnThread):
    """A thread of a process whose event loop must not wait for it.

    Whoever computes gives the interpreter away for an instant at a time, in system calls, and has it again before an
    event loop that waits for it is awake. A pause that is long enough for that gives the loop its turn.
    """

    def in_turns(self, items: Iterable[T]) -> Iterator[T]:
        """The same items; the thread pauses whenever `TURN` has gone by."""
        until = time.perf_counter() + TURN
        for item in items:
            yield item
            if time.perf_counter() >= until:
                time.sleep(PAUSE)
                until = time.perf_counter() + TURN


class OnLoop:
    """The event loop goes on; to be used in a greenlet alone."""

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        from sqlalchemy.util import await_only

        await_only(asyncio.sleep(seconds))

    def in_turns(self, items: Iterable[T]) -> Iterator[T]:
        """The same items; others have their turn whenever `TURN` has gone by, whatever is done with each item."""
        from sqlalchemy.util import await_only

        until = time.perf_counter() + TURN
        for item in items:
            yield item
            if time.perf_counter() >= until:
                await_only(asyncio.sleep(0))
                until = time.perf_counter() + TURN


def poll(
    look: Callable[[], T],
    timeout: float | None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[T]:
    """Yield what `look` sees, at once and then again and again; the last look is taken after `timeout` seconds."""
    pauses = poll_pauses(timeout, clock)
    yield look()
    for pause in pauses:
        sleep(pause)
        yield look()


def poll_pauses(timeout: float | None, clock: Callable[[], float] = time.monotonic) -> Iterator[float]:
    """The seconds to wait before each further look, longer and longer, until `timeout` seconds are over; None: endless.

    The last pause ends with the time. Whoever iterates does the waiting, on a thread or on an event loop.
    """
    deadline = math.inf if timeout is None else clock() + timeout

    def pauses() -> Iterator[float]:
        pause = FIRST_POLL
        while (left := deadline - clock()) > 0:
            yield min(pause, left)
            pause = min(SLOWEST_POLL, pause * POLLS_GROW)

    return pauses()
