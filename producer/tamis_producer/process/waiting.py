"""A client's ways to wait: its thread blocks, or its event loop does other work.

Code that waits is written once, as if for a thread. On an event loop, this code runs in a greenlet, as in SQLAlchemy:
`await_only` passes an awaitable to the loop, and returns its result.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

TURN = 0.002  # s of computing, after which other coroutines have their turn
PAUSE = 0.0002  # s for another thread to wake up and take the interpreter

FIRST_POLL = 0.05  # s
SLOWEST_POLL = 1.0  # s
POLLS_GROW = 1.1  # times, from one poll to the next: the end is noticed after at most a tenth of the time waited


class Waiting:
    """A way to wait. This class blocks the thread; subclasses let an event loop do other work."""

    def sleep(self, seconds: float) -> None:
        """Wait for this number of seconds."""
        time.sleep(seconds)

    def in_turns(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the same items. A subclass may let other work run between two items."""
        return iter(items)


ON_THREAD = Waiting()


class BesideLoop(Waiting):
    """A way to wait on a thread, in a process whose event loop runs on another thread.

    The thread's system calls release the interpreter lock, but too briefly for the loop's thread to wake up and take
    the lock. So `in_turns` also pauses the thread for longer.
    """

    def in_turns(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the same items; pause the thread after every 2 ms of computing."""
        return _in_turns(items, lambda: time.sleep(PAUSE))


class OnLoop(Waiting):
    """A way to wait on an event loop. Only code in greenlets may use it."""

    def sleep(self, seconds: float) -> None:
        """Wait for this number of seconds."""
        from sqlalchemy.util import await_only

        await_only(asyncio.sleep(seconds))

    def in_turns(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the same items; let other work run after every 2 ms of computing."""
        from sqlalchemy.util import await_only

        return _in_turns(items, lambda: await_only(asyncio.sleep(0)))


def _in_turns(items: Iterable[T], rest: Callable[[], object]) -> Iterator[T]:
    """Yield the same items; call `rest` after every 2 ms of computing."""
    until = time.perf_counter() + TURN
    for item in items:
        yield item
        if time.perf_counter() >= until:
            rest()
            until = time.perf_counter() + TURN


def poll(
    look: Callable[[], T],
    timeout: float | None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[T]:
    """Yield the results of `look`, the first at once, until `timeout` seconds are over (None: forever)."""
    pauses = poll_pauses(timeout, clock)
    yield look()
    for pause in pauses:
        sleep(pause)
        yield look()


def poll_pauses(timeout: float | None, clock: Callable[[], float] = time.monotonic) -> Iterator[float]:
    """Yield growing pauses in seconds until `timeout` seconds are over (None: forever).

    The last pause ends when the time is over. The caller does the waiting, on a thread or on an event loop.
    """
    deadline = math.inf if timeout is None else clock() + timeout

    def pauses() -> Iterator[float]:
        pause = FIRST_POLL
        while (left := deadline - clock()) > 0:
            yield min(pause, left)
            pause = min(SLOWEST_POLL, pause * POLLS_GROW)

    return pauses()
