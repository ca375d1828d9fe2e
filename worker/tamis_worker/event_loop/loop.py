"""The one event loop of a worker process, on a thread of its own; task bodies wait on it for their result."""

import asyncio
import threading
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

try:
    import uvloop
except ImportError:  # it does not exist on Windows
    _new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
else:
    _new_event_loop = uvloop.new_event_loop

T = TypeVar("T")

CANCEL_AGAIN = 1.0  # s; time enough for a transaction to be rolled back


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

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine run on the loop; called from any other thread. Raises what it raises."""
        return self.submit(coroutine).result()

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
