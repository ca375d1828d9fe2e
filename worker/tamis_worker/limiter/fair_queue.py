"""The order of the waiting calls of a process: weighted fair queueing between batches, by the weight of their priority.

Each batch has a clock, and each grant to the batch advances the clock by 1 / weight. The batch with the earliest clock
is served next. A batch that joins or returns starts at the clock of the batch served last, or later. So no batch can
save grants for later. While the same batches wait, batch i gets weight_i / (sum of all weights) of the grants. Between
two grants to a batch of weight w, another batch of weight v gets at most ceil(v / w) + 1 grants.
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
    """A call that waits for a permit of about `estimate` tokens."""

    estimate: int
    future: asyncio.Future[T]
    batch: "_Batch[T] | None" = None  # None: not waiting


@dataclass(eq=False, slots=True)
class _Batch(Generic[T]):
    weight: int
    clock: float
    waiters: deque[Waiter[T]] = field(default_factory=deque)
    waiting: int = 0  # waiters that have not left
    queued: bool = False  # in the heap


class FairQueue(Generic[T]):
    """The queue of waiting calls. Within a batch, the order of arrival counts; between batches, the weight counts."""

    def __init__(self) -> None:
        self._batches: dict[Hashable, _Batch[T]] = {}
        self._heap: list[tuple[float, int, _Batch[T]]] = []
        self._tie = count()  # if two clocks are equal, the batch that was served longer ago is first
        self._clock = 0.0
        self._waiting = 0
        self._tokens = 0
        self.weight = 0  # of all waiting batches together

    def __len__(self) -> int:
        return self._waiting

    @property
    def mean(self) -> int:
        """The average estimate of the waiting calls, in tokens, rounded up."""
        return -(-self._tokens // self._waiting) if self._waiting else 0

    def join(self, waiter: Waiter[T], batch: Hashable, weight: int) -> None:
        """Add a waiter to the queue of a batch."""
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
        """Change the weight of a batch. A higher weight also brings the batch's next grant forward."""
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
        """Return the next waiter, or None if no call waits."""
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
        """Remove the next waiter, and advance its batch's clock. Before, `head` must have returned a waiter."""
        _, _, batch = heappop(self._heap)
        waiter = batch.waiters.popleft()
        self._clock = batch.clock
        batch.clock += 1 / batch.weight
        self.leave(waiter)
        batch.queued = bool(batch.waiters)
        if batch.queued:
            heappush(self._heap, (batch.clock, next(self._tie), batch))

    def leave(self, waiter: Waiter[T]) -> None:
        """Remove a waiter. A second call changes nothing."""
        batch, waiter.batch = waiter.batch, None
        if batch is None:
            return
        batch.waiting -= 1
        if not batch.waiting:
            self.weight -= batch.weight
        self._waiting -= 1
        self._tokens -= waiter.estimate

    def drain(self) -> list[Waiter[T]]:
        """Remove and return all waiters."""
        remaining = [waiter for batch in self._batches.values() for waiter in batch.waiters if waiter.batch is not None]
        for waiter in remaining:
            self.leave(waiter)
        self._batches.clear()
        self._heap.clear()
        return remaining

    def _forget(self) -> None:
        """Forget the batches that have no waiting call and whose clock is not ahead of the queue's clock.

        If there is no such batch, forget all batches that have no waiting call.
        """
        for name in [
            name for name, batch in self._batches.items() if not batch.queued and batch.clock <= self._clock
        ] or [name for name, batch in self._batches.items() if not batch.queued]:
            del self._batches[name]
