"""The asynchronous client: `Client` and `Batch` without blocking the event loop.

Here the methods of the synchronous classes run in greenlets on the caller's event loop, over psycopg's asyncio
connections. Publishing to the broker and reading whole batches run on a thread.
"""

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from enum import Enum, auto
from functools import wraps
from threading import Lock
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, cast
from uuid import UUID
from weakref import WeakSet

import psycopg
from sqlalchemy import Engine, event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.util import await_only, greenlet_spawn

from tamis_schemas import ItemResult
from tamis_schemas.values.checked_generic import V_co

from ..config.settings import ProducerSettings
from ..ledger import connect_on_loop, connected
from ..process.forks import begin_anew_after_a_fork
from ..process.waiting import BesideLoop, OnLoop
from .batch import Batch
from .client import Client, Retried

if TYPE_CHECKING:
    from ..transport.dispatch import Shard

THREADS = 4  # for publishing and long computations; more calls wait for a free thread

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
U = TypeVar("U")


class LoopClient(Client):
    """A client whose engine belongs to one event loop. Call its methods in a greenlet."""

    def __init__(self, bridge: "Bridge") -> None:
        super().__init__(bridge.blocking.settings)
        self.waiting = OnLoop()
        self._bridge = bridge
        self._absence = bridge.blocking._absence
        self._drivers: WeakSet[psycopg.AsyncConnection[Any]] = WeakSet()
        event.listen(self.engine, "connect", lambda dbapi, _: self._drivers.add(dbapi.driver_connection))

    def ready(self) -> None:
        """Run `Client.ready` on a thread, because checking the servers blocks."""
        await_only(self._bridge.on_thread(self._bridge.blocking.ready))

    def _dispatch(self, batch_id: UUID, unblock: Collection[str | None] = (), first: "Shard | None" = None) -> None:
        """Publish the batch's shards on a thread, because publishing blocks."""
        await_only(self._bridge.on_thread(self._bridge.blocking._dispatch, batch_id, unblock, first))

    def request_summary(self, batch_id: UUID) -> None:
        """Run `Client.request_summary` on a thread, because publishing blocks."""
        await_only(self._bridge.on_thread(self._bridge.blocking.request_summary, batch_id))

    def abandon(self) -> None:
        """Close the connections of an event loop that is already closed."""
        for driver in self._drivers:
            driver.pgconn.finish()

    def _connect(self) -> Engine:
        self.async_engine = connect_on_loop(self.settings.database, self._pool)
        return self.async_engine.sync_engine


class Bridge:
    """A runner of synchronous code, on the caller's event loop or on one of a few threads."""

    _threads: ThreadPoolExecutor

    def __init__(self, settings: ProducerSettings | None) -> None:
        self.blocking = Client(settings)
        self.blocking.waiting = BesideLoop()
        self._begin()
        begin_anew_after_a_fork(self)

    def here(self) -> LoopClient:
        """Return the client of the running event loop, and drop the connections of closed loops."""
        with self._lock:
            self._abandon_closed()
            here = self._clients.get(asyncio.get_running_loop())
            if here is None:
                here = self._clients[asyncio.get_running_loop()] = LoopClient(self)
            return here

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the function, and return its result. While the function waits, the event loop does other work."""
        return await greenlet_spawn(lambda: function(*args, **kwargs))

    async def on_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the function on another thread, and return its result.

        The function runs to its end even if the caller is cancelled.
        """
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(function, *args, **kwargs)
        )

    async def close(self) -> None:
        """Wait until publishing has ended, then close this event loop's connections. A later call connects again."""
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
        """Start without clients and threads in the child of a fork; return the parent's clients and threads."""
        theirs = (self._clients, self._threads)
        self._begin()
        return theirs

    def _begin(self) -> None:
        self._lock = Lock()
        self._clients: dict[asyncio.AbstractEventLoop, LoopClient] = {}
        self._threads = _few_threads()


def _few_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "tamis")


class _End(Enum):
    END = auto()


