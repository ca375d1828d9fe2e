"""A client for services: items of any kind submitted as a batch, waited for and read back as rows."""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from tamis_schemas import NO_STEERING, InvalidParameters, ItemResult, Operation, Pause, Steering, WaitTimeout

from .batch import FIRST_POLL, POLLS_GROW, SLOWEST_POLL, Batch
from .client import Client
from .conversion import to_item
from .view import BatchView

LARGEST_SHARD = 5000  # items, as for TAMIS_SHARD_SIZE: a chord holds all of its messages in Redis
CONVERTED_AT_ONCE = 200  # items; then other coroutines have their turn

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rows:
    """What came of a batch."""

    rows: list[ItemResult]  # every item with its result, in the order given
    pause: Pause | None = None  # why the batch went no further; its other items are pending

    def reason(self, row: ItemResult) -> str:
        """Why an item has no result."""
        if self.pause is not None:
            return f"not evaluated: {self.pause.reason}"
        return f"not evaluated: the item is {row.status}"  # its batch was cancelled


class ServiceClient:
    """Any number of calls may run at once, in any thread and any event loop; connects on first use."""

    def __init__(self, client: Client | None = None, *, timeout: float | None = None) -> None:
        """
        Args:
            client: what to submit with; it stays open. None: a client of its own, after the settings of the process.
            timeout: seconds to wait for one batch at most; None waits as long as it takes.
        """
        self._given = client
        self._own: Client | None = None
        self._lock = Lock()
        self._timeout = timeout

    async def rows(
        self,
        operation: Operation,
        sources: Iterable[object],
        *,
        model: str | None = None,
        max_concurrent: int = LARGEST_SHARD,
        steering: Steering = NO_STEERING,
    ) -> Rows:
        """Every item with its result, once the batch is completed or cancelled, or cannot go on. No source: no batch.

        Args:
            operation: what to ask of every item.
            sources: items, or what `to_item` makes items of.
            model: the model to ask; None: the one of the settings, else the workers' own.
            max_concurrent: items of this batch in flight at most; the workers' own limits hold as well. One shard of so
                many items is in flight at a time, and the next one starts when its last item is done.
            steering: as of `Client.submit`.

        A call that is cancelled, or waits too long, leaves its batch to the workers: it goes on. A batch that was
        paused because it could not go on stays paused, to be resumed or cancelled by whoever puts the reason right.

        Raises:
            InvalidParameters: an item that cannot be one, or `max_concurrent` below 1. Nothing is written.
            ConfigurationError: no broker or ledger is named.
            LedgerUnavailable: the ledger does not answer.
            WaitTimeout: it took longer than the timeout; the message names the batch.
        """
        if isinstance(max_concurrent, bool) or not isinstance(max_concurrent, int) or max_concurrent < 1:
            raise InvalidParameters(f"max_concurrent: {max_concurrent!r} is no whole number from 1")
        items = await _items(sources)
        if not items:
            return Rows([])
        shard_size = min(max_concurrent, LARGEST_SHARD)
        batch = await asyncio.to_thread(self._submit, operation, items, model, shard_size, steering)
        pause = await self._finished(batch)
        return Rows(await asyncio.to_thread(lambda: list(batch.results())), pause)

    def close(self) -> None:
        """Give its own connections back; a later call connects anew."""
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            own.close()

    def _submit(
        self, operation: Operation, items: list[dict[str, Any]], model: str | None, shard_size: int, steering: Steering
    ) -> Batch:
        client = self._given or self._connected()
        return client.submit(operation, items, model=model, shard_size=shard_size, window=1, steering=steering)

    def _connected(self) -> Client:
        with self._lock:
            self._own = self._own or Client()
            return self._own

    async def _finished(self, batch: Batch) -> Pause | None:
        """Return when nothing more will happen, with the reason where that is a pause."""
        # Not Batch.wait in a thread: a thread cannot be cancelled, and would wait on after its coroutine is gone.
        clock = asyncio.get_running_loop().time
        deadline = None if self._timeout is None else clock() + self._timeout
        pause = FIRST_POLL
        warned = False
        while True:
            view = await asyncio.to_thread(batch.status)
            if view.finished:
                return None
            if view.stuck is not None:
                log.warning("batch %s is paused: %s. %s", batch.id, view.stuck.reason, view.stuck.remedy(batch.id))
                return view.stuck
            left = None if deadline is None else deadline - clock()
            if left is not None and left <= 0:
                raise WaitTimeout(_too_long(view, self._timeout))
            if view.live_workers == 0 and not warned:
                warned = True
                log.warning("batch %s waits: no worker is running; `tamis worker` starts one", batch.id)
            await asyncio.sleep(pause if left is None else min(pause, left))
            pause = min(SLOWEST_POLL, pause * POLLS_GROW)


async def _items(sources: Iterable[object]) -> list[dict[str, Any]]:
    """Converted here, on the caller's thread: objects of a session must not be read in another one."""
    if isinstance(sources, str | bytes | dict) or not isinstance(sources, Iterable):
        raise InvalidParameters(f"items: a {type(sources).__name__}, not a list of items")
    items: list[dict[str, Any]] = []
    for index, source in enumerate(sources):
        try:
            items.append(to_item(source))
        except InvalidParameters as error:
            raise InvalidParameters(f"item {index}: {error}") from error
        if len(items) % CONVERTED_AT_ONCE == 0:
            await asyncio.sleep(0)
    return items


def _too_long(view: BatchView, timeout: float | None) -> str:
    done = f"{view.counts.finished} of {view.counts.n_items} items done after {timeout:g} s"
    return f"batch {view.id}: {done}; it goes on" + ("" if view.live_workers else ", once a worker runs")
