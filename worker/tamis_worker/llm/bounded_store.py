"""The store of dialects as one process reaches it: one that is away, hangs or fails holds nothing up."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from tamis_schemas import LedgerUnavailable

from .dialect_store import DialectStore, Leased
from .rung_state import RungState

STORE_WITHIN = 5.0  # s; a store that takes longer counts as away
CLOSED_WITHIN = 2.0  # s

T = TypeVar("T")

log = logging.getLogger(__name__)


class BoundedStore:
    """A store whose statements are waited for a few seconds; to cancel the wait does not cut a statement off."""

    def __init__(self, store: DialectStore) -> None:
        self._store = store
        self._statements: set[asyncio.Task[Any]] = set()
        self._closing = False

    async def close(self) -> None:
        """Let what is being written end, if it ends soon: whoever waits for a lease would wait for all of it."""
        if self._statements:
            await asyncio.wait(self._statements, timeout=CLOSED_WITHIN)
        self._closing = True
        for task in self._statements:
            task.cancel()
        await asyncio.gather(*self._statements, return_exceptions=True)

    async def look(self, model: str) -> RungState | None:
        """The state of a model; None: the store has none, or is away."""
        return await self._result(self.start(self._store.look(model)))

    async def lease(self, model: str, holder: str) -> Leased | None:
        """Ask for the lease; None: the store is away. A wait that is cancelled leaves no lease behind."""
        asking = self.start(self._store.lease(model, holder))
        try:
            return await self._result(asking)
        except asyncio.CancelledError:
            if not self._closing:
                self.start(self._release_after(asking, model, holder))
            raise

    async def exchange(self, model: str, seen: RungState, then: RungState) -> RungState:
        """Put `then` in the place of what was seen; return what is there now, which is `then` if the store is away."""
        return await self._result(self.start(self._store.exchange(model, seen, then))) or then

    def release(self, model: str, holder: str) -> "asyncio.Task[None]":
        """Begin to give a lease up."""
        return self.start(self._store.release(model, holder))

    def start(self, statement: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Begin a statement, or several; `close` waits for them."""
        task = asyncio.create_task(statement)
        self._statements.add(task)
        task.add_done_callback(self._ended)
        return task

    async def _release_after(self, asking: "asyncio.Task[Leased]", model: str, holder: str) -> None:
        await asyncio.wait({asking})
        await self._store.release(model, holder)

    async def _result(self, task: "asyncio.Task[T]") -> T | None:
        done, _ = await asyncio.wait({task}, timeout=STORE_WITHIN)
        if not done:
            log.debug("the dialects' store does not answer within %.0f s", STORE_WITHIN)
            return None
        try:
            return task.result()
        except LedgerUnavailable as error:
            log.debug("the dialects' store is away: %s", error)
        except Exception:  # how to ask best is worth no item: the process goes on with what it knows
            log.warning("what is known of dialects could not be read or written", exc_info=True)
        return None

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._statements.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("a statement about dialects failed: %s", error)
