"""The asynchronous client: what `Client` and `Batch` do, without blocking the event loop.

What a call does is written once, in the synchronous classes. Here it runs in a greenlet on the caller's event loop,
over connections of psycopg's asyncio driver. What publishes to the broker, or reads whole batches, runs on a thread.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from ..config.settings import ProducerSettings
from ..ledger import connected
from .async_batch import AsyncBatch, async_batch
from .batch import Batch
from .client import Client, Retried
from .loop_client import Bridge
from .mirroring import Mirror, awaited, awaited_as, on_thread


def _retried(bridge: Bridge, done: list[Retried[Batch]]) -> list[Retried[AsyncBatch]]:
    return [Retried(async_batch(bridge, retried.batch), retried.items, retried.refused) for retried in done]


class AsyncClient(Mirror):
    """A `Client` whose methods are awaited. Holds connections until `close`.

    Arguments, results and errors are those of `Client`. Any number of calls may run at once, in any event loop; each
    loop has connections of its own. One that was made before a fork works in the parent and in every child.

    >>> async with AsyncClient() as client:
    ...     batch = await client.submit(Filter(criteria="Is this about oncology?"), items)
    ...     await batch.wait(timeout=600)
    ...     async for row in batch.results():
    ...         print(row.item_id, row.result)
    """

    def __init__(self, settings: ProducerSettings | None = None) -> None:
        """Raises `ConfigurationError` where no broker or ledger is named; connects on first use."""
        self._bridge = Bridge(settings)

    @property
    def settings(self) -> ProducerSettings:
        """The settings that the client was made with."""
        return self._bridge.blocking.settings

    @property
    def engine(self) -> AsyncEngine:
        """The ledger's engine on the running event loop."""
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
        """A connection whose every statement sees the same moment."""
        async with connected(self.engine) as connection:
            yield await connection.execution_options(isolation_level="REPEATABLE READ")

    async def close(self) -> None:
        """Give every connection of this event loop back; a later call connects anew."""
        await self._bridge.close()

    async def __aenter__(self) -> Self:
        await self.ready()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _blocking(self, client: Client) -> Client:
        return client