class Mirror(Protocol):
    """An asynchronous counterpart of a synchronous object."""

    _bridge: Bridge

    def _blocking(self, client: Client) -> Any:
        """Return the synchronous counterpart, with connections from `client`."""

    async def run_sync(self, function: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function on this event loop, with this object's synchronous counterpart as its first argument.

        Return the function's result. Use this method for functions of `tamis_review`: `await batch.run_sync(override,
        3, "include", reviewer="Reviewer A")`.
        """
        return await self._bridge.run(function, self._blocking(self._bridge.here()), *args, **kwargs)

    async def run_on_thread(self, function: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function on a thread, with this object's synchronous counterpart as its first argument.

        Return the function's result. Use this method for long computations.
        """
        return await self._bridge.on_thread(function, self._blocking(self._bridge.blocking), *args, **kwargs)


Awaited = Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]


def awaited(method: Callable[Concatenate[S, P], T]) -> Awaited[P, T]:
    """Return a coroutine function that runs the method on the caller's event loop."""
    return awaited_as(method, lambda _, result: result)


def awaited_as(method: Callable[Concatenate[S, P], T], convert: Callable[[Bridge, T], U]) -> Awaited[P, U]:
    """Return a coroutine function that runs the method, and converts its result to the asynchronous form."""

    @wraps(method)
    async def run(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> U:
        return convert(self._bridge, await self.run_sync(method, *args, **kwargs))

    return run


def on_thread(method: Callable[Concatenate[S, P], T]) -> Awaited[P, T]:
    """Return a coroutine function that runs the method on a thread.

    Use this function for methods that read whole batches, or that need a server without an asyncio client.
    """

    @wraps(method)
    async def run(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run_on_thread(method, *args, **kwargs)

    return run


def iterated(method: Callable[Concatenate[S, P], Iterator[T]]) -> Callable[Concatenate[Any, P], AsyncIterator[T]]:
    """Return an asynchronous generator function that runs a generator method.

    The method's generator is closed when the iteration ends or is cancelled.
    """

    @wraps(method)
    async def run(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        values = method(self._blocking(self._bridge.here()), *args, **kwargs)
        try:
            while (value := await self._bridge.run(next, values, _End.END)) is not _End.END:
                yield value
        finally:
            cast(Generator[T, None, None], values).close()  # between two values the generator uses no connection

    return run


class AsyncBatch(Mirror, Generic[V_co]):
    """A `Batch` whose methods are awaited. Iterate over `results` and `watch` with `async for`.

    Arguments, results and errors are the same as for `Batch`. Cancelling a call does not change the batch.
    """

    def __init__(self, bridge: Bridge, batch_id: UUID) -> None:
        self._bridge = bridge
        self._id = batch_id

    @property
    def id(self) -> str:
        """The batch's id, a UUID as text."""
        return str(self._id)

    operation = awaited(Batch.operation)
    status = awaited(Batch.status)
    wait = awaited(Batch.wait)
    watch = iterated(Batch.watch)
    pause = awaited(Batch.pause)
    resume = awaited(Batch.resume)
    cancel = awaited(Batch.cancel)
    set_priority = awaited(Batch.set_priority)
    retry = awaited(Batch.retry)
    if TYPE_CHECKING:  # the mirrored class does not know the type of a batch's values

        def results(self, places: Collection[int] | None = None) -> AsyncIterator[ItemResult[V_co]]:
            """Yield the same results as `Batch.results`, asynchronously."""
    else:
        results = iterated(Batch.results)
    item_ids = on_thread(Batch.item_ids)
    summary = awaited(Batch.summary)
    summaries = awaited(Batch.summaries)

    def __repr__(self) -> str:
        return f"AsyncBatch({self.id!r})"

    def _blocking(self, client: Client) -> Batch:
        return Batch(client, self._id)


def async_batch(bridge: Bridge, batch: Batch[V_co]) -> AsyncBatch[V_co]:
    """Return the same batch with awaited methods."""
    return AsyncBatch(bridge, UUID(batch.id))


def _retried(bridge: Bridge, done: list[Retried[Batch]]) -> list[Retried[AsyncBatch]]:
    return [Retried(async_batch(bridge, retried.batch), retried.items, retried.refused) for retried in done]


class AsyncClient(Mirror):
    """A `Client` whose methods are awaited. It holds connections until `close`.

    Arguments, results and errors are the same as for `Client`. Any number of calls may run at once, in any event loop;
    each loop has its own connections. A client made before a fork works in the parent and in every child.

    >>> async with AsyncClient() as client:
    ...     batch = await client.submit(Filter(criteria="Is this about oncology?"), items)
    ...     await batch.wait(timeout=600)
    ...     async for row in batch.results():
    ...         print(row.item_id, row.result)
    """

    def __init__(self, settings: ProducerSettings | None = None) -> None:
        """Prepare the client, which connects on first use.

        Raise `ConfigurationError` if no broker or ledger is configured.
        """
        self._bridge = Bridge(settings)

    @property
    def settings(self) -> ProducerSettings:
        """The client's settings."""
        return self._bridge.blocking.settings

    @property
    def engine(self) -> AsyncEngine:
        """The SQLAlchemy engine for the ledger, for the running event loop."""
        return self._bridge.here().async_engine

    submit = awaited_as(Client.submit, async_batch)
    with_examples = awaited(Client.with_examples)
    batch = awaited_as(Client.batch, async_batch)
    batches = awaited(Client.batches)
    service_traffic = awaited(Client.service_traffic)
    retryable = awaited(Client.retryable)
    retry_all_failed = awaited_as(Client.retry_all_failed, _retried)
    workers = on_thread(Client.workers)
    ready = on_thread(Client.ready)
    dispatch = awaited(Client.dispatch)
    request_summary = awaited(Client.request_summary)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection whose statements all see the ledger as it was at one moment."""
        async with connected(self.engine) as connection:
            yield await connection.execution_options(isolation_level="REPEATABLE READ")

    async def close(self) -> None:
        """Close every connection of this event loop; a later call connects again."""
        await self._bridge.close()

    async def __aenter__(self) -> Self:
        await self.ready()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _blocking(self, client: Client) -> Client:
        return client
