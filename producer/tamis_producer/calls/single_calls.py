"""Single calls: what many callers of a process ask at the same time goes together, and each gets its own answer."""

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
from ..submission.item_conversion import to_item
from ..submission.new_batch import rows_of
from .call_results import CallResults, FollowedBatch

LARGEST_SHARD = 5000  # items, as for TAMIS_SHARD_SIZE: a chord holds all of its messages in Redis
CONVERTED_AT_ONCE = 200  # items; then other coroutines have their turn
GATHER = 0.005  # s for others to join, while a call of the same question is under way
MOST_TOGETHER = 100  # calls in one batch; the next one begins another

Submit = Callable[["CallQuestion", list[dict[str, Any]], int], Awaitable[UUID]]


@dataclass(frozen=True)
class CallQuestion:
    """A question about an item, and its terms; equal ones may share a batch."""

    operation: Operation
    service: str  # whose call it is, as the ledger shows it
    model: str | None = None  # None: the one of the settings, else the workers' own
    steering: Steering = NO_STEERING
    fresh: bool = False  # past the answers that are kept
    api_key_id: str | None = None
    idempotency_key: str | None = None  # of the one call that it is for, which shares its batch with no other

    @cached_property
    def key(self) -> Hashable:
        """Equal for what may share a batch."""
        operation, steering = self.operation.model_dump_json(), self.steering.model_dump_json()
        return (operation, self.service, self.model, steering, self.fresh, self.api_key_id, self.idempotency_key)


class CallGroups:
    """The calls of one event loop: the first goes at once, those that come while it is under way go together."""

    def __init__(self, submit: Submit, results: CallResults) -> None:
        """`submit` writes and dispatches a batch: question, items, items in flight at most."""
        self.results = results
        self._submit = submit
        # The items of calls that become one batch.
        self._open: dict[Hashable, tuple[list[dict[str, Any]], asyncio.Task[FollowedBatch]]] = {}
        self._under_way: Counter[Hashable] = Counter()

    async def call(self, question: CallQuestion, item: dict[str, Any], within: float | None) -> CallResult:
        """Return the result of one item; raises what submitting raises, and `WaitTimeout`."""
        key = question.key
        self._under_way[key] += 1
        try:
            items, submitted = self._joined(question, key)
            items.append(item)
            place = len(items) - 1
            # Shielded: others wait for the same, and a batch that is being written is written.
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
        """Return the result of each item, in order, from a batch of their own; raises as `call`."""
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
            _, late = await asyncio.wait(results, timeout=within)
            if late:
                assert within is not None  # noqa: S101 - else it would still wait
                raise await self.results.waited_too_long(batch, within)
        finally:
            for result in results:
                result.cancel()  # of those that nobody waits for any more
        return [result.result() for result in results]


class SubmittedBatch(Protocol):
    """A batch that was submitted, as far as single calls need it."""

    @property
    def id(self) -> str:
        """The batch's id, a UUID as text."""


class SingleCalls:
    """The single calls of one client; may be used in any thread and any event loop."""

    def __init__(self, settings: ProducerSettings, submit: Callable[..., SubmittedBatch]) -> None:
        """`submit` submits a batch as `Client.submit` does."""
        self._settings = settings
        self._submit_batch = submit
        self._groups: dict[asyncio.AbstractEventLoop, CallGroups] = {}
        self._lock = Lock()

    async def ask(self, question: CallQuestion, source: object, *, within: float | None = None) -> CallResult:
        """Return the result of one item, or of an object for `to_item`; as `ask_all`, which may share its batch."""
        (item,) = await _items([source])
        with rows_of([item], bounds=SubmissionBounds.of(self._settings), operations=[question.operation]):
            pass  # it is one that may be submitted, and so together with others
        return await self._here().call(question, item, within)

    async def ask_all(
        self,
        question: CallQuestion,
        sources: Iterable[object],
        *,
        max_concurrent: int = LARGEST_SHARD,
        within: float | None = None,
    ) -> list[CallResult]:
        """Return the result of each item in order, once all have ended, or their batch cannot go on. No source: [].

        Args:
            question: what to ask of every item.
            sources: items, or what `to_item` makes items of.
            max_concurrent: items in flight at most; the workers' own limits hold as well. One shard of so many items is
                in flight at a time, and the next one starts when its last item is done.
            within: seconds to wait at most; None waits as long as it takes.

        A call that is cancelled, or waits too long, leaves its items to the workers. A batch that was paused because it
        could not go on stays paused, to be resumed or cancelled by whoever puts the reason right.

        Raises:
            InvalidParameters: an item that cannot be one, or `max_concurrent` below 1. Nothing is written.
            LedgerUnavailable: the ledger does not answer.
            WaitTimeout: it took longer than that; the message names the batch.
        """
        if isinstance(max_concurrent, bool) or not isinstance(max_concurrent, int) or max_concurrent < 1:
            raise InvalidParameters(f"max_concurrent: {max_concurrent!r} is no whole number from 1")
        items = await _items(sources)
        if not items:
            return []
        return await self._here().batch(question, items, min(max_concurrent, LARGEST_SHARD), within)

    def close(self) -> None:
        """Give the connections back; a later call connects anew."""
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
