"""Single calls: simultaneous calls of a process share a batch, and each caller gets its own answer."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Lock
from typing import Any, Protocol
from uuid import UUID

from tamis_schemas import NO_STEERING, InvalidParameters, Operation, Steering

from ..config.settings import ProducerSettings
from ..ledger import CallResult
from ..ledger.connection import connect_without_transactions
from ..ledger.pool_kinds import LISTENER
from ..submission.bounds import SubmissionBounds
from ..submission.item_conversion import to_item_at
from ..submission.new_batch import rows_of
from .call_results import CallResults, FollowedBatch

LARGEST_SHARD = 5000  # items, as for TAMIS_SHARD_SIZE: a chord holds all of its messages in Redis
CONVERTED_AT_ONCE = 200  # items, after which other coroutines have their turn
GATHER = 0.005  # s for other calls to join, while a call of the same question is under way
MOST_TOGETHER = 100  # calls in one batch; the next call begins another

Submit = Callable[["CallQuestion", list[dict[str, Any]], int], Awaitable[UUID]]


@dataclass(frozen=True)
class CallQuestion:
    """A question about an item, with the model and other options. Calls with equal questions may share a batch."""

    operation: Operation
    service: str  # service that calls, as the ledger shows it
    model: str | None = None  # None: the model of the settings, else the workers' model
    steering: Steering = NO_STEERING
    fresh: bool = False  # ignore cached answers
    api_key_id: str | None = None
    idempotency_key: str | None = None  # of a call that shares its batch with no other call

    @cached_property
    def key(self) -> Hashable:
        """A key that is equal for calls that may share a batch."""
        operation, steering = self.operation.model_dump_json(), self.steering.model_dump_json()
        return (operation, self.service, self.model, steering, self.fresh, self.api_key_id, self.idempotency_key)


class CallGroups:
    """The calls of one event loop, grouped into batches.

    The first call of a question starts at once, in a separate batch. While that call is under way, further calls of the
    same question share a batch.
    """

    def __init__(self, submit: Submit, results: CallResults) -> None:
        """Prepare the groups.

        `submit(question, items, at_once)` writes and dispatches a batch, with at most `at_once` items in flight.
        """
        self.results = results
        self._submit = submit
        # The items of calls that become one batch.
        self._open: dict[Hashable, tuple[list[dict[str, Any]], asyncio.Task[FollowedBatch]]] = {}
        self._under_way: Counter[Hashable] = Counter()

    async def call(self, question: CallQuestion, item: dict[str, Any], within: float | None) -> CallResult:
        """Return the result of one item. Raises the errors of `submit`.

        Raises `WaitTimeout` after `within` seconds (None: no limit).
        """
        key = question.key
        self._under_way[key] += 1
        try:
            items, submitted = self._joined(question, key)
            items.append(item)
            place = len(items) - 1
            # Shielded, because other calls share the batch, and its submission must finish.
            batch = await asyncio.shield(submitted)
            (result,) = await self._results(batch, [batch.results[place]], within)
            return result
        finally:
            self._under_way[key] -= 1
            if not self._under_way[key]:
                del self._under_way[key]

    async def batch(
        self, question: CallQuestion, items: list[dict[str, Any]], at_once: int, within: float | None
    ) -> list[CallResult]:
        """Return the result of each item, in order, from a separate batch. Raises the errors of `submit`.

        At most `at_once` items are in flight. Raises `WaitTimeout` after `within` seconds (None: no limit).
        """
        batch = await self._submitted(question, items, at_once)
        return await self._results(batch, batch.results, within)

    def _joined(
        self, question: CallQuestion, key: Hashable
    ) -> tuple[list[dict[str, Any]], asyncio.Task[FollowedBatch]]:
        gathered = self._open.get(key)
        if gathered is not None and len(gathered[0]) < MOST_TOGETHER:
            return gathered
        items: list[dict[str, Any]] = []
        waits = self._under_way[key] > 1
        submitted = asyncio.create_task(self._go(question, key, items, waits=waits))
        submitted.add_done_callback(lambda task: task.cancelled() or task.exception())  # its callers may be gone
        if waits:
            self._open[key] = (items, submitted)
        return items, submitted

    async def _go(
        self, question: CallQuestion, key: Hashable, items: list[dict[str, Any]], *, waits: bool
    ) -> FollowedBatch:
        if waits:
            await asyncio.sleep(GATHER)
            if key in self._open and self._open[key][0] is items:
                del self._open[key]
        return await self._submitted(question, items, len(items))

    async def _submitted(self, question: CallQuestion, items: list[dict[str, Any]], at_once: int) -> FollowedBatch:
        return self.results.follow(await self._submit(question, items, at_once), len(items))

    async def _results(
        self, batch: FollowedBatch, results: list[asyncio.Future[CallResult]], within: float | None
    ) -> list[CallResult]:
        try:
            _, pending = await asyncio.wait(results, timeout=within)
            if pending:
                assert within is not None  # noqa: S101 - else it would still wait
                raise await self.results.waited_too_long(batch, within)
        finally:
            for result in results:
                result.cancel()  # for items without waiting callers
        return [result.result() for result in results]


class SubmittedBatch(Protocol):
    """The part of a submitted batch that calls about single items need."""

    @property
    def id(self) -> str:
        """The batch's id, a UUID as text."""


