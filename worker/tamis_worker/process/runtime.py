"""The one place where a worker process is put together: loop, ledger, limiter, LLM, evaluator, reconciler."""

import asyncio
import logging
import os
import secrets
import socket
from collections import defaultdict
from collections.abc import Collection, Coroutine, Sequence
from itertools import compress
from typing import Any, TypeVar
from uuid import UUID

import redis.asyncio as redis
from celery import Celery
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.config.redaction import Redaction
from tamis_producer.files.price_file import known_prices
from tamis_producer.ledger import DISPATCH
from tamis_producer.ledger import connect as connect_producer
from tamis_producer.runs.workers import REDIS
from tamis_producer.transport.broker import waiting_messages
from tamis_producer.transport.dispatch import Dispatcher, ItemAddress
from tamis_schemas import BrokerUnavailable, LedgerUnavailable, Pause
from tamis_schemas.ledger.revisions import demand

from ..celery_adapter.item_strategy import ItemStrategy
from ..config.settings import WorkerSettings
from ..engine.backpressure import Backpressure, Server
from ..engine.batch_interrupts import BatchInterrupts
from ..engine.broker_probe import BrokerProbe
from ..engine.budget import Budget
from ..engine.cache import Cache
from ..engine.capacity import Capacity
from ..engine.evaluate import Evaluator, Return, Writers
from ..engine.group_commit import GroupCommit
from ..engine.question_runner import CallPolicy, QuestionRunner
from ..event_loop.loop import LoopThread, end_tasks
from ..ledger import pauses
from ..ledger.batches import BatchConfigCache
from ..ledger.claims import Claims, lost
from ..ledger.connection import connect
from ..ledger.dialects import LedgerDialects
from ..ledger.outcomes import Outcome, record
from ..ledger.release_claims import give_back
from ..ledger.shards import close_cancelled
from ..ledger.spending import Spending
from ..ledger.transcripts import KnownPrompts
from ..limiter.limiter import Limits
from ..limiter.limits import Limiters
from ..liveness.lease_keeper import LeaseKeeper
from ..liveness.vitals import Vitals
from ..llm.api_key import key_source
from ..llm.dialect_store import endpoint_name
from ..llm.llm import Llm
from ..llm.shared_dialects import SharedDialects
from ..maintenance.reconciler import Reconciler
from ..maintenance.retention import Retention
from ..telemetry.chat import Server as LlmServer
from ..telemetry.exposition import Exposition
from ..telemetry.gauges import ASKED_WITHIN, Present, QueueDepths
from ..telemetry.measures import NULL_MEASURES, Measures
from ..telemetry.metrics import Metrics
from ..webhooks.deliverer import Deliverer

T = TypeVar("T")

STOP_GRACE = 60.0  # s beyond the longest call, for what a worker that stops has to write
SETTLING = 10.0  # s; longer than a call's end takes to reach the ledger
BROKER_ANSWERS_WITHIN = 5.0  # s, to the question what waits

log = logging.getLogger(__name__)


