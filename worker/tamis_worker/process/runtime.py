"""One worker process and its parts. Each part is given the other parts that it needs.

`SentTasks` answers services that have only Celery. `BatchFollower` follows batches that users pause, cancel or give
another priority.
"""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from celery import Celery
from redis.asyncio import Redis
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.client.client import Client
from tamis_producer.config.redaction import Redaction
from tamis_producer.config.redis_clients import connect_on_loop
from tamis_producer.config.sentinel_url import is_redis
from tamis_producer.ledger import DISPATCH
from tamis_producer.ledger import connect as connect_producer
from tamis_producer.services.named_tasks import NamedTasks
from tamis_producer.transport.broker import waiting_messages
from tamis_producer.transport.dispatch import Dispatcher
from tamis_producer.transport.redis_servers import check_servers
from tamis_schemas import BrokerUnavailable, LedgerUnavailable
from tamis_schemas.batches import wire
from tamis_schemas.ledger.revisions import demand

from ..celery_adapter.awaited_strategy import AwaitedStrategy, SentTask
from ..celery_adapter.foreign_messages import ForeignMessages
from ..celery_adapter.item_strategy import ItemStrategy
from ..config.settings import WorkerSettings
from ..engine.backpressure import Backpressure, BrokerProbe, RequiredServer
from ..engine.batch_interrupts import BatchInterrupts
from ..event_loop.loop import BackgroundTasks, Looper, LoopThread
from ..ledger.batches import BatchConfigCache, running_batches
from ..ledger.claims import lost
from ..ledger.connection import LedgerEngines
from ..ledger.shards import close_cancelled
from ..limiter.limiter import Limiters
from ..liveness.vitals import LeaseKeeper, Vitals
from ..maintenance.reconciler import Reconciler
from ..maintenance.retention import Retention
from ..telemetry.measures import NULL_MEASURES
from ..telemetry.metrics import ASKED_WITHIN, Exposition, Metrics, Present, QueueDepths
from ..webhooks.deliverer import Deliverer
from .evaluation_stack import EvaluationStack

log = logging.getLogger(__name__)

SOURCE = "states of batches"  # in the backpressure

AGAIN_AFTER = 1.0  # s; while the ledger does not answer

STOP_GRACE = 60.0  # s beyond the longest call, for the last writes of a stopping worker
BROKER_ANSWERS_WITHIN = 5.0  # s, for the number of waiting messages


