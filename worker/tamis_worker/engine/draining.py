"""Draining: a worker that stops lets calls in flight finish, and gives back what still waits for its turn."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Drained(Exception):
    """The wait was ended because the worker stops; nothing was asked meanwhile."""


class Draining:
    """Begins once. Used on the worker's loop only."""

    def __init__(self) -> None:
        self._begun = False
        self._waiting: set[asyncio.Task[Any]] = set()

    def begin(self) -> None:
        """End every interruptible wait, those to come too."""
        self._begun = True
        for task in self._waiting:
            task.cancel()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Around a wait that a draining worker does not sit out: it ends with `Drained`."""
        if self._begun:
            raise Drained
        task = asyncio.current_task()
        assert task is not None, "a coroutine on a loop runs in a task"  # noqa: S101 - a fact of asyncio
        self._waiting.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if self._begun and task.uncancel() == 0:
                raise Drained from None
            raise  # somebody else cancelled it: the loop ends
        finally:
            self._waiting.discard(task)
