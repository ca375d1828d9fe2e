"""The reader of single calls' results: each result is returned as soon as its item has ended.

Postgres notifies that items have ended. Polling finds results whose notification was lost.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from secrets import token_hex
from uuid import UUID

import psycopg
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import ItemStatus, LedgerUnavailable, WaitTimeout
from tamis_schemas.batches import wire

from ..ledger import (
    CallResult,
    Hindrance,
    connected,
    ledger_errors,
    read_call_results,
    read_hindrance,
)

CHANNELS = (wire.BATCHES_CHANNEL, wire.CALLS_CHANNEL)
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # s between two attempts to connect

# Seconds.
LOOK_ANYWAY = 1.0  # between two reads while notifications arrive: a lost connection may lose a notification
FIRST_LOOK = 0.02  # until the first read of a result without a notification
LOOKS_GROW = 0.1  # pause between two reads, as a share of the time waited so far
HINDERED_AFTER = 0.5  # without a result, before a pause or a missing worker is looked for
EACH_PENDING = 0.0002  # between two reads, times the pending items: items that end one by one share a read
LINGER = 30.0  # after the last result, until the connections are closed

log = logging.getLogger(__name__)


class Notifications:
    """A connection on one event loop that receives Postgres's notifications about ended items.

    Notifications only save time: results without a notification are read later. No notification passes a pooler that
    assigns connections by transaction.
    """

    def __init__(self, engine: AsyncEngine, on_event: Callable[[str, UUID], None]) -> None:
        """Prepare the connection, without opening it.

        `engine` must commit each statement by itself, and allow two connections at once. `on_event` is called with the
        channel and the batch's id.
        """
        self._engine = engine
        self._told = on_event
        self.heard = False  # True if the present connection has received this object's own test notification

    async def listen(self) -> None:
        """Listen until the task is cancelled. Replace a lost connection."""
        pause = FIRST_PAUSE
        while True:
            try:
                await self._listen()
            except (SQLAlchemyError, psycopg.Error, OSError) as error:
                log.debug("no notifications of batches arrive: %s", type(error).__name__)
            if self.heard:
                pause = FIRST_PAUSE
            self.heard = False
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, 2 * pause)

    async def _listen(self) -> None:
        token = token_hex(16)
        async with connected(self._engine) as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            assert isinstance(driver, psycopg.AsyncConnection)  # noqa: S101 - the ledger's driver
            try:
                for channel in CHANNELS:
                    await driver.execute(f"LISTEN {channel}")
                # Sent over another connection, because a pooler may return a connection's own notifications.
                async with connected(self._engine) as other:
                    await other.execute(select(func.pg_notify(wire.BATCHES_CHANNEL, token)))
                async for notification in driver.notifies():
                    if notification.payload == token:
                        self.heard = True
                    else:
                        self._tell(notification)
            finally:
                await connection.invalidate()  # otherwise the pool would reuse this listening connection

    def _tell(self, notification: psycopg.Notify) -> None:
        try:
            batch_id = UUID(notification.payload)
        except ValueError:
            return  # another process's token, or other text: any client may notify
        self._told(notification.channel, batch_id)


class FollowedBatch:
    """A batch with a future for each item's result. Cancelling a future does not affect the futures of other items."""

    def __init__(self, batch_id: UUID, places: Iterable[int], now: float) -> None:
        loop = asyncio.get_running_loop()
        self.id = batch_id
        self.results: dict[int, asyncio.Future[CallResult]] = {place: loop.create_future() for place in places}
        self.since = now  # by the loop's clock, as are the next fields
        self.due = now  # time of the next read: now, because the batch may have ended during its submission
        self.not_before = now
        self.ask_why = now + HINDERED_AFTER  # time to look for a pause or a missing worker
        self.told_to_wait = False  # True after the log line that no worker runs
        self.halted = False  # True if paused or cancelled; its last call may still be in flight

    @property
    def pending(self) -> list[int]:
        """The places (from 0) of the items without a result, in order."""
        return [place for place, result in self.results.items() if not result.done()]

    def end(self, results: dict[int, CallResult]) -> None:
        """Set the results of ended items. `results` has the item's place in the batch as key."""
        for place, result in results.items():
            if not self.results[place].done():
                self.results[place].set_result(result)

    def fail(self, error: Exception) -> None:
        """Set this error as the outcome of all pending items."""
        for result in self.results.values():
            if not result.done():
                result.set_exception(error)
                result.exception()  # for waiting callers; without any, it is not logged


