"""Single calls: simultaneous calls of a process share a batch, and each caller gets its own answer."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Lock
from typing import Any, Protocol
from uuid import UUID

from tamis_schemas import NO_STEERING, InvalidParameters, Operation, Steering
from tamis_schemas.batches import wire
from tamis_schemas.ledger.outages import LedgerConflict

from ..config.settings import ProducerSettings
from ..ledger import CallResult
from ..ledger.connection import connect_without_transactions
from ..ledger.pool_kinds import LISTENER
from ..submission.bounds import SubmissionBounds
from ..submission.item_conversion import to_item_at
from ..submission.new_batch import NewItem, rows_of
from .call_results import CallResults, FollowedBatch

LARGEST_SHARD = 5000  # items, as for TAMIS_SHARD_SIZE: a chord holds all of its messages in Redis
CONVERTED_AT_ONCE = 200  # items, after which other coroutines have their turn
GATHER = 0.01  # s without a further call, after which the calls that came together become a batch
LONGEST_GATHER = 0.05  # s after the first of these calls

Submit = Callable[["CallQuestion", Sequence[dict[str, Any] | NewItem], int], Awaitable[UUID]]
Find = Callable[[UUID], Awaitable[tuple[UUID, int] | None]]


@dataclass(frozen=True)
class CallQuestion:
    """A question about an item, with the model and other options. Calls with equal questions may share a batch."""

    operation: Operation
    service: str  # service that calls, as the ledger shows it
    model: str | None = None  # None: the model of the settings, else the workers' model
    steering: Steering = NO_STEERING
    fresh: bool = False  # ignore cached answers
    api_key_id: str | None = None

    @cached_property
    def key(self) -> Hashable:
        """A key that is equal for calls that may share a batch."""
        operation, steering = self.operation.model_dump_json(), self.steering.model_dump_json()
        return (operation, self.service, self.model, steering, self.fresh, self.api_key_id)


class CallGroups:
    """The calls of one event loop, grouped into batches.

    The first call of a question starts at once, in a separate batch. While that call is under way, further calls of the
    same question that come within `GATHER` of each other share a batch.
    """

    def __init__(self, submit: Submit, find: Find, results: CallResults) -> None:
        """Prepare the groups.

        `submit(question, items, at_once)` writes and dispatches a batch, with at most `at_once` items in flight.
        `find(call_id)` returns the batch and the place of a call's item, or None.
        """
        self.results = results
        self._submit = submit
        self._find = find
        # The items of calls that become one batch.
        self._open: dict[Hashable, tuple[list[NewItem], asyncio.Task[FollowedBatch]]] = {}
        self._under_way: Counter[Hashable] = Counter()

    async def call(self, question: CallQuestion, item: NewItem, within: float | None) -> CallResult:
        """Return the result of one item. If the item's call is in the ledger already, return the result of that call.

        Raises the errors of `submit`, and `WaitTimeout` after `within` seconds (None: no limit).
        """
        key = question.key
        self._under_way[key] += 1
        try:
            items, submitted = self._joined(question, key)
            items.append(item)
            place = len(items) - 1
            # Shielded, because other calls share the batch, and its submission must finish.
            try:
                batch = await asyncio.shield(submitted)
            except LedgerConflict:  # this call, or another call of the batch, is in the ledger already
                if item.call_id is None:
                    raise
                batch, place = await self._alone(question, item, item.call_id)
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
        return await self._results(batch, [*batch.results.values()], within)

    async def _alone(
        self, question: CallQuestion, item: NewItem, call_id: UUID, tries: int = 2
    ) -> tuple[FollowedBatch, int]:
        """Return the batch with the item's earlier call and the item's place. Without such a call, submit the item."""
        if (earlier := await self._find(call_id)) is not None:
            return self.results.follow(earlier[0], [earlier[1]]), earlier[1]
        try:
            return await self._submitted(question, [item], 1), 0
        except LedgerConflict:  # the call's other message came first, or its batch is being purged
            if tries == 1:
                raise
            return await self._alone(question, item, call_id, tries - 1)

    def _joined(self, question: CallQuestion, key: Hashable) -> tuple[list[NewItem], asyncio.Task[FollowedBatch]]:
        gathered = self._open.get(key)
        if gathered is not None and len(gathered[0]) < wire.SMALL:
            return gathered
        items: list[NewItem] = []
        waits = self._under_way[key] > 1
        submitted = asyncio.create_task(self._go(question, key, items, waits=waits))
        submitted.add_done_callback(lambda task: task.cancelled() or task.exception())  # its callers may be gone
        if waits:
            self._open[key] = (items, submitted)
        return items, submitted

    async def _go(self, question: CallQuestion, key: Hashable, items: list[NewItem], *, waits: bool) -> FollowedBatch:
        if waits:
            joined, until = -1, time.monotonic() + LONGEST_GATHER
            while joined < len(items) < wire.SMALL and time.monotonic() < until:
                joined = len(items)
                await asyncio.sleep(GATHER)
            if key in self._open and self._open[key][0] is items:
                del self._open[key]
        return await self._submitted(question, items, len(items))

    async def _submitted(
        self, question: CallQuestion, items: Sequence[dict[str, Any] | NewItem], at_once: int
    ) -> FollowedBatch:
        return self.results.follow(await self._submit(question, items, at_once), range(len(items)))

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

    def __init__(
        self,
        settings: ProducerSettings,
        submit: Callable[..., SubmittedBatch],
        find: Callable[[UUID], tuple[UUID, int] | None],
    ) -> None:
        """Prepare the calls, without a connection.

        `submit` submits a batch as `Client.submit` does. `find` finds a call as `find_call` does.
        """
        self._settings = settings
        self._submit_batch = submit
        self._find_call = find
        self._groups: dict[asyncio.AbstractEventLoop, CallGroups] = {}
        self._lock = Lock()

    async def ask(
        self, question: CallQuestion, source: object, *, within: float | None = None, call_id: UUID | None = None
    ) -> CallResult:
        """Return the result of one item. `source`: the item, or an object that `to_item` converts to an item.

        Simultaneous calls may share a batch. `within`: longest wait in seconds; None: no limit. A call with the same
        `call_id` as an earlier call returns the result of the earlier call. Raises `InvalidParameters` for an invalid
        item, `WaitTimeout` when the time is over, and `LedgerUnavailable`.
        """
        (item,) = await _items([source])
        with rows_of([item], bounds=SubmissionBounds.of(self._settings), operations=[question.operation]) as rows:
            (row,) = rows  # it can be submitted, so it may share a batch
        return await self._here().call(question, replace(row, call_id=call_id), within)

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
                self._groups[loop] = CallGroups(self._submit, self._find, CallResults(connect))
            return self._groups[loop]

    async def _find(self, call_id: UUID) -> tuple[UUID, int] | None:
        return await asyncio.to_thread(self._find_call, call_id)

    async def _submit(self, question: CallQuestion, items: Sequence[dict[str, Any] | NewItem], at_once: int) -> UUID:
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
