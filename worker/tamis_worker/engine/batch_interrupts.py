"""Interrupts: if a worker stops or a batch no longer runs, calls in flight finish, and waiting items are released.

Any process may pause or cancel a batch, so each worker asks the ledger if its batches still run. A batch that was
halted in this process runs again when the ledger grants a claim that was requested after the halt. If an item is
cancelled, or is claimed by another worker, only that item is halted.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from tamis_schemas import LedgerUnavailable, Pause

FIRST_RETRY, LAST_RETRY = 0.05, 2.0  # s between two tries while the ledger is unavailable

Write: TypeAlias = Callable[[UUID, Pause], Awaitable[bool]]  # pauses a batch in the ledger; False: it was not running

log = logging.getLogger(__name__)


class Halted(Exception):
    """Raised for an item whose evaluation must not continue: the worker stops, or the batch or the item is halted.

    The item's claim must then be released. No call was cut off.
    """


class CutOff(Exception):
    """Raised if a call in flight was cut off, because its item was cancelled with `cut=True`."""


@dataclass(slots=True)
class _Batch:
    """The state of a batch with items in this process.

    A generation is the serial number of a claim or halt. The claims and halts of all batches share one numbering.
    """

    items: int = 0
    granted: int = 0  # the generation of the latest claim
    halted: int | None = None  # the generation of the latest halt; None: the batch runs


Item: TypeAlias = tuple[UUID, int]  # batch and index: an `ItemKey` of the ledger

_item: ContextVar[Item | None] = ContextVar("item", default=None)  # of a task, and of tasks that it starts


@dataclass(frozen=True, slots=True)
class _Wait:
    batch_id: UUID
    item: Item | None  # None: not yet claimed


class BatchInterrupts:
    """The state of one worker process that ends evaluations: its stop, halted batches and cancelled items.

    Use the object on the process's event loop only.
    """

    def __init__(self, write: Write) -> None:
        """Begin without batches. `write` pauses a batch in the ledger."""
        self._write = write
        self.stopped = False  # True after `stop`
        self.generation = 0  # the current one; read before a claim is requested
        self._batches: dict[UUID, _Batch] = {}
        self._waiting: dict[asyncio.Task[Any], _Wait] = {}
        self._revoked: set[Item] = set()
        self._cancelled: set[Item] = set()
        self._calling: dict[asyncio.Task[Any], Item | None] = {}
        self._interrupted: set[asyncio.Task[Any]] = set()
        self._pausing = asyncio.Lock()

    def stop(self) -> None:
        """Stop the worker: end all interruptible waits, present and future."""
        self.stopped = True
        self._end_waits(self._waiting)

    async def pause(self, batch_id: UUID, pause: Pause) -> None:
        """Pause a batch in the ledger for all workers, and halt it here. While the ledger is unavailable, retry."""
        async with self._pausing:  # of many calls with the same cause, the first one writes
            if self._is_halted(batch_id):
                return
            retry = FIRST_RETRY
            while True:
                try:
                    written = await self._write(batch_id, pause)
                    break
                except LedgerUnavailable as error:
                    log.debug("batch=%s will be paused when the ledger works again: %s", batch_id, error)
                    await asyncio.sleep(retry)
                    retry = min(LAST_RETRY, 2 * retry)
            if written:
                log.warning("batch=%s is paused: %s: %s", batch_id, pause.kind, pause.message)
            self._halt(batch_id)

    def revoke(self, items: Collection[Item]) -> None:
        """End the waits of items that other workers have claimed. This process then makes no more calls for them."""
        self._revoked.update(items)
        self._end_waits([task for task, wait in self._waiting.items() if wait.item in self._revoked])

    def cancel(self, item: Item, *, cut: bool = False) -> None:
        """Cancel an item in this process, and end its waits.

        If `cut` is True, the item's calls in flight are cut off. Otherwise these calls finish. Call `forget` when the
        item has left this process.
        """
        self._cancelled.add(item)
        self._end_waits([task for task, wait in self._waiting.items() if wait.item == item])
        if cut:
            self._end_waits([task for task, caller in self._calling.items() if caller == item])

    def forget(self, item: Item) -> None:
        """Forget an item's cancellation, so that it does not apply to a later claim."""
        self._cancelled.discard(item)

    def cancels(self, item: Item) -> bool:
        """Return whether an item in this process is cancelled."""
        return item in self._cancelled

    @contextmanager
    def held(self, batch_id: UUID, generation: int, *, index: int) -> Iterator[None]:
        """Register an item as being evaluated, inside the `with` block.

        `generation`: the value of `self.generation` before the item's claim was requested.
        """
        item = (batch_id, index)
        self._revoked.discard(item)  # a late revocation, for an earlier claim
        before = _item.set(item)
        batch = self._batches.setdefault(batch_id, _Batch())
        self.generation += 1
        batch.items += 1
        batch.granted = self.generation
        if batch.halted is not None and batch.halted <= generation:
            batch.halted = None
        try:
            yield
        finally:
            _item.reset(before)
            self._revoked.discard(item)
            batch.items -= 1  # the batch is kept until the next `refresh`

    @contextmanager
    def interruptible(self, batch_id: UUID) -> Iterator[None]:
        """Wrap a wait, and raise `Halted` if the waiting item must not continue.

        The item must not continue if the worker stops, the batch is halted, the item is cancelled, or another worker
        has claimed the item.
        """
        item = _item.get()
        if self.stopped or self._is_halted(batch_id) or item in self._revoked or item in self._cancelled:
            raise Halted
        task = _this_task()
        self._waiting[task] = _Wait(batch_id, item)
        try:
            with self._interrupted_as(task, Halted):
                yield
        finally:
            self._waiting.pop(task, None)

    @contextmanager
    def cuttable(self) -> Iterator[None]:
        """Wrap a call in flight: raise `CutOff` if the call's item is cancelled with `cut=True`."""
        task = _this_task()
        self._calling[task] = _item.get()
        try:
            with self._interrupted_as(task, CutOff):
                yield
        finally:
            self._calling.pop(task, None)

    @contextmanager
    def _interrupted_as(self, task: asyncio.Task[Any], ended: type[Exception]) -> Iterator[None]:
        try:
            yield
        except asyncio.CancelledError:
            if task in self._interrupted and task.uncancel() == 0:
                raise ended from None
            raise  # a foreign cancellation: the loop ends
        finally:
            self._interrupted.discard(task)

    async def refresh(self, not_running: Callable[[Collection[UUID]], Awaitable[Collection[UUID]]]) -> list[UUID]:
        """Call `not_running` once with the ids of this process's batches, and halt the batches that it returns.

        Return the halted batches that have no items in this process. If `not_running` raises an error, halt no batch,
        and raise that error.
        """
        if not self._batches:
            return []
        generation = self.generation
        batches = dict(self._batches)
        empty = [batch_id for batch_id, batch in batches.items() if batch.items == 0]
        halted = await not_running(batches)
        for batch_id, batch in batches.items():
            if batch.granted > generation or (batch.halted or 0) > generation:
                continue  # claimed or halted after the query: the answer may be older
            if batch_id in halted:
                self._halt(batch_id)
            else:
                batch.halted = None
        for batch_id in empty:
            if batches[batch_id].items == 0:
                del self._batches[batch_id]
        return [batch_id for batch_id in empty if batch_id in halted]

    def _is_halted(self, batch_id: UUID) -> bool:
        batch = self._batches.get(batch_id)
        return batch is not None and batch.halted is not None

    def _halt(self, batch_id: UUID) -> None:
        batch = self._batches.setdefault(batch_id, _Batch())
        if batch.halted is None:
            self.generation += 1
            batch.halted = self.generation
        self._end_waits([task for task, wait in self._waiting.items() if wait.batch_id == batch_id])

    def _end_waits(self, tasks: Collection[asyncio.Task[Any]]) -> None:
        for task in tasks:
            if task not in self._interrupted:
                self._interrupted.add(task)
                task.cancel()


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None, "a coroutine on a loop runs in a task"  # noqa: S101 - a fact of asyncio
    return task
