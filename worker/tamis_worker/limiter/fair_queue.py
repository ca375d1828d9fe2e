"""Who is served next of all who wait in one process: batches in turn, each as often as its priority weighs.

Weighted fair queueing. Each batch has a clock, which a grant moves on by 1 / weight; the batch whose clock is furthest
behind is served next. Whoever comes, or comes back, starts no earlier than the clock of the line, so that nobody saves
turns up by not waiting. While k batches wait, batch i gets weight_i / sum of weights of the grants; between two turns
of a batch of weight w, another of weight v has at most v / w of them, rounded up, and one.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")

REMEMBERED = 1_000  # batches that do not wait, with their clocks


@dataclass(eq=False, slots=True)
class Waiter(Generic[T]):
    """One who waits, for a permit of about so many tokens."""

    estimate: int
    future: asyncio.Future[T]
    line: "_Batch[T] | None" = None


@dataclass(eq=False, slots=True)
class _Batch(Generic[T]):
    weight: int
    clock: float
    waiters: deque[Waiter[T]] = field(default_factory=deque)
    waiting: int = 0  # of the waiters, those who have not left
    queued: bool = False  # in the heap


class WaitingLine(Generic[T]):
    """First come, first served within a batch; by weight between batches. All operations take about a microsecond."""

    def __init__(self) -> None:
        self._batches: dict[Hashable, _Batch[T]] = {}
        self._heap: list[tuple[float, int, _Batch[T]]] = []
        self._tie = count()  # of two clocks that are equal, who was served longer ago
        self._clock = 0.0
        self._waiting = 0
        self._tokens = 0
        self._weight = 0

    def __len__(self) -> int:
        return self._waiting

    @property
    def mean(self) -> int:
        """Tokens that those who wait have estimated, on average, rounded up."""
        return -(-self._tokens // self._waiting) if self._waiting else 0

    @property
    def weight(self) -> int:
        """Of all batches that wait, together."""
        return self._weight

    def join(self, waiter: Waiter[T], batch: Hashable, weight: int) -> None:
        """Stand in line, as one of a batch."""
        known = self._batches.get(batch)
        if known is None:
            if len(self._batches) >= REMEMBERED:
                self._forget()
            known = self._batches[batch] = _Batch(weight, self._clock)
        if not known.waiting:
            known.weight = weight
            self._weight += weight
        if not known.queued:
            known.clock = max(known.clock, self._clock)
            known.queued = True
            heappush(self._heap, (known.clock, next(self._tie), known))
        known.waiters.append(waiter)
        known.waiting += 1
        waiter.line = known
        self._waiting += 1
        self._tokens += waiter.estimate

    def reweigh(self, batch: Hashable, weight: int) -> None:
        """A batch has another weight from now on; its next turn comes no later than that weight says."""
        known = self._batches.get(batch)
        if known is None or known.weight == weight:
            return
        if known.waiting:
            self._weight += weight - known.weight
        known.weight = weight
        if known.clock > self._clock + 1 / weight:
            known.clock = self._clock + 1 / weight
            if known.queued:
                self._heap = [
                    (batch.clock if batch is known else clock, tie, batch) for clock, tie, batch in self._heap
                ]
                heapify(self._heap)

    def head(self) -> Waiter[T] | None:
        """Who is next; None where nobody waits."""
        heap = self._heap
        while heap:
            batch = heap[0][2]
            waiters = batch.waiters
            while waiters and waiters[0].line is None:  # left
                waiters.popleft()
            if waiters:
                return waiters[0]
            heappop(heap)
            batch.queued = False
        return None

    def serve(self) -> None:
        """The next one has its turn, and leaves the line. There must be one: see `head`."""
        _, _, batch = heappop(self._heap)
        waiter = batch.waiters.popleft()
        self._clock = batch.clock
        batch.clock += 1 / batch.weight
        self.leave(waiter)
        batch.queued = bool(batch.waiters)
        if batch.queued:
            heappush(self._heap, (batch.clock, next(self._tie), batch))

    def leave(self, waiter: Waiter[T]) -> None:
        """Wait no longer. A second time changes nothing."""
        batch, waiter.line = waiter.line, None
        if batch is None:
            return
        batch.waiting -= 1
        if not batch.waiting:
            self._weight -= batch.weight
        self._waiting -= 1
        self._tokens -= waiter.estimate

    def drain(self) -> list[Waiter[T]]:
        """Everybody who still waits; the line is empty afterwards."""
        left = [waiter for batch in self._batches.values() for waiter in batch.waiters if waiter.line is not None]
        for waiter in left:
            self.leave(waiter)
        self._batches.clear()
        self._heap.clear()
        return left

    def _forget(self) -> None:
        """Batches that do not wait and are not ahead of the line: a new clock would say the same."""
        for name in [
            name for name, batch in self._batches.items() if not batch.queued and batch.clock <= self._clock
        ] or [name for name, batch in self._batches.items() if not batch.queued]:
            del self._batches[name]
