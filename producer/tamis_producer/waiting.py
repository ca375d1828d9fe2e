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

TURN = 0.004  # s of computing, after which other coroutines have their turn


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