class CallResults:
    """A reader of the results of single calls (questions about one item) on one event loop.

    While a batch is followed, and for 30 seconds afterwards, a task listens to notifications and reads results.
    """

    def __init__(self, connect: Callable[[], AsyncEngine]) -> None:
        """Prepare the reader, without a connection. `connect` makes an engine that commits each statement by itself."""
        self._connect = connect
        self._followed: list[FollowedBatch] = []
        self._wake = asyncio.Event()
        self._stopped = False
        self._task: asyncio.Task[None] | None = None
        self._engine: AsyncEngine | None = None
        self._notifications: Notifications | None = None
        self._clock = asyncio.get_running_loop().time

    def follow(self, batch_id: UUID, places: Iterable[int]) -> FollowedBatch:
        """Begin to wait for the results at these places of a batch, and return the batch with a future for each place.

        Each future gets the result of its item on arrival, or the error of a failed read.
        """
        batch = FollowedBatch(batch_id, places, self._clock())
        self._followed.append(batch)
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="results of single calls")
        self._wake.set()
        return batch

    async def waited_too_long(self, batch: FollowedBatch, within: float) -> WaitTimeout:
        """Return the error for a batch whose results take longer than `within` seconds.

        May raise `LedgerUnavailable`.
        """
        hindrance = await self._hindrance([batch.id])
        self._say_that_none_works(batch, hindrance)
        n = len(batch.results)
        done = f"{n - len(batch.pending)} of {n} items done after {within:g} s"
        return WaitTimeout(
            f"batch {batch.id}: {done}; it continues" + ("" if hindrance.live_workers else " once a worker runs")
        )

    def stop(self) -> None:
        """Stop following batches, and close the connections. Futures of pending items fail. Call this on the loop.

        The method wakes the reading task, and does not cancel it. An ending event loop also cancels the task, and a
        second cancellation would drop the task's connection.
        """
        self._stopped = True
        self._wake.set()

    async def _run(self) -> None:
        self._engine = self._connect()
        self._notifications = Notifications(self._engine, self._told)
        listening = asyncio.create_task(self._notifications.listen(), name="notifications of batches")
        try:
            while await self._something_is_due():
                await self._look()
        finally:
            self._task = None
            for batch in self._followed:
                batch.fail(LedgerUnavailable("the client was closed"))
            self._followed.clear()
            engine, self._engine = self._engine, None
            if not listening.cancelling():  # an ending loop has cancelled it already
                listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening
            await engine.dispose()

    def _told(self, channel: str, batch_id: UUID) -> None:
        for batch in self._followed:
            if batch.id != batch_id:
                continue
            if channel == wire.BATCHES_CHANNEL:
                batch.halted = True
                batch.ask_why = self._clock()
            batch.due = min(batch.due, max(self._clock(), batch.not_before))
            self._wake.set()

    async def _something_is_due(self) -> bool:
        """Wait until a batch is due for a read, and return True. Return False after `stop` or 30 idle seconds."""
        while not self._stopped:
            self._followed = [batch for batch in self._followed if batch.pending]
            until = min((batch.due for batch in self._followed), default=None)
            remaining = LINGER if until is None else until - self._clock()
            if until is not None and remaining <= 0:
                return True
            self._wake.clear()
            try:
                async with asyncio.timeout(remaining):
                    await self._wake.wait()
            except TimeoutError:
                if until is None and not self._followed:
                    return False
        return False

    async def _look(self) -> None:
        now = self._clock()
        due = [batch for batch in self._followed if batch.due <= now]
        for batch in due:
            batch.due = math.inf  # this read may miss later notifications
        try:
            await self._read(due)
        except LedgerUnavailable:
            try:  # over a new connection: the old one may have been lost while idle
                await self._read(due)
            except Exception as error:  # its callers get the error; the other batches are still followed
                for batch in due:
                    batch.fail(error)
        now = self._clock()
        for batch in due:
            batch.not_before = now + EACH_PENDING * len(batch.pending)
            batch.due = max(batch.not_before, min(batch.due, now + self._pause(batch, now)))

    def _pause(self, batch: FollowedBatch, now: float) -> float:
        if self._notifications is not None and self._notifications.heard and not batch.halted:
            return LOOK_ANYWAY
        return min(LOOK_ANYWAY, max(FIRST_LOOK, LOOKS_GROW * (now - batch.since)))

    async def _read(self, due: list[FollowedBatch]) -> None:
        assert self._engine is not None  # noqa: S101 - while it runs
        with ledger_errors():
            async with connected(self._engine) as connection:
                wanted = [(batch.id, place) for batch in due for place in batch.pending]
                results = await connection.run_sync(read_call_results, wanted)
        for batch in due:
            batch.end({place: results[batch.id, place] for place in batch.pending if (batch.id, place) in results})
        overdue = [batch for batch in due if batch.pending and batch.ask_why <= self._clock()]
        if overdue:
            self._say_why(overdue, await self._hindrance([batch.id for batch in overdue]))

    async def _hindrance(self, batch_ids: list[UUID]) -> Hindrance:
        engine = self._engine or self._connect()
        try:
            with ledger_errors():
                async with connected(engine) as connection:
                    return await connection.run_sync(read_hindrance, batch_ids)
        finally:
            if engine is not self._engine:
                await engine.dispose()

    def _say_why(self, batches: list[FollowedBatch], hindrance: Hindrance) -> None:
        for batch in batches:
            batch.ask_why = self._clock() + HINDERED_AFTER
            if (pause := hindrance.stuck.get(batch.id)) is not None:
                log.warning("batch %s is paused: %s. %s", batch.id, pause.reason, pause.remedy(str(batch.id)))
                batch.end({place: CallResult(ItemStatus.PENDING, pause=pause) for place in batch.pending})
            else:
                self._say_that_none_works(batch, hindrance)

    def _say_that_none_works(self, batch: FollowedBatch, hindrance: Hindrance) -> None:
        if hindrance.live_workers == 0 and not batch.told_to_wait:
            batch.told_to_wait = True
            log.warning("batch %s waits: no worker is running; start one with `tamis worker`", batch.id)
