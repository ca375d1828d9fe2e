"""A client on an event loop, as seen from the inside: code that is written for a thread, run in greenlets."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, ParamSpec, TypeVar
from uuid import UUID
from weakref import WeakSet

import psycopg
from sqlalchemy import Engine, event
from sqlalchemy.util import await_only, greenlet_spawn

from ..config.settings import ProducerSettings
from ..ledger import connect_on_loop
from ..process.forks import begin_anew_after_a_fork
from ..process.waiting import BesideLoop, OnLoop
from .client import Client

THREADS = 4  # that publish, or compute for long; more calls take turns

P = ParamSpec("P")
T = TypeVar("T")


class LoopClient(Client):
    """A client whose engine belongs to one event loop; its methods are to be called in a greenlet."""

    def __init__(self, bridge: "Bridge") -> None:
        super().__init__(bridge.blocking.settings)
        self.waiting = OnLoop()
        self._bridge = bridge
        self._drivers: WeakSet[psycopg.AsyncConnection[Any]] = WeakSet()
        event.listen(self.engine, "connect", lambda dbapi, _: self._drivers.add(dbapi.driver_connection))

    def dispatch(self, batch_id: UUID) -> None:
        """Do as `Client.dispatch`, on a thread: publishing blocks."""
        await_only(self._bridge.on_thread(self._bridge.blocking.dispatch, batch_id))

    def request_summary(self, batch_id: UUID) -> None:
        """Do as `Client.request_summary`, on a thread: publishing blocks."""
        await_only(self._bridge.on_thread(self._bridge.blocking.request_summary, batch_id))

    def abandon(self) -> None:
        """Hang up without the loop, which is closed."""
        for driver in self._drivers:
            driver.pgconn.finish()

    def _connect(self) -> Engine:
        self.async_engine = connect_on_loop(self.settings.database, self._pool)
        return self.async_engine.sync_engine


class Bridge:
    """Runs what is written for a thread: on the caller's event loop, or on one of a few threads."""

    _threads: ThreadPoolExecutor

    def __init__(self, settings: ProducerSettings | None) -> None:
        self.blocking = Client(settings)
        self.blocking.waiting = BesideLoop()
        self._begin()
        begin_anew_after_a_fork(self)

    def here(self) -> LoopClient:
        """The client of the running event loop; the connections of loops that were closed are given up."""
        with self._lock:
            self._abandon_closed()
            here = self._clients.get(asyncio.get_running_loop())
            if here is None:
                here = self._clients[asyncio.get_running_loop()] = LoopClient(self)
            return here

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the function's result; its waits are awaited here."""
        return await greenlet_spawn(lambda: function(*args, **kwargs))

    async def on_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the function's result, from another thread; a caller who is cancelled leaves it to its end there."""
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(function, *args, **kwargs)
        )

    async def close(self) -> None:
        """Give every connection back, once what is being published is; a later call connects anew."""
        with self._lock:
            self._abandon_closed()
            here = self._clients.pop(asyncio.get_running_loop(), None)
            threads, self._threads = self._threads, _few_threads()
        if here is not None:
            await here.async_engine.dispose()
        await asyncio.to_thread(threads.shutdown)
        await asyncio.to_thread(self.blocking.close)

    def _abandon_closed(self) -> None:
        for loop in [loop for loop in self._clients if loop.is_closed()]:
            self._clients.pop(loop).abandon()

    def forget(self) -> object:
        """Begin anew in the child of a fork, whose loops and threads are others; returns what is the parent's."""
        theirs = (self._clients, self._threads)
        self._begin()
        return theirs

    def _begin(self) -> None:
        self._lock = Lock()
        self._clients: dict[asyncio.AbstractEventLoop, LoopClient] = {}
        self._threads = _few_threads()


def _few_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "tamis")
