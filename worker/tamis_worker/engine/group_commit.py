"""Group commit: many small writes become one statement.

Each caller waits for the reply to its entry. While a group is written, new entries gather for the next group.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Generic, TypeVar

from tamis_schemas import LedgerUnavailable
from tamis_schemas.ledger.outages import LedgerConflict

from ..event_loop.loop import end_tasks
from ..telemetry.measures import NULL_MEASURES, Measures
from .backpressure import Backpressure, RequiredServer

Entry = TypeVar("Entry")
Reply = TypeVar("Reply")

LARGEST_GROUP = 200
GATHER = 0.002  # s; callers that wake together share a group
GATHER_BUSY = 0.04  # s; while entries arrive steadily: a statement for many costs hardly more than for one
BUSY = 0.02  # s between two entries, on average
QUIET = 0.04  # s between two entries, on average: no other is expected, and a caller may be waiting
SMOOTHING = 0.1  # weight of the last interval in the average
LONGEST_PAUSE = 2.0  # s between two tries while the ledger is unavailable
SLOW = 5.0  # s; a slower group shows that the ledger is overloaded or does not answer

log = logging.getLogger(__name__)


@dataclass
class _Waiting(Generic[Entry, Reply]):
    entry: Entry
    reply: asyncio.Future[Reply]


@dataclass(eq=False)
class GroupCommit(Generic[Entry, Reply]):
    """A writer to the ledger that gathers entries, and writes them together in one background task.

    While the ledger is unavailable, entries wait, so a paid answer is never dropped. The writer reports failures and
    successes to `backpressure`. If the ledger rejects an entry, the other entries of its group are still written.

    `gather_busy`: seconds to wait for further entries while entries arrive steadily. `slow`: seconds after which an
    unfinished write shows that the ledger is overloaded. Properties may be read from any thread.
    """

    name: str  # names the kind of entries in messages and metrics
    write: Callable[[Sequence[Entry]], Awaitable[Sequence[Reply]]]
    _: KW_ONLY
    backpressure: Backpressure = field(default_factory=Backpressure)
    measures: Measures = NULL_MEASURES
    gather_busy: float = GATHER_BUSY
    slow: float = SLOW

    def __post_init__(self) -> None:
        self._queue: asyncio.Queue[_Waiting[Entry, Reply]] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._last = 0.0  # time of the last entry
        self._interval = 1.0  # s between two entries, on average
        self._began: float | None = None  # time of the current try to write

    async def start(self) -> None:
        """Start the background task that writes the entries."""
        self._task = asyncio.create_task(self._run(), name=f"group commit of {self.name}")

    async def submit(self, entry: Entry) -> Reply:
        """Write an entry, wait for the commit, and return the reply. Raise the ledger's error for a rejected entry."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._interval += SMOOTHING * (min(1.0, now - self._last) - self._interval)
        self._last = now
        waiting: _Waiting[Entry, Reply] = _Waiting(entry, loop.create_future())
        self._queue.put_nowait(waiting)
        return await waiting.reply

    @property
    def ended(self) -> bool:
        """True if the writer was started and its task has ended."""
        return self._task is not None and self._task.done()

    @property
    def writing(self) -> float:
        """The duration of the current attempt to write, in seconds. Between two attempts it is 0."""
        began = self._began
        return 0.0 if began is None else time.monotonic() - began

    async def close(self) -> None:
        """Stop writing, and cancel the callers that wait for a reply."""
        if self._task is not None:
            await end_tasks(self._task)
        while not self._queue.empty():
            self._queue.get_nowait().reply.cancel()

    async def _run(self) -> None:
        while True:
            group = [await self._queue.get()]
            await asyncio.sleep(gathering(self._interval, self.gather_busy))
            while len(group) < LARGEST_GROUP and not self._queue.empty():
                group.append(self._queue.get_nowait())
            try:
                await self._commit(group)
            except asyncio.CancelledError:
                for waiting in group:
                    waiting.reply.cancel()
                raise

    async def _commit(self, group: list[_Waiting[Entry, Reply]]) -> None:
        pause = 0.05
        while True:
            self._began = time.monotonic()
            try:
                replies = await self._write_noticing_delay(group)
            except LedgerConflict as error:
                self._began = None
                log.debug("%s: %d are written again: %s", self.name, len(group), error)
                await asyncio.sleep(pause)
            except LedgerUnavailable as error:
                self._began = None
                self.backpressure.failed(RequiredServer.LEDGER, self.name, error)
                log.debug("%s: %d wait until the ledger works again: %s", self.name, len(group), error)
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE, pause * 2)
            except Exception as error:  # the ledger rejects an entry: halve the group to find the entry
                self.backpressure.worked(RequiredServer.LEDGER, self.name)
                if len(group) > 1:
                    middle = len(group) // 2
                    await self._commit(group[:middle])
                    await self._commit(group[middle:])
                else:
                    _answer(group[0], error)
                return
            else:
                if self.writing < self.slow or self._queue.empty():  # slow, and more to write: trouble continues
                    self.backpressure.worked(RequiredServer.LEDGER, self.name)
                self.measures.wrote(self.name, len(group))
                for waiting, reply in zip(group, replies, strict=True):
                    if not waiting.reply.done():
                        waiting.reply.set_result(reply)
                return
            finally:
                self._began = None

    async def _write_noticing_delay(self, group: Sequence[_Waiting[Entry, Reply]]) -> Sequence[Reply]:
        delay = f"{self.name} wait for Postgres for more than {self.slow:g} s"
        late = asyncio.get_running_loop().call_later(
            self.slow, self.backpressure.failed, RequiredServer.LEDGER, self.name, delay
        )
        try:
            return await self.write([waiting.entry for waiting in group])
        finally:
            late.cancel()


def gathering(interval: float, busy: float = GATHER_BUSY) -> float:
    """Return the seconds to wait for further entries before a write, if an entry comes every `interval` seconds.

    If entries arrive steadily, return `busy`.
    """
    if interval >= QUIET:
        return 0.0
    return busy if interval < BUSY else GATHER


def _answer(waiting: _Waiting[Entry, Reply], error: Exception) -> None:
    if not waiting.reply.done():
        waiting.reply.set_exception(error)