class Runtime:
    """Everything that a worker's tasks use; open from `start` to `stop`."""

    evaluator: Evaluator
    engine: AsyncEngine

    def __init__(self, settings: WorkerSettings, app: Celery, redact: Redaction) -> None:
        """Connects to nothing yet. Raises `ConfigurationError` where a setting is missing.

        `redact` is the process's own: it learns each key that a call is made with.
        """
        self.settings = settings
        self._redact = redact
        # Never the same twice: a machine's name and a process's number come back, and with them a dead worker's claims.
        self.worker_id = f"{os.getpid()}-{secrets.token_hex(4)}@{socket.gethostname()}"
        self._app = app
        self._endpoint = settings.endpoint
        self._model = settings.default_model
        self._prices = known_prices(settings.prices)
        self._loop = LoopThread()
        self.backpressure = Backpressure()
        self._known_prompts = KnownPrompts()
        self._capacity = Capacity(most=settings.concurrency, usual=settings.call_timeout)
        self.metrics = None if settings.metrics_port is None else Metrics(redact=self._redact)
        self._measures: Measures = self.metrics or NULL_MEASURES
        self._probe = BrokerProbe([settings.broker, settings.limiter], self.backpressure)
        self.deliveries = ItemStrategy(
            self._loop,
            lambda key: self.evaluator.evaluate(key),
            stop_within=settings.longest_call + STOP_GRACE,
            backpressure=self.backpressure,
            refused=self._probe.noticed,
            aside=lambda: self._capacity.waiting,
        )
        self.vitals = Vitals(
            self.worker_id,
            app,
            self.deliveries,
            concurrency=settings.concurrency,
            answer_within=min(BROKER_ANSWERS_WITHIN, settings.stalled_after_seconds / 6),
        )
        self._halting = BatchInterrupts(self._pause)
        self._background: list[asyncio.Task[None]] = []
        self._exposition: Exposition | None = None
        # Publishing is synchronous in Celery; dispatch runs on task threads, with connections of its own.
        self.dispatch_engine = connect_producer(settings.database, DISPATCH)
        self.dispatcher = Dispatcher(self.dispatch_engine, app)

    def start(self) -> None:
        """Open connections and begin to hold the lease.

        Raises `LedgerUnavailable`, and `ConfigurationError` where its tables are older than this release.
        """
        demand(self.dispatch_engine)
        self._loop.start()
        self._loop.run(self._open())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine on the worker's loop."""
        return self._loop.run(coroutine)

    def drain(self) -> None:
        """Let calls in flight finish, and give back what waits for its turn; callable from any thread."""
        self.vitals.stop()
        self._loop.call_soon(self._halting.stop)
        self._loop.call_soon(self._presence.changed)

    def stop(self) -> None:
        """Give up the lease and close everything."""
        self.vitals.stop()
        self._loop.run(self._close())
        self._loop.stop()
        self.dispatch_engine.dispose()

    async def _open(self) -> None:
        settings = self.settings
        self.engine = connect(settings.database)
        self._groups_engine = connect(settings.database, single_statements=True)
        self._presence = LeaseKeeper(
            self.engine,
            _redis_of_broker(settings.broker),
            self.vitals.report,
            self.backpressure,
            lease=settings.lease_seconds,
            lapsed=self._let_go_what_is_lost,
        )
        await self._presence.begin()
        self._redis = redis.from_url(settings.limiter, health_check_interval=25, socket_timeout=15)
        keys = key_source(
            settings.llm_api_key.get_secret_value() if settings.llm_api_key else "",
            file=settings.llm_api_key_file,
            command=settings.llm_api_key_command,
            ttl=settings.llm_api_key_ttl,
            learn=self._redact.learn,
        )
        self._llm = Llm(
            self._endpoint,
            keys,
            timeout=settings.call_timeout,
            connections=2 * settings.concurrency,  # beside those that have waited for capacity, as many as usual
            max_answer_bytes=settings.max_answer_bytes,
            dialects=SharedDialects(
                LedgerDialects(self._groups_engine, endpoint_name(self._endpoint)),
                worker=self.worker_id,
                hopeless_after=settings.unusable_answers,
            ),
            compiles_grammars=settings.bounded_schema,
        )
        limits = Limits(rpm=settings.limit_rpm, tpm=settings.limit_tpm, concurrency=settings.limit_concurrency)
        self._limiters = Limiters(
            self._redis, self._endpoint, limits, holder=self.worker_id, lease=settings.lease_seconds
        )
        claims = Claims(
            self._groups_engine,
            worker=self.worker_id,
            max_claims=settings.max_claims,
            holds=lambda key: self.evaluator.holds(key),
        )
        self._writers = Writers(
            claims=GroupCommit("claims", claims.claim, backpressure=self.backpressure),
            outcomes=GroupCommit("results", self._record, backpressure=self.backpressure),
            returns=GroupCommit("returns", self._give_back, backpressure=self.backpressure),
        )
        await self._writers.start()
        patience = CallPolicy.of(settings)
        self._cache = Cache(self._groups_engine, self.backpressure, days=settings.cache_days)
        await self._cache.start()
        self._budget = Budget(
            Spending(self.engine),
            self._prices,
            patience=settings.call_timeout + SETTLING,
            flex_patience=settings.longest_call + SETTLING,
            backpressure=self.backpressure,
        )
        await self._budget.start()
        asker = QuestionRunner(
            self._llm,
            self._limiters,
            patience.retry,
            self._halting,
            self._cache,
            self._budget,
            self._prices,
            backpressure=self.backpressure,
            capacity=self._capacity,
            server=LlmServer.of(self._endpoint),
            measures=self._measures,
        )
        self._terms = BatchConfigCache(self._groups_engine, settings.steering)
        self.evaluator = Evaluator(
            self._writers,
            self._terms,
            asker,
            self._halting,
            default_model=self._model,
            patience=patience,
            redact=self._redact,
            transcripts=settings.transcripts,
            backpressure=self.backpressure,
            measures=self._measures,
        )
        reconciler = Reconciler(
            self.engine,
            self.dispatch_engine,
            self._app,
            self.dispatcher,
            worker=self.worker_id,
            interval=settings.sweep_interval,
            grace=settings.lease_seconds,
            max_claims=settings.max_claims,
            backpressure=self.backpressure,
            measures=self._measures,
        )
        self._background = [
            asyncio.create_task(self.vitals.pulse(), name="pulse"),
            asyncio.create_task(self._presence.hold(), name="heartbeat"),
            asyncio.create_task(self._presence.tell(), name="heartbeat in Redis"),
            asyncio.create_task(reconciler.run(), name="reconciler"),
            asyncio.create_task(self._probe.run(), name="probe of the broker"),
            asyncio.create_task(self._follow_batches(), name="pauses and cancellations"),
            asyncio.create_task(Deliverer.of(self.engine, settings).run(), name="webhooks"),
        ]
        policy = settings.retention
        if policy.deletes:
            retention = Retention(
                self.dispatch_engine, policy, interval=settings.sweep_interval, backpressure=self.backpressure
            )
            self._background.append(asyncio.create_task(retention.run(), name="retention"))
        commits = [*self._writers.commits, *self._cache.commits, *self._budget.commits]
        for commit in commits:
            commit.measures = self._measures
        self._expose()
        self.vitals.attend(
            self._background, commits, self._limiters, lambda: self.backpressure.trouble, lambda: self._capacity.waiting
        )

    def _expose(self) -> None:
        """Serve the figures, where that is asked for."""
        settings, metrics = self.settings, self.metrics
        if metrics is None or settings.metrics_port is None:
            return
        metrics.registry.register(QueueDepths(lambda: waiting_messages(self._app, within=ASKED_WITHIN)))
        metrics.registry.register(
            Present(
                items=lambda: self.deliveries.evaluating,
                holding_back=lambda: self.backpressure.trouble is not None,
                limiters=self._limiters.known,
                label=metrics.label,
            )
        )
        self._exposition = Exposition(metrics.registry, settings.metrics_host, settings.metrics_port).start()

    async def _close(self) -> None:
        self._halting.stop()
        await self.deliveries.ended()
        await end_tasks(*self._background)
        await self._writers.close()
        await self._budget.close()
        await self._cache.close()
        await self._limiters.close()
        await self._llm.close()
        await self._redis.aclose()
        await self._presence.end()
        if self._exposition is not None:
            await asyncio.to_thread(self._exposition.close)
        await self.engine.dispose()
        await self._groups_engine.dispose()

    async def _record(self, outcomes: Sequence[Outcome]) -> Sequence[bool]:
        return await record(self._groups_engine, outcomes, self._known_prompts)

    async def _give_back(self, returns: Sequence[Return]) -> Sequence[None]:
        claims, paid = [one.claim for one in returns], [one.paid for one in returns]
        to_publish = await give_back(self.engine, claims, paid, [one.transcript for one in returns])
        by_batch: dict[tuple[UUID, str], list[ItemAddress]] = defaultdict(list)
        for one in compress(returns, to_publish):
            address = ItemAddress(one.claim.key.index, one.claim.item_id)
            by_batch[one.claim.key.batch_id, one.operation].append(address)
        for (batch_id, operation), addresses in by_batch.items():
            try:
                await asyncio.to_thread(self.dispatcher.republish, batch_id, operation, addresses)
            except BrokerUnavailable as error:
                log.warning("%d items given back are left to the reconciler: %s", len(addresses), error)
        return [None for _ in returns]

    async def _let_go_what_is_lost(self) -> None:
        """The lease was over: of the items here, those that others have taken are theirs."""
        theirs = await lost(self.engine, self.evaluator.held(), worker=self.worker_id)
        if theirs:
            log.warning("%d items were taken over while the lease was over", len(theirs))
        self._halting.lose([(key.batch_id, key.index) for key in theirs])

    async def _pause(self, batch_id: UUID, pause: Pause) -> bool:
        shown = pause.message and self._redact(pause.message)
        return await pauses.pause(self.engine, batch_id, pause.model_copy(update={"message": shown}))

    async def _not_running(self, batch_ids: Collection[UUID]) -> Collection[UUID]:
        running = await pauses.running(self.engine, batch_ids)
        for batch_id in self._terms.follow(running):
            log.info("batch=%s goes on with priority %s", batch_id, running[batch_id])
            self._limiters.reweigh(batch_id, running[batch_id])
        return set(batch_ids) - set(running)

    async def _follow_batches(self) -> None:
        while True:
            await asyncio.sleep(self.settings.pause_check_interval)
            try:
                for batch_id in await self._halting.look(self._not_running):
                    if await close_cancelled(self.engine, batch_id):
                        log.info("batch=%s cancelled: its last call has ended", batch_id)
                self.backpressure.worked(Server.LEDGER, "states of batches")
            except LedgerUnavailable as error:
                self.backpressure.failed(Server.LEDGER, "states of batches", error)
            except Exception:  # the next look tries again; batches go on meanwhile
                log.exception("could not see how batches stand")


def _redis_of_broker(url: str) -> "redis.Redis | None":
    if not url.startswith(REDIS):
        return None
    return redis.from_url(url, socket_timeout=BROKER_ANSWERS_WITHIN, socket_connect_timeout=BROKER_ANSWERS_WITHIN)
