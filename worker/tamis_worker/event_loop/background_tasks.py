"""The tasks that run on the loop for as long as the process does."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from .loop import end_tasks


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
