"""The vital signs of a worker process, for its watchdog and for people; and its lease.

The lease in the ledger is renewed as long as the worker lives, with a report of how it is. The report also goes to
Redis, so it can be read while the ledger is away. Each is written independently: if one server does not answer, the
other is still told.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from celery import Celery
from redis.asyncio import Redis
from redis.exceptions import RedisError
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.ledger.worker_view import WorkerReport, WorkerState
from tamis_producer.transport.broker import waiting_messages
from tamis_schemas import BrokerUnavailable, LedgerUnavailable
from tamis_schemas.batches import wire

from ..celery_adapter.item_strategy import ItemStrategy
from ..engine.backpressure import Backpressure, Server
from ..engine.capacity import Capacity
from ..engine.group_commit import GroupCommit
from ..event_loop.loop import BackgroundTasks
from ..ledger import recovery
from ..limiter.limiter import Limiters
from .watchdog import Observation

PULSE = 0.25  # s between two turns that are counted


BEATS = 3  # in one lease
KEPT = 2  # leases that Redis keeps what was last said
AGAIN = 1.0  # s; a worker whose ledger comes back says at once that it lives, before others can take it for dead

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Doing:
    state: WorkerState
    reason: str | None = None


class Vitals:
    """The signs of one worker process. What is not said to be otherwise may be asked from any thread."""

    def __init__(
        self,
        worker_id: str,
        app: Celery,
        deliveries: ItemStrategy,
        background: BackgroundTasks,
        commits: Sequence[GroupCommit[Any, Any]],
        limiters: Limiters,
        capacity: Capacity,
        backpressure: Backpressure,
        *,
        concurrency: int,
        answer_within: float,
    ) -> None:
        """`answer_within`: seconds that the broker has to say what waits."""
        self._worker_id = worker_id
        self._app = app
        self._deliveries = deliveries
        self._background = background
        self._commits = commits
        self._limiters = limiters
        self._capacity = capacity
        self._backpressure = backpressure
        self._concurrency = concurrency
        self._answer_within = answer_within
        self._born = time.monotonic()
        self._turns = 0
        self._stopping: float | None = None
        self._doing = _Doing(WorkerState.WORKING)
        self._doing_since = self._born

    async def pulse(self) -> None:
        """Count the loop's turns until cancelled."""
        while True:
            self._turns += 1
            await asyncio.sleep(PULSE)

    def stop(self) -> None:
        """Note that the process was asked to stop; only the first time counts."""
        self._stopping = self._stopping or time.monotonic()

    def observe(self) -> Observation:
        """The observation that the watchdog judges by. Asks the broker, for a few seconds at most."""
        waiting = self._waiting()
        now = time.monotonic()
        ended = self._background.ended
        ended += [f"the {commit.name} writer" for commit in self._commits if commit.ended]
        ended += [f"the limiter of {model}" for model in self._limiters.ended()]
        return Observation(
            at=now,
            waiting=waiting,
            taken=self._deliveries.taken,
            in_flight=self._deliveries.in_flight,
            holding_back=self._backpressure.trouble is not None,
            turns=self._turns,
            writing=max((commit.writing for commit in self._commits), default=0.0),
            ended=tuple(ended),
            stopping=None if self._stopping is None else now - self._stopping,
        )

    def report(self) -> WorkerReport:
        """The report of the worker about itself."""
        now = time.monotonic()
        doing, since = self._now_doing()
        if doing != self._doing:
            self._doing, self._doing_since = doing, now
        progress = self._deliveries.progress_at
        return WorkerReport(
            id=self._worker_id,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=version("tamis"),
            concurrency=self._concurrency,
            in_flight=self._deliveries.evaluating,
            state=doing.state,
            reason=doing.reason,
            state_for=now - (self._doing_since if since is None else since),
            running_for=now - self._born,
            idle_for=None if progress is None else now - progress,
        )

    def _now_doing(self) -> tuple[_Doing, float | None]:
        """The present state, and since when, where that is known better than from the first report of it."""
        if self._stopping is not None:
            return _Doing(WorkerState.STOPPING), self._stopping
        if (trouble := self._backpressure.trouble) is not None:
            return _Doing(WorkerState.HOLDING_BACK, trouble.reason), trouble.since
        if self._deliveries.evaluating and (blocked := self._limiters.blocked()):
            return _Doing(WorkerState.WAITING, f"the endpoint lets nobody ask {', '.join(sorted(blocked))}"), None
        if (aside := self._capacity.waiting) and aside >= self._deliveries.evaluating:
            return _Doing(WorkerState.WAITING, "the endpoint has no capacity at the flex tier"), None
        return _Doing(WorkerState.WORKING), None

    def _waiting(self) -> int | None:
        try:
            return sum(waiting_messages(self._app, within=self._answer_within).values())
        except BrokerUnavailable:
            return None


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
        await recovery.renew_lease(self._engine, self._report(), lease=self._lease)

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
                await recovery.renew_lease(self._engine, self._report(), lease=self._lease)
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
            await recovery.end_lease(self._engine, worker=report.id)
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
