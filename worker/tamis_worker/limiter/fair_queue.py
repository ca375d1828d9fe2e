"""Who is served next of all who wait in one process: batches in turn, each as often as its priority weighs.

Weighted fair queueing. Each batch has a clock, which a grant moves on by 1 / weight; the batch whose clock is furthest
behind is served next. Whoever comes, or comes back, starts no earlier than the clock of the queue, so that nobody saves
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
    """A call that waits for a permit of about so many tokens."""

    estimate: int
    future: asyncio.Future[T]
    batch: "_Batch[T] | None" = None  # None: it does not wait, or no longer


@dataclass(eq=False, slots=True)
class _Batch(Generic[T]):
    weight: int
    clock: float
    waiters: deque[Waiter[T]] = field(default_factory=deque)
    waiting: int = 0  # of the waiters, those who have not left
    queued: bool = False  # in the heap


class FairQueue(Generic[T]):
    """First come, first served within a batch; by weight between batches. All operations take about a microsecond."""

    def __init__(self) -> None:
        self._batches: dict[Hashable, _Batch[T]] = {}
        self._heap: list[tuple[float, int, _Batch[T]]] = []
        self._tie = count()  # of two clocks that are equal, who was served longer ago
        self._clock = 0.0
        self._waiting = 0
        self._tokens = 0
        self.weight = 0  # of all batches that wait, together

    def __len__(self) -> int:
        return self._waiting

    @property
    def mean(self) -> int:
        """Tokens that those who wait have estimated, on average, rounded up."""
        return -(-self._tokens // self._waiting) if self._waiting else 0

    def join(self, waiter: Waiter[T], batch: Hashable, weight: int) -> None:
        """Begin to wait, as one of a batch."""
        entry = self._batches.get(batch)
        if entry is None:
            if len(self._batches) >= REMEMBERED:
                self._forget()
            entry = self._batches[batch] = _Batch(weight, self._clock)
        if not entry.waiting:
            entry.weight = weight
            self.weight += weight
        if not entry.queued:
            entry.clock = max(entry.clock, self._clock)
            entry.queued = True
            heappush(self._heap, (entry.clock, next(self._tie), entry))
        entry.waiters.append(waiter)
        entry.waiting += 1
        waiter.batch = entry
        self._waiting += 1
        self._tokens += waiter.estimate

    def reweigh(self, batch: Hashable, weight: int) -> None:
        """Give a batch another weight; its next turn comes no later than that weight says."""
        entry = self._batches.get(batch)
        if entry is None or entry.weight == weight:
            return
        if entry.waiting:
            self.weight += weight - entry.weight
        entry.weight = weight
        if entry.clock > self._clock + 1 / weight:
            entry.clock = self._clock + 1 / weight
            if entry.queued:
                self._heap = [
                    (batch.clock if batch is entry else clock, tie, batch) for clock, tie, batch in self._heap
                ]
                heapify(self._heap)

    def head(self) -> Waiter[T] | None:
        """Return who is next; None where nobody waits."""
        heap = self._heap
        while heap:
            batch = heap[0][2]
            waiters = batch.waiters
            while waiters and waiters[0].batch is None:  # left
                waiters.popleft()
            if waiters:
                return waiters[0]
            heappop(heap)
            batch.queued = False
        return None

    def serve(self) -> None:
        """Take the next one out of the queue. There must be one: see `head`."""
        _, _, batch = heappop(self._heap)
        waiter = batch.waiters.popleft()
        self._clock = batch.clock
        batch.clock += 1 / batch.weight
        self.leave(waiter)
        batch.queued = bool(batch.waiters)
        if batch.queued:
            heappush(self._heap, (batch.clock, next(self._tie), batch))

    def leave(self, waiter: Waiter[T]) -> None:
        """Stop waiting. A second time changes nothing."""
        batch, waiter.batch = waiter.batch, None
        if batch is None:
            return
        batch.waiting -= 1
        if not batch.waiting:
            self.weight -= batch.weight
        self._waiting -= 1
        self._tokens -= waiter.estimate

    def drain(self) -> list[Waiter[T]]:
        """Take out everybody who still waits."""
        left = [waiter for batch in self._batches.values() for waiter in batch.waiters if waiter.batch is not None]
        for waiter in left:
            self.leave(waiter)
        self._batches.clear()
        self._heap.clear()
        return left

    def _forget(self) -> None:
        """Forget the batches that do not wait, and first those whose clock a new one would not differ from."""
        for name in [
            name for name, batch in self._batches.items() if not batch.queued and batch.clock <= self._clock
        ] or [name for name, batch in self._batches.items() if not batch.queued]:
            del self._batches[name]
