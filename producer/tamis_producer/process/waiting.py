"""How a client waits: its thread stands still, or the event loop that it runs on does other things meanwhile.

What a call does is written once, as if for a thread. On an event loop it runs in a greenlet, as SQLAlchemy runs its
own: `await_` hands what is to be awaited to the loop, and comes back with the result.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from sqlalchemy.util import await_

T = TypeVar("T")

TURN = 0.002  # s of computing, after which other coroutines have their turn
PAUSE = 0.0002  # s; time for another thread to wake up and take the interpreter


class Waiting(Protocol):
    """What a client leaves to whoever knows where it runs."""

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
        await_(asyncio.sleep(seconds))

    def in_turns(self, items: Iterable[T]) -> Iterator[T]:
        """The same items; others have their turn whenever `TURN` has gone by, whatever is done with each item."""
        until = time.perf_counter() + TURN
        for item in items:
            yield item
            if time.perf_counter() >= until:
                await_(asyncio.sleep(0))
                until = time.perf_counter() + TURN
