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

from tamis_producer.dispatch import Dispatcher, ItemAddress
from tamis_producer.ledger import connect as connect_producer
from tamis_schemas import BrokerUnavailable, LedgerUnavailable, Pause

from .deliveries import Deliveries
from .engine.asking import Asker, Patience
from .engine.budget import Budget
from .engine.cache import Cache
from .engine.evaluate import Evaluator, Return, Writers
from .engine.group_commit import GroupCommit
from .engine.halting import Halting
from .engine.limiter import Limits
from .engine.limits import Limiters
from .engine.llm import Llm
from .ledger import heartbeat, pauses
from .ledger.batches import TermsOfBatches
from .ledger.claims import Claim, ItemKey, claim
from .ledger.connection import connect
from .ledger.outcomes import Outcome, record
from .ledger.returns import give_back
from .ledger.shards import close_cancelled
from .ledger.spending import Spending
from .loop import LoopThread
from .prices import prices_of
from .reconciler import Reconciler
from .settings import WorkerSettings

T = TypeVar("T")

STOP_GRACE = 60.0  # s beyond the longest call, for what a worker that stops has to write
SETTLING = 10.0  # s; longer than a call's end takes to reach the ledger

log = logging.getLogger(__name__)


class Runtime:
    """Everything that a worker's tasks use; open from `start` to `stop`."""

    evaluator: Evaluator
    engine: AsyncEngine

    def __init__(self, settings: WorkerSettings, app: Celery) -> None:
        """Connects to nothing yet. Raises `ConfigurationError` where a setting is missing."""
        self.settings = settings
        # Never the same twice: a machine's name and a process's number come back, and with them a dead worker's claims.
        self.worker_id = f"{os.getpid()}-{secrets.token_hex(4)}@{socket.gethostname()}"
        self._app = app
        self._endpoint = settings.endpoint
        self._model = settings.default_model
        self._prices = prices_of(settings)
        self._loop = LoopThread()
        self.deliveries = Deliveries(
            self._loop, lambda key: self.evaluator.evaluate(key), stop_within=settings.call_timeout + STOP_GRACE
        )
        self._halting = Halting(self._pause)
        self._background: list[asyncio.Task[None]] = []
        # Publishing is synchronous in Celery; dispatch runs on task threads, with connections of its own.
        self.dispatch_engine = connect_producer(settings.database)
        self.dispatcher = Dispatcher(self.dispatch_engine, app)

    def start(self) -> None:
        """Open connections and begin to hold the lease. Raises `LedgerUnavailable`."""
        self._loop.start()
        self._loop.run(self._open())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine on the worker's loop."""
        return self._loop.run(coroutine)

    def drain(self) -> None:
        """Let calls in flight finish, and give back what waits for its turn; callable from any thread."""
        self._loop.call_soon(self._halting.stop)

    def stop(self) -> None:
        """Give up the lease and close everything."""
        self._loop.run(self._close())
        self._loop.stop()
        self.dispatch_engine.dispose()

    async def _open(self) -> None:
        settings = self.settings
        self.engine = connect(settings.database)
        self._groups_engine = connect(settings.database, single_statements=True)
        await heartbeat.renew(self.engine, worker=self.worker_id, lease=settings.lease)
        self._redis = redis.from_url(settings.limiter, health_check_interval=25, socket_timeout=15)
        key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else "none"
        self._llm = Llm(self._endpoint, key, timeout=settings.call_timeout, connections=settings.concurrency)
        limits = Limits(rpm=settings.limit_rpm, tpm=settings.limit_tpm, concurrency=settings.limit_concurrency)
        self._limiters = Limiters(self._redis, self._endpoint, limits, holder=self.worker_id, lease=settings.lease)
        self._writers = Writers(
            claims=GroupCommit("claims", self._claim),
            outcomes=GroupCommit("results", self._record),
            returns=GroupCommit("returns", self._give_back),
        )
        await self._writers.start()
        patience = Patience.of(settings)
        self._cache = Cache(self._groups_engine)
        await self._cache.start()
        self._budget = Budget(Spending(self.engine), self._prices, patience=settings.call_timeout + SETTLING)
        await self._budget.start()
        asker = Asker(self._llm, self._limiters, patience.retry, self._halting, self._cache, self._budget, self._prices)
        terms = TermsOfBatches(self.engine)
        self.evaluator = Evaluator(
            self._writers, terms, asker, self._halting, default_model=self._model, patience=patience
        )
        reconciler = Reconciler(
            self.engine,
            self.dispatch_engine,
            self._app,
            self.dispatcher,
            interval=settings.sweep,
            grace=settings.lease,
            max_claims=settings.max_claims,
        )
        self._background = [
            asyncio.create_task(self._hold_lease(), name="heartbeat"),
            asyncio.create_task(reconciler.run(), name="reconciler"),
            asyncio.create_task(self._follow_batches(), name="pauses and cancellations"),
        ]

    async def _close(self) -> None:
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._writers.close()
        await self._budget.close()
        await self._cache.close()
        await self._limiters.close()
        await self._llm.close()
        await self._redis.aclose()
        try:
            await heartbeat.end(self.engine, worker=self.worker_id)
        except LedgerUnavailable as error:
            log.warning("the lease runs out by itself: %s", error)
        await self.engine.dispose()
        await self._groups_engine.dispose()

    async def _claim(self, keys: Sequence[ItemKey]) -> Sequence[Claim | None]:
        return await claim(self._groups_engine, keys, worker=self.worker_id, max_claims=self.settings.max_claims)

    async def _record(self, outcomes: Sequence[Outcome]) -> Sequence[bool]:
        return await record(self._groups_engine, outcomes)

    async def _give_back(self, returns: Sequence[Return]) -> Sequence[None]:
        to_publish = await give_back(self.engine, [one.claim for one in returns])
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

    async def _pause(self, batch_id: UUID, pause: Pause) -> bool:
        return await pauses.pause(self.engine, batch_id, pause)

    async def _not_running(self, batch_ids: Collection[UUID]) -> Collection[UUID]:
        return await pauses.not_running(self.engine, batch_ids)

    async def _follow_batches(self) -> None:
        while True:
            await asyncio.sleep(self.settings.follow)
            try:
                for batch_id in await self._halting.look(self._not_running):
                    if await close_cancelled(self.engine, batch_id):
                        log.info("batch=%s cancelled: its last call has ended", batch_id)
            except LedgerUnavailable as error:
                log.warning("batches go on until the ledger says how they stand: %s", error)
            except Exception:  # the next look tries again; batches go on meanwhile
                log.exception("could not see how batches stand")

    async def _hold_lease(self) -> None:
        while True:
            await asyncio.sleep(self.settings.lease / 3)
            try:
                await heartbeat.renew(self.engine, worker=self.worker_id, lease=self.settings.lease)
            except LedgerUnavailable as error:
                log.warning("heartbeat missed: %s", error)