class SingleCalls:
    """A client's maker of calls about single items. Any thread and any event loop may use it."""

    def __init__(self, settings: ProducerSettings, submit: Callable[..., SubmittedBatch]) -> None:
        """Prepare the calls, without a connection. `submit` submits a batch as `Client.submit` does."""
        self._settings = settings
        self._submit_batch = submit
        self._groups: dict[asyncio.AbstractEventLoop, CallGroups] = {}
        self._lock = Lock()

    async def ask(self, question: CallQuestion, source: object, *, within: float | None = None) -> CallResult:
        """Return the result of one item. `source`: the item, or an object that `to_item` converts to an item.

        Simultaneous calls may share a batch. `within`: longest wait in seconds; None: no limit. Raises
        `InvalidParameters` for an invalid item, `WaitTimeout` when the time is over, and `LedgerUnavailable`.
        """
        (item,) = await _items([source])
        with rows_of([item], bounds=SubmissionBounds.of(self._settings), operations=[question.operation]):
            pass  # the item can be submitted, so it may share a batch
        return await self._here().call(question, item, within)

    async def ask_all(
        self,
        question: CallQuestion,
        sources: Iterable[object],
        *,
        max_concurrent: int = LARGEST_SHARD,
        within: float | None = None,
    ) -> list[CallResult]:
        """Return the result of each item in order, when all items have ended or their batch has stopped.

        Args:
            question: the question about every item.
            sources: items, or objects that `to_item` converts to items. Without sources, no batch is written.
            max_concurrent: most items in flight, within the workers' own limits. Items are sent in shards of this size,
                one shard after the other.
            within: longest wait in seconds. None: no limit.

        After a cancellation or a timeout, the workers finish the items. A batch that paused itself stays paused until a
        person resumes or cancels it.

        Raises:
            InvalidParameters: an item is invalid, or `max_concurrent` is below 1. Nothing is written.
            LedgerUnavailable: the ledger does not answer.
            WaitTimeout: the time is over; the message names the batch.
        """
        if isinstance(max_concurrent, bool) or not isinstance(max_concurrent, int) or max_concurrent < 1:
            raise InvalidParameters(f"max_concurrent: {max_concurrent!r} is not a whole number from 1")
        items = await _items(sources)
        if not items:
            return []
        return await self._here().batch(question, items, min(max_concurrent, LARGEST_SHARD), within)

    def close(self) -> None:
        """Close the connections; a later call connects again."""
        with self._lock:
            groups, self._groups = self._groups, {}
        for loop, group in groups.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(group.results.stop)

    def _here(self) -> CallGroups:
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._groups:
                self._groups = {other: group for other, group in self._groups.items() if not other.is_closed()}
                connect = partial(connect_without_transactions, self._settings.database, LISTENER)
                self._groups[loop] = CallGroups(self._submit, CallResults(connect))
            return self._groups[loop]

    async def _submit(self, question: CallQuestion, items: list[dict[str, Any]], at_once: int) -> UUID:
        batch = await asyncio.to_thread(
            self._submit_batch,
            question.operation,
            items,
            model=question.model,
            shard_size=at_once,
            window=1,
            steering=question.steering,
            use_cache=not question.fresh,
            service=question.service,
            api_key_id=question.api_key_id,
            idempotency_key=question.idempotency_key,
        )
        return UUID(batch.id)


async def _items(sources: Iterable[object]) -> list[dict[str, Any]]:
    """Return the sources as items (dicts of JSON values).

    Run this on the thread that made the sources, because a database session and its objects belong to one thread.
    """
    if isinstance(sources, str | bytes | dict) or not isinstance(sources, Iterable):
        raise InvalidParameters(f"items: a {type(sources).__name__}, not a list of items")
    items: list[dict[str, Any]] = []
    for index, source in enumerate(sources):
        items.append(to_item_at(index, source))
        if len(items) % CONVERTED_AT_ONCE == 0:
            await asyncio.sleep(0)
    return items
