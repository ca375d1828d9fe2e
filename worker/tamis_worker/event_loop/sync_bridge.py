"""The bridge on which code without an event loop reaches a coroutine: one loop of the process, on a thread of its own.

One loop for all calls, because an asynchronous client keeps its connections to the loop on which it was first used.
"""

import os
from collections.abc import Callable, Coroutine
from functools import cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from .loop import LoopThread

P = ParamSpec("P")
T = TypeVar("T")

_starting = Lock()


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
        future = loop.submit(function(*args, **kwargs))
        try:
            return future.result()
        finally:
            future.cancel()

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