class Runtime:
    """All parts that a worker's tasks use. The parts work within the `with` block of `running`."""

    def __init__(self, settings: WorkerSettings, app: Celery, redact: Redaction) -> None:
        """Prepare the parts, without a connection. Raise `ConfigurationError` if a setting is missing.

        `redact` removes this process's secrets from texts. Each new API key is added to these secrets.
        """
        # Always unique: host names and process numbers repeat, and with them a dead worker's claims would return.
        self.worker_id = f"{os.getpid()}-{secrets.token_hex(4)}@{socket.gethostname()}"
        self._redis_urls = settings.redis_urls
        self._loop = LoopThread()
        self.run = self._loop.run
        metrics = None if settings.metrics_port is None else Metrics(redact=redact)
        measures = metrics or NULL_MEASURES
        backpressure = Backpressure()
        self.ledger = LedgerEngines.of(settings.database)
        # Publishing is synchronous in Celery; dispatch runs on task threads, with connections of its own.
        self.dispatch_engine = connect_producer(settings.database, DISPATCH)
        self.dispatcher = Dispatcher(self.dispatch_engine, app)
        self.evaluation = EvaluationStack(
            settings,
            self.ledger,
            self.dispatcher,
            worker_id=self.worker_id,
            backpressure=backpressure,
            measures=measures,
            redact=redact,
        )
        probe = BrokerProbe([settings.broker, settings.limiter], backpressure)
        self.foreign = ForeignMessages(redact, measures=measures)
        self.deliveries = ItemStrategy(
            self._loop,
            self.evaluation.evaluator.evaluate,
            stop_within=settings.longest_call + STOP_GRACE,
            backpressure=backpressure,
            tell_refused=probe.noticed,
            standing_aside=lambda: self.evaluation.runner.held_up,
            foreign_taken=lambda: self.foreign.taken,
            foreign_held=lambda: self.foreign.held,
            cancel=lambda key, cut: self.evaluation.interrupts.cancel(key, cut=cut),
            forget_item=self.evaluation.interrupts.forget,
        )
        self._sent_tasks = SentTasks(settings)
        self.sent = AwaitedStrategy(self._loop, self._sent_tasks.answer)
        self._background = BackgroundTasks()
        self.vitals = Vitals(
            self.worker_id,
            app,
            self.deliveries,
            self._background,
            self.evaluation.commits,
            self.evaluation.limiters,
            self.evaluation.capacity,
            backpressure,
            lambda: self.evaluation.runner.faults,
            concurrency=settings.concurrency,
            answer_within=min(BROKER_ANSWERS_WITHIN, settings.stalled_after_seconds / 6),
        )
        self._lease = LeaseKeeper(
            self.ledger.transactions,
            _redis_of_broker(settings.broker),
            self.vitals.report,
            backpressure,
            lease=settings.lease_seconds,
            after_renewal=self._compare_claims,
        )
        reconciler = Reconciler(
            self.ledger.transactions,
            self.dispatch_engine,
            app,
            self.dispatcher,
            worker=self.worker_id,
            grace=settings.lease_seconds,
            max_claims=settings.max_claims,
            backpressure=backpressure,
            measures=measures,
        )
        follower = BatchFollower(
            self.ledger.transactions,
            self.evaluation.configs,
            self.evaluation.limiters,
            self.evaluation.interrupts,
            backpressure,
        )
        self._in_background: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "pulse": self.vitals.pulse,
            "heartbeat": self._lease.renew,
            "heartbeat in Redis": self._lease.publish,
            "reconciler": Looper("sweep", reconciler.look, settings.sweep_interval).run,
            "probe of the broker": probe.run,
            "pauses and cancellations": Looper("look for pauses", follower.look, settings.pause_check_interval).run,
            "webhooks": Deliverer.of(self.ledger.transactions, settings, app).run,
        }
        if settings.retention.deletes:
            self._in_background["retention"] = Retention(
                self.dispatch_engine, settings.retention, interval=settings.sweep_interval, backpressure=backpressure
            ).run
        self._exposition = None
        if metrics is not None and settings.metrics_port is not None:
            in_flight = Present(
                items=lambda: self.deliveries.evaluating,
                holding_back=self.deliveries.holds_back,
                limiters=self.evaluation.limiters.known,
                label=metrics.label,
            )
            metrics.registry.register(QueueDepths(partial(waiting_messages, app, within=ASKED_WITHIN)))
            metrics.registry.register(in_flight)
            self._exposition = Exposition(metrics.registry, settings.metrics_host, settings.metrics_port)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Connect, enter this worker in the ledger, and begin to work. At the end, close the parts in opposite order.

        Raise `LedgerUnavailable` if the ledger does not answer. Raise `ConfigurationError` if the ledger's tables are
        older than this release, or if a Redis server can never be used.
        """
        with ExitStack() as opened:
            opened.callback(self.dispatch_engine.dispose)
            demand(self.dispatch_engine)
            with suppress(BrokerUnavailable):  # the worker waits for unavailable servers
                check_servers(self._redis_urls, within=BROKER_ANSWERS_WITHIN)
            self._loop.start()
            opened.callback(self._loop.stop)
            on_loop = AsyncExitStack()
            opened.callback(lambda: self.run(on_loop.aclose()))
            self.run(self._open(on_loop))
            opened.callback(self.vitals.stop)
            yield

    def drain(self) -> None:
        """Begin to stop: calls in flight finish, and waiting items are released. Any thread may call this."""
        self.vitals.stop()
        self._loop.call_soon(self.evaluation.interrupts.stop)
        self._loop.call_soon(self._lease.changed)

    async def _compare_claims(self, expired: bool) -> None:
        """Compare this worker's claims in the ledger with the items that this process is evaluating.

        If the lease `expired`, stop the items that other workers have taken meanwhile. Then give up the claims in the
        ledger whose items this process is not evaluating. Raise `LedgerUnavailable` if Postgres does not answer.
        """
        evaluation = self.evaluation
        if expired:
            theirs = await lost(self.ledger.transactions, evaluation.held.copy(), worker=self.worker_id)
            if theirs:
                log.warning("other workers took %d items while the lease was expired", len(theirs))
            evaluation.interrupts.revoke(theirs)
        if disowned := await evaluation.claims.disown_unheld():
            log.warning("the ledger knew %d claims of this worker that have ended: it went back in time", disowned)

    async def _open(self, opened: AsyncExitStack) -> None:
        opened.push_async_callback(self.ledger.dispose)
        opened.push_async_callback(asyncio.to_thread, self._sent_tasks.close)
        if self._exposition is not None:
            self._exposition.start()
            opened.push_async_callback(asyncio.to_thread, self._exposition.close)
        await self._lease.begin()
        opened.push_async_callback(self._lease.end)
        await opened.enter_async_context(self.evaluation.opened())
        opened.push_async_callback(self._background.end)
        for name, run in self._in_background.items():
            self._background.start(name, run())
        opened.push_async_callback(self.deliveries.ended)
        opened.callback(self.evaluation.interrupts.stop)


def _redis_of_broker(url: str) -> "Redis | None":
    if not is_redis(url):
        return None
    return connect_on_loop(url, socket_timeout=BROKER_ANSWERS_WITHIN, socket_connect_timeout=BROKER_ANSWERS_WITHIN)


class SentTasks:
    """The part that answers tasks which services send by name. Its client connects at the first task."""

    def __init__(self, settings: WorkerSettings) -> None:
        """Prepare the client that gets the answers. Raise `ConfigurationError` if a setting is missing."""
        self._client = Client(settings)
        self._tasks = NamedTasks(self._client)

    async def answer(self, sent: SentTask) -> Any:
        """Return a task's result. While the ledger is unreachable, wait. Raise every other error for the sender."""
        while True:
            try:
                if sent.name == wire.SUBMIT:
                    return await asyncio.to_thread(self._tasks.submit, sent.id, sent.args, sent.kwargs)
                return await self._tasks.evaluate(sent.id, sent.args, sent.kwargs)
            except LedgerUnavailable as error:
                log.debug("%s[%s] waits: %s", sent.name, sent.id, error)
            await asyncio.sleep(AGAIN_AFTER)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


@dataclass(frozen=True)
class BatchFollower:
    """The part that follows changes of batches in the ledger.

    The follower stops the items of batches that no longer run. If a batch has a new priority, its waiting calls get
    the new priority.
    """

    engine: AsyncEngine
    configs: BatchConfigCache
    limiters: Limiters
    interrupts: BatchInterrupts
    backpressure: Backpressure

    async def look(self) -> None:
        """Check the batches once. Report to `backpressure` whether the ledger answered."""
        try:
            for batch_id in await self.interrupts.refresh(self._not_running):
                if await close_cancelled(self.engine, batch_id):
                    log.info("batch=%s cancelled: its last call has ended", batch_id)
            self.backpressure.worked(RequiredServer.LEDGER, SOURCE)
        except LedgerUnavailable as error:
            self.backpressure.failed(RequiredServer.LEDGER, SOURCE, error)

    async def _not_running(self, batch_ids: Collection[UUID]) -> Collection[UUID]:
        running = await running_batches(self.engine, batch_ids)
        for batch_id in self.configs.follow(running):
            log.info("batch=%s continues with priority %s", batch_id, running[batch_id])
            self.limiters.reweigh(batch_id, running[batch_id])
        return set(batch_ids) - set(running)
