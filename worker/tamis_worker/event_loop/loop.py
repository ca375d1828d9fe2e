"""The one event loop of a worker process, on a thread of its own; task bodies wait on it for their result.

Whatever a worker does again and again runs on it as a `Looper`; a mailbox takes items from it to another thread, or
to it.

Code outside a worker has no event loop. `synchronous` is its bridge to a coroutine: one loop of the process, on a
thread of its own. It is one loop for all calls, because an asynchronous client keeps its connections to the loop on
which it was first used.
"""

import asyncio
import logging
import os
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, wraps
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar

from tamis_schemas import TamisError

log = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")

_starting = Lock()

try:
    import uvloop
except ImportError:  # it does not exist on Windows
    _new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
else:
    _new_event_loop = uvloop.new_event_loop

CANCEL_AGAIN = 1.0  # s; time enough for a transaction to be rolled back
WAKEUPS = 4096  # read from a mailbox's socket at once; each is one byte


async def end_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and return when all have ended; what they raise is left in them.

    A cancellation may be lost: `asyncio.wait_for`, by which redis-py writes, swallows one that comes in the moment of
    its result, before Python 3.12. So a task that goes on is cancelled again.
    """
    left: Collection[asyncio.Task[Any]] = [task for task in tasks if not task.done()]
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=CANCEL_AGAIN)


class LoopThread:
    """An event loop that runs from `start` to `stop`."""

    def __init__(self) -> None:
        self._loop = _new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tamis loop", daemon=True)

    def start(self) -> None:
        """Run the loop on its thread."""
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """True on the loop's own thread, where nothing may wait for the loop."""
        return threading.current_thread() is self._thread

    def run(self, coroutine: Coroutine[Any, Any, T], *, within: float | None = None) -> T:
        """The result of a coroutine run on the loop; called from any other thread. Raises what it raises.

        Raises `TimeoutError` where it is not there within so many seconds. A wait that ends before the coroutine
        cancels it.
        """
        future = self.submit(coroutine)
        try:
            return future.result(within)
        finally:
            future.cancel()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """A future for the result of a coroutine run on the loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Have the loop call something; callable from any thread."""
        self._loop.call_soon_threadsafe(callback)

    def stop(self) -> None:
        """Cancel what still runs and end the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(end_tasks(*asyncio.all_tasks(self._loop)))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()


async def wait_within(event: asyncio.Event, seconds: float | None) -> None:
    """Return once an event is set, or the time is over; with None, it never is."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class BackgroundTasks:
    """Tasks that are begun under a name and ended together."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any]] = []

    def start(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine until `end`; on the loop."""
        self._tasks.append(asyncio.create_task(coroutine, name=name))

    @property
    def ended(self) -> list[str]:
        """The names of those that ended by themselves; may be asked from any thread."""
        return [task.get_name() for task in self._tasks if task.done()]

    async def end(self) -> None:
        """Cancel all of them, and return when they have ended."""
        await end_tasks(*self._tasks)


def synchronous(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The coroutine function as a plain one that waits for its result: parameters, result and errors are the same.

    Its name is without "_async". It may be called on any thread; where a loop runs on that thread, it stands still
    meanwhile. A wait that is interrupted cancels what it waited for.

    Raises `RuntimeError` on the bridge's own thread, where it would wait for itself.
    """

    @wraps(function)
    def waiting(*args: P.args, **kwargs: P.kwargs) -> T:
        loop = _loop()
        if loop.is_here:
            raise RuntimeError(f"{waiting.__name__} would wait for itself here: await {function.__name__}")
        return loop.run(function(*args, **kwargs))

    waiting.__name__ = function.__name__.removesuffix("_async")
    waiting.__qualname__ = function.__qualname__.removesuffix("_async")
    return waiting


def _loop() -> LoopThread:
    with _starting:
        return _loop_of(os.getpid())


@cache
def _loop_of(_: int) -> LoopThread:
    """The loop of one process: a fork takes no thread along."""
    loop = LoopThread()
    loop.start()
    return loop


@dataclass(frozen=True)
class Looper:
    """Runs a step every `interval` seconds; a step that fails is tried again after the next interval.

    An outage is in the log once, until a step works or meets another one.
    """

    name: str  # of the step, in the log
    step: Callable[[], Awaitable[float | None]]  # returns the seconds to the next step; None: the interval
    interval: float

    async def run(self) -> None:
        """Run until cancelled."""
        pause, met = self.interval, ""
        while True:
            await asyncio.sleep(pause)
            pause, before, met = self.interval, met, ""
            try:
                pause = await self.step() or self.interval
            except TamisError as error:  # a server is away, or a file cannot be written
                met = str(error)
                if met != before:
                    log.warning("%s put off: %s", self.name, error)
            except Exception:  # the worker goes on either way
                log.exception("%s failed", self.name)


class Mailbox(Generic[T]):
    """Items put in by one thread, taken out by another, which is woken once until it has come."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._items: deque[T] = deque()
        self._awake = False

    def put(self, item: T) -> None:
        """Put an item in."""
        self._items.append(item)
        if not self._awake:
            self._awake = True
            self._wake()

    def take(self) -> list[T]:
        """Take out everything that is in, in order."""
        self._awake = False  # first: what is put in from now on wakes again
        taken = []
        while self._items:
            taken.append(self._items.popleft())
        return taken


class ThreadMailbox(Mailbox[T]):
    """A mailbox that wakes by a socket, so that an event loop can wait for it."""

    def __init__(self) -> None:
        self._wakeup_reader, self._wakeup_writer = socket.socketpair()
        self._wakeup_reader.setblocking(False)
        self._wakeup_writer.setblocking(False)
        super().__init__(lambda: self._wakeup_writer.send(b"\0"))

    def fileno(self) -> int:
        """The descriptor that is readable while something is in."""
        return self._wakeup_reader.fileno()

    def take(self) -> list[T]:
        """Take out everything that is in, in order; nothing is readable afterwards."""
        with suppress(BlockingIOError):
            self._wakeup_reader.recv(WAKEUPS)
        return super().take()

    def wait(self, within: float) -> None:
        """Return once something is in, or the time (seconds) is over."""
        self._wakeup_reader.settimeout(within)
        with suppress(TimeoutError):
            self._wakeup_reader.recv(1)
        self._wakeup_reader.setblocking(False)

    def close(self) -> None:
        """Give the socket back."""
        self._wakeup_reader.close()
        self._wakeup_writer.close()
