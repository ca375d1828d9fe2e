"""The vital signs of a worker process, for its watchdog and for people, and the worker's lease.

While the worker lives, it renews its lease in the ledger, with a report of its state. The report also goes to Redis, so
that people can read it while the ledger is unavailable. The two writes are independent: if Postgres does not answer,
Redis still gets the report, and vice versa.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

from celery import Celery
from redis.asyncio import Redis
from redis.exceptions import RedisError
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.ledger.worker_view import WorkerReport, WorkerState
from tamis_producer.transport.blocks import WHY, Block, block_words, lifting
from tamis_producer.transport.broker import waiting_messages
from tamis_schemas import BrokerUnavailable, LedgerUnavailable
from tamis_schemas.batches import wire

from ..celery_adapter.item_strategy import ItemStrategy
from ..engine.backpressure import Backpressure, RequiredServer
from ..engine.capacity import Capacity
from ..engine.endpoint_health import EndpointFault
from ..engine.group_commit import GroupCommit
from ..event_loop.loop import BackgroundTasks, wait_within
from ..ledger import recovery
from ..limiter.limiter import Limiters
from .watchdog import Observation

PULSE = 0.25  # s between two counted turns

BEATS = 3  # renewals per lease
KEPT = 2  # leases that Redis keeps the latest report
AGAIN = 1.0  # s between tries while the ledger fails: the lease is renewed before other workers can end it

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Doing:
    state: WorkerState
    reason: str | None = field(default=None, compare=False)  # may change while the state lasts


@dataclass(eq=False)
class Vitals:
    """The vital signs of one worker process: its state, progress and faults.

    The methods, except `pulse`, may be called from any thread.

    `answer_within`: longest time, in seconds, to wait for the number of messages in the broker's queues.
    """

    worker_id: str
    app: Celery
    deliveries: ItemStrategy
    background: BackgroundTasks
    commits: Sequence[GroupCommit[Any, Any]]
    limiters: Limiters
    capacity: Capacity
    backpressure: Backpressure
    faults: Callable[[], Mapping[str, EndpointFault]]  # by model
    _: KW_ONLY
    concurrency: int
    answer_within: float

    def __post_init__(self) -> None:
        self._born = time.monotonic()
        self._turns = 0
        self._stopping: float | None = None
        self._doing = _Doing(WorkerState.WORKING)
        self._doing_since = self._born

    async def pulse(self) -> None:
        """Count every `PULSE` seconds until cancelled, to show that the event loop runs. Await this on the loop."""
        while True:
            self._turns += 1
            await asyncio.sleep(PULSE)

    def stop(self) -> None:
        """Record that the process was asked to stop. Later calls change nothing."""
        self._stopping = self._stopping or time.monotonic()

    def observe(self) -> Observation:
        """Return the observation for the watchdog. The method waits at most `answer_within` seconds for the broker."""
        waiting = self._waiting()
        now = time.monotonic()
        ended = self.background.ended
        ended += [f"the {commit.name} writer" for commit in self.commits if commit.ended]
        ended += [f"the limiter of {model}" for model in self.limiters.ended()]
        return Observation(
            at=now,
            waiting=waiting,
            taken=self.deliveries.taken,
            in_flight=self.deliveries.in_flight,
            holding_back=self.backpressure.trouble is not None,
            turns=self._turns,
            writing=max((commit.writing for commit in self.commits), default=0.0),
            ended=tuple(ended),
            stopping=None if self._stopping is None else now - self._stopping,
        )

    def report(self) -> WorkerReport:
        """Return the report of the worker about itself."""
        now = time.monotonic()
        doing, since = self._now_doing()
        if doing != self._doing:
            self._doing, self._doing_since = doing, now
        progress = self.deliveries.progress_at
        return WorkerReport(
            id=self.worker_id,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=version("tamis"),
            concurrency=self.concurrency,
            in_flight=self.deliveries.evaluating,
            state=doing.state,
            reason=doing.reason,
            state_for=now - (self._doing_since if since is None else since),
            running_for=now - self._born,
            idle_for=None if progress is None else now - progress,
        )

    def _now_doing(self) -> tuple[_Doing, float | None]:
        """Return the present state and its start. None as the start: the state begins with the first report of it."""
        if self._stopping is not None:
            return _Doing(WorkerState.STOPPING), self._stopping
        if (trouble := self.backpressure.trouble) is not None:
            return _Doing(WorkerState.HOLDING_BACK, trouble.reason), trouble.since
        if self.deliveries.evaluating and (faults := self.faults()):
            model, fault = min(faults.items(), key=lambda entry: entry[1].since)
            return _Doing(WorkerState.WAITING, f"the endpoint fails for {model}: {fault.message}"), fault.since
        if self.deliveries.evaluating and (blocked := self.limiters.blocked()):
            at = datetime.now(UTC)
            blocks = [Block(model, at + timedelta(seconds=left)) for model, left in sorted(blocked.items())]
            return _Doing(WorkerState.WAITING, f"{block_words(blocks)} ({lifting(blocks)} lifts this): {WHY}"), None
        if (waiting := self.capacity.waiting) and waiting >= self.deliveries.evaluating:
            return _Doing(WorkerState.WAITING, "the endpoint has no capacity at the flex tier"), None
        return _Doing(WorkerState.WORKING), None

    def _waiting(self) -> int | None:
        try:
            return sum(waiting_messages(self.app, within=self.answer_within).values())
        except BrokerUnavailable:
            return None


@dataclass(eq=False)
class LeaseKeeper:
    """The lease of one worker process, and its report with each renewal. Use the object on the worker's event loop.

    `redis`: the broker's Redis; None if the broker is not Redis. `lease`: the length of the lease in seconds.

    `after_renewal(expired)` is awaited after each renewal. `expired` is True if the lease had expired, so that other
    workers may have taken the items. If `after_renewal` raises `LedgerUnavailable`, the lease is renewed again, and
    `after_renewal` is called again.
    """

    engine: AsyncEngine
    redis: "Redis | None"
    report: Callable[[], WorkerReport]
    backpressure: Backpressure
    _: KW_ONLY
    lease: float
    after_renewal: Callable[[bool], Awaitable[None]]
    _changed: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    async def begin(self) -> None:
        """Take the lease. Raise `LedgerUnavailable` if Postgres does not answer."""
        await recovery.renew_lease(self.engine, self.report(), lease=self.lease)

    async def renew(self) -> None:
        """Until cancelled, renew the lease every third of its duration, and at once after `changed`.

        If a renewal takes longer than the lease, other workers treat this worker as dead. So this worker begins no more
        work until a renewal succeeds.
        """
        interval = self.lease / BEATS
        pause = interval
        loop = asyncio.get_running_loop()
        renewed = loop.time()
        while True:
            await wait_within(self._changed, pause)
            self._changed.clear()
            began = loop.time()
            silence = f"Postgres has not answered for {self.lease:g} s"
            overdue = loop.call_later(self.lease, self.backpressure.failed, RequiredServer.LEDGER, "heartbeat", silence)
            try:
                await recovery.renew_lease(self.engine, self.report(), lease=self.lease)
                await self.after_renewal(loop.time() - renewed > self.lease)
            except LedgerUnavailable as error:
                self.backpressure.failed(RequiredServer.LEDGER, "heartbeat", error)
                pause = min(AGAIN, interval)
                log.debug("heartbeat missed: %s", error)
            else:
                renewed = began
                self.backpressure.worked(RequiredServer.LEDGER, "heartbeat")
                pause = interval
            finally:
                overdue.cancel()

    async def publish(self) -> None:
        """Write the worker's report to Redis, three times per lease, until cancelled."""
        if self.redis is None:
            await asyncio.Event().wait()  # a background task does not end by itself
            return
        milliseconds = int(1000 * KEPT * self.lease)
        while True:
            report = self.report()
            try:
                await self.redis.set(wire.worker_key(report.id), report.model_dump_json(), px=milliseconds)
            except (RedisError, OSError) as error:  # the ledger has the same report
                log.debug("the worker's report did not reach Redis: %s", error)
            await asyncio.sleep(self.lease / BEATS)

    def changed(self) -> None:
        """Renew the lease at once, because the worker's state has changed."""
        self._changed.set()

    async def end(self) -> None:
        """End the lease, in the ledger and in Redis."""
        report = self.report()
        try:
            await recovery.end_lease(self.engine, worker=report.id)
        except LedgerUnavailable as error:
            log.warning("the lease was not ended and will expire: %s", error)
        if self.redis is not None:
            try:
                await self.redis.delete(wire.worker_key(report.id))
                await self.redis.aclose()
            except (RedisError, OSError) as error:
                log.debug("the worker's report in Redis was not deleted and will expire: %s", error)
