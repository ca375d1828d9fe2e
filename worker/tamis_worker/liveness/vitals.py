"""The vital signs of a worker process: what its watchdog, the ledger and people are told of it."""

import asyncio
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from celery import Celery

from tamis_producer.ledger.worker_view import WorkerReport, WorkerState
from tamis_producer.transport.broker import waiting_messages
from tamis_schemas import BrokerUnavailable

from ..celery_adapter.item_strategy import ItemStrategy
from ..engine.backpressure import Backpressure
from ..engine.capacity import Capacity
from ..engine.group_commit import GroupCommit
from ..event_loop.background_tasks import BackgroundTasks
from ..limiter.limits import Limiters
from .watchdog import Observation

PULSE = 0.25  # s between two turns that are counted


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
