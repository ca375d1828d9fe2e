"""A worker's lease in the ledger, renewed as long as it lives, with a report of how it is there and in Redis.

In Redis for the time that the ledger is away, when it is most wanted. The two are told apart from each other: a server
that does not answer keeps nobody from hearing from the other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from redis.asyncio import Redis
from redis.exceptions import RedisError
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import LedgerUnavailable
from tamis_schemas.batches import wire

from ..engine.backpressure import Backpressure, Server
from ..ledger import heartbeat

BEATS = 3  # in one lease
KEPT = 2  # leases that Redis keeps what was last said
AGAIN = 1.0  # s; a worker whose ledger comes back says at once that it lives, before others can take it for dead

log = logging.getLogger(__name__)


class LeaseKeeper:
    """The lease of one worker process, and what it reports with it; on the worker's loop."""

    def __init__(
        self,
        engine: AsyncEngine,
        redis: "Redis | None",
        report: Callable[[], WorkerReport],
        backpressure: Backpressure,
        *,
        lease: float,
        on_expired: Callable[[], Awaitable[None]],
    ) -> None:
        """`redis`: the broker's; None where the broker is another server. `lease`: in seconds.

        `on_expired` is awaited when the lease was over for a while and is held again: others may have taken what was
        here. It may raise `LedgerUnavailable`, and is awaited again then.
        """
        self._on_expired = on_expired
        self._backpressure = backpressure
        self._engine = engine
        self._redis = redis
        self._report = report
        self._lease = lease
        self._changed = asyncio.Event()

    async def begin(self) -> None:
        """Take the lease. Raises `LedgerUnavailable`."""
        await heartbeat.renew(self._engine, self._report(), lease=self._lease)

    async def renew(self) -> None:
        """Renew the lease until cancelled, at once where something `changed`.

        A network that is cut says nothing: where a renewal takes longer than the lease, others take this worker for
        dead, so it begins nothing more.
        """
        usually = self._lease / BEATS
        pause = usually
        loop = asyncio.get_running_loop()
        renewed = loop.time()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            self._changed.clear()
            began = loop.time()
            silence = f"Postgres has not answered for {self._lease:g} s"
            overdue = loop.call_later(self._lease, self._backpressure.failed, Server.LEDGER, "heartbeat", silence)
            try:
                await heartbeat.renew(self._engine, self._report(), lease=self._lease)
                if loop.time() - renewed > self._lease:
                    await self._on_expired()
            except LedgerUnavailable as error:
                self._backpressure.failed(Server.LEDGER, "heartbeat", error)
                pause = min(AGAIN, usually)
                log.debug("heartbeat missed: %s", error)
            else:
                renewed = began
                self._backpressure.worked(Server.LEDGER, "heartbeat")
                pause = usually
            finally:
                overdue.cancel()

    async def publish(self) -> None:
        """Publish in Redis how the worker is, until cancelled."""
        if self._redis is None:
            await asyncio.Event().wait()  # a background task does not end by itself
            return
        while True:
            report = self._report()
            try:
                await self._redis.set(wire.worker_key(report.id), report.model_dump_json(), px=self._kept_for)
            except (RedisError, OSError) as error:  # the ledger says the same
                log.debug("Redis was not told how this worker is: %s", error)
            await asyncio.sleep(self._lease / BEATS)

    def changed(self) -> None:
        """Have the lease renewed at once: what the worker does is not what it did."""
        self._changed.set()

    async def end(self) -> None:
        """Give the lease up, in the ledger and in Redis."""
        report = self._report()
        try:
            await heartbeat.end(self._engine, worker=report.id)
        except LedgerUnavailable as error:
            log.warning("the lease runs out by itself: %s", error)
        if self._redis is not None:
            try:
                await self._redis.delete(wire.worker_key(report.id))
                await self._redis.aclose()
            except (RedisError, OSError) as error:
                log.debug("Redis forgets this worker by itself: %s", error)

    @property
    def _kept_for(self) -> int:
        return int(1000 * KEPT * self._lease)  # ms
