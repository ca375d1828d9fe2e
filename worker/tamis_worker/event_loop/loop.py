"""The one event loop of a worker process, on its own thread. Bodies of Celery tasks wait for results from the loop.

A worker's repeated work runs on the loop as a `Looper`. A mailbox passes items between the loop and another thread.

Synchronous code outside a worker calls coroutines through `synchronous`, which uses one loop on its own thread. All
calls of the process share this loop, because an asynchronous client binds its connections to one loop.
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

CANCEL_AGAIN = 1.0  # s; enough to roll back a transaction
WAKEUPS = 4096  # bytes read from a mailbox's socket at once; each is one wake-up


async def end_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and wait until all have ended. Their exceptions are not raised.

    A task that continues is cancelled again, because `asyncio.wait_for` may swallow a cancellation before Python 3.12.
    """
    left: Collection[asyncio.Task[Any]] = [task for task in tasks if not task.done()]
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=CANCEL_AGAIN)


class LoopThread:
    """An event loop on its own thread, which runs from `start` to `stop`."""

    def __init__(self) -> None:
        self._loop = _new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tamis loop", daemon=True)

    def start(self) -> None:
        """Run the loop on its thread."""
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """True if the caller runs on the loop's own thread, which must not wait for the loop."""
        return threading.current_thread() is self._thread

    def run(self, coroutine: Coroutine[Any, Any, T], *, within: float | None = None) -> T:
        """Run a coroutine on the loop from another thread, and return the coroutine's result or raise its exception.

        Raise `TimeoutError` after `within` seconds. If the wait ends before the coroutine, the coroutine is cancelled.
        """
        future = self.submit(coroutine)
        try:
            return future.result(within)
        finally:
            future.cancel()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop, and return a future for the result. Any thread may call this method."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Make the loop call a function. Any thread may call this method."""
        self._loop.call_soon_threadsafe(callback)

    def stop(self) -> None:
        """Cancel the running tasks, and end the loop's thread."""
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
    """Wait until an event is set, for at most `seconds`. If `seconds` is None, wait without a limit."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class BackgroundTasks:
    """Named tasks that run until `end` cancels them."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any]] = []

    def start(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine as a task until `end`. Call this method on the loop."""
        self._tasks.append(asyncio.create_task(coroutine, name=name))

    @property
    def ended(self) -> list[str]:
        """The names of tasks that ended by themselves. The list may be read from any thread."""
        return [task.get_name() for task in self._tasks if task.done()]

    async def end(self) -> None:
        """Cancel all tasks, and wait until they have ended."""
        await end_tasks(*self._tasks)


def synchronous(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Return a plain function that calls a coroutine function, and waits for the result.

    The plain function has the same parameters, result and errors. Its name lacks the ending "_async". If the wait is
    interrupted, the coroutine is cancelled. If the plain function is called on the thread of the event loop, it raises
    `RuntimeError`.
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
    """Return the loop that runs coroutines for this process.

    A forked process gets a new loop, because a fork copies no threads.
    """
    loop = LoopThread()
    loop.start()
    return loop


@dataclass(frozen=True)
class Looper:
    """A task that repeats a step every `interval` seconds. A failed step is repeated after the next interval.

    If successive steps fail with the same `TamisError`, only the first failure is logged.
    """

    name: str  # the step's name in the log
    step: Callable[[], Awaitable[float | None]]  # returns the seconds until the next step; None: `interval`
    interval: float

    async def run(self) -> None:
        """Repeat the step until this coroutine is cancelled."""
        pause, met = self.interval, ""
        while True:
            await asyncio.sleep(pause)
            pause, before, met = self.interval, met, ""
            try:
                pause = await self.step() or self.interval
            except TamisError as error:  # a server is unreachable, or a file cannot be written
                met = str(error)
                if met != before:
                    log.warning("%s postponed: %s", self.name, error)
            except Exception:  # the worker continues in any case
                log.exception("%s failed", self.name)


class Mailbox(Generic[T]):
    """A queue from one thread to another. `wake` is called for the first item after each `take`."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._items: deque[T] = deque()
        self._awake = False

    def put(self, item: T) -> None:
        """Add an item."""
        self._items.append(item)
        if not self._awake:
            self._awake = True
            self._wake()

    def take(self) -> list[T]:
        """Remove and return all items, in order."""
        self._awake = False  # first, so that items from now on wake again
        taken = []
        while self._items:
            taken.append(self._items.popleft())
        return taken


class ThreadMailbox(Mailbox[T]):
    """A mailbox that signals its items through a socket, so that an event loop can wait for items."""

    def __init__(self) -> None:
        self._wakeup_reader, self._wakeup_writer = socket.socketpair()
        self._wakeup_reader.setblocking(False)
        self._wakeup_writer.setblocking(False)
        super().__init__(lambda: self._wakeup_writer.send(b"\0"))

    def fileno(self) -> int:
        """Return the socket's file descriptor, which is readable while there are items."""
        return self._wakeup_reader.fileno()

    def take(self) -> list[T]:
        """Remove and return all items, in order. Afterwards the descriptor is not readable."""
        with suppress(BlockingIOError):
            self._wakeup_reader.recv(WAKEUPS)
        return super().take()

    def wait(self, within: float) -> None:
        """Wait until an item is added, but at most `within` seconds."""
        self._wakeup_reader.settimeout(within)
        with suppress(TimeoutError):
            self._wakeup_reader.recv(1)
        self._wakeup_reader.setblocking(False)

    def close(self) -> None:
        """Close the socket."""
        self._wakeup_reader.close()
        self._wakeup_writer.close()
