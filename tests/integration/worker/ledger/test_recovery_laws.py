"""Whatever is commanded, lost or killed, in whatever order: each batch ends within a lease and two sweeps.

The ledger and its statements are real. Messages stand in a list, so that Redis can be away or forget them.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

import redis
from celery import Celery
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import Connection, Engine, text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_producer.runs import control, rounds
from tamis_producer.transport.broker import make_app
from tamis_producer.transport.dispatch import Dispatcher, ItemAddress, Shard
from tamis_schemas import (
    BatchStatus,
    BrokerUnavailable,
    ErrorKind,
    EvaluationResult,
    Filter,
    IllegalTransition,
    InvalidRequest,
    Priority,
    Provenance,
    Usage,
)
from tamis_worker.engine.backpressure import Backpressure, RequiredServer
from tamis_worker.ledger.cancellations import cancel_items, give_back
from tamis_worker.ledger.claims import Claim, Claims, ItemKey, claim
from tamis_worker.ledger.connection import connect
from tamis_worker.ledger.outcomes import ClaimOutcome, record
from tamis_worker.ledger.recovery import renew_lease
from tamis_worker.ledger.shards import close_shard
from tamis_worker.maintenance.reconciler import Reconciler
from tamis_worker.operations import Decided, Failure

PAID = Provenance(model="m", usage=Usage(prompt_tokens=10, completion_tokens=2), calls=1)
SHARD = 2  # items
SWEEPS = 2

Command = Callable[[Connection, UUID], object]
COMMANDS: dict[str, Command] = {
    "high": lambda connection, batch_id: control.set_priority(connection, batch_id, Priority.HIGH),
    "low": lambda connection, batch_id: control.set_priority(connection, batch_id, Priority.LOW),
    "pause": control.pause,
    "resume": control.resume,
    "cancel": control.cancel,
    "retry": rounds.retry,
    "retry cancelled": partial(rounds.retry, cancelled=True),
}
NAMES = sorted(COMMANDS)


@dataclass
class Redis:
    """The messages of items; `away`: nothing is published or taken."""

    away: bool = False
    messages: deque[ItemKey] = field(default_factory=deque)


class ListDispatcher(Dispatcher):
    """Publishes into a list, or raises `BrokerUnavailable`."""

    def __init__(self, engine: Engine, app: Celery, redis: Redis) -> None:
        super().__init__(engine, app)
        self.redis = redis

    def _publish(self, shard: Shard) -> None:
        self._put(shard.batch_id, shard.items)

    def republish(self, batch_id: UUID, operation: str, addresses: Iterable[ItemAddress]) -> None:
        self._put(batch_id, addresses)

    def _put(self, batch_id: UUID, addresses: Iterable[ItemAddress]) -> None:
        if self.redis.away:
            raise BrokerUnavailable("Redis is away")
        self.redis.messages.extend(ItemKey(batch_id, address.index) for address in addresses)


class Machine(RuleBasedStateMachine):
    """One batch, its commands, a worker after another, and a broker that comes and goes."""

    client: Client
    engine: AsyncEngine
    runner: asyncio.Runner

    def __init__(self) -> None:
        super().__init__()
        self.run = self.runner.run
        self.redis = Redis()
        self.backpressure = Backpressure()
        app = make_app(self.client.settings)
        self.dispatcher = ListDispatcher(self.client.engine, app, self.redis)
        self.reconciler = Reconciler(
            self.engine,
            self.client.engine,
            app,
            self.dispatcher,
            worker="sweeper",
            grace=0.0,
            max_claims=100,
            backpressure=self.backpressure,
        )
        self.workers = 0
        self.held: list[Claim] = []
        self.batch: Batch

    @initialize(items=st.integers(1, 7), window=st.integers(1, 3), taken=st.integers(0, 7))
    def submit(self, items: int, window: int, taken: int) -> None:
        self.batch = self.client.submit(Filter(criteria="Is it?"), abstracts(items), shard_size=SHARD, window=window)
        with redis.Redis.from_url(self.client.settings.broker) as broker:
            broker.flushdb()  # the client's own messages; the machine has them in its list
        self.redis.messages.extend(ItemKey(self.batch.uuid, index) for index in range(min(items, window * SHARD)))
        self.begin_worker()
        self.take(taken)

    def __contains__(self, key: object) -> bool:
        """Return whether the worker holds a claim of this item."""
        return any(held.key == key for held in self.held)

    def begin_worker(self) -> None:
        self.workers += 1
        self.worker = f"{self.batch.id}-{self.workers}"
        self.claims = Claims(self.engine, worker=self.worker, held=self)  # see `__contains__`
        for worker in (self.worker, "sweeper"):
            self.run(renew_lease(self.engine, WorkerReport(id=worker), lease=600))
        self.sql("UPDATE workers SET judges_from = now() - interval '1 min', judges_until = now() + interval '1 h'")

    def sql(self, statement: str) -> None:
        with self.client.engine.begin() as connection:
            connection.execute(text(statement))

    @rule(name=st.sampled_from(NAMES), away=st.booleans(), then=st.sampled_from(["cancel", "pause", *NAMES]))
    def command(self, name: str, away: bool, then: str) -> None:
        """Two commands as the client gives them: the ledger first, then the messages, if Redis takes them."""
        self.be_away(away)
        for command in (name, then):
            with suppress(IllegalTransition, InvalidRequest), self.client.engine.begin() as connection:
                COMMANDS[command](connection, self.batch.uuid)
            with suppress(BrokerUnavailable):
                self.dispatcher.fill_window(self.batch.uuid)

    def be_away(self, away: bool) -> None:
        """Redis goes or comes back, and the worker's probe notices."""
        self.redis.away = away
        if away:
            self.backpressure.failed(RequiredServer.BROKER, "probe", "away")
        else:
            self.backpressure.worked(RequiredServer.BROKER, "probe")

    @rule(index=st.integers(0, 6))
    def revoke(self, index: int) -> None:
        self.run(cancel_items(self.engine, [ItemKey(self.batch.uuid, index)]))

    @rule(messages=st.integers(1, 7))
    def take(self, messages: int) -> None:
        if self.redis.away:
            return
        waiting = self.redis.messages
        keys = list(dict.fromkeys(waiting.popleft() for _ in range(min(messages, len(waiting)))))
        if keys:
            granted = self.run(claim(self.engine, keys, worker=self.worker))
            self.held += [new for new in granted if new is not None]

    @rule(decided=st.booleans(), closes=st.booleans())
    def end(self, decided: bool, closes: bool) -> None:
        """An item ends; the chord's body, which closes its shard, may be lost."""
        if not self.held:
            return
        done = self.held.pop(0)
        ended = Decided(EvaluationResult(value=True, confidence=0.9)) if decided else Failure(ErrorKind.REFUSED, "no")
        self.run(record(self.engine, [ClaimOutcome(done, ended, PAID)]))
        if closes and not self.redis.away:
            self.run(close_shard(self.engine, self.batch.uuid, done.round, done.key.index // SHARD))

    @rule()
    def go_back(self) -> None:
        """A standby that lags behind is promoted: it knows the claim of an item that has ended, but not the end."""
        self.held = self.held[1:]

    @rule()
    def return_claims(self) -> None:
        """As for a batch that is paused, or a worker that stops."""
        returned, self.held = self.held, []
        again = self.run(give_back(self.engine, returned)) if returned else []
        if not self.redis.away:
            self.redis.messages.extend(one.key for one, anew in zip(returned, again, strict=True) if anew)

    @rule()
    def die(self) -> None:
        """The worker is killed, and its lease ends."""
        self.held = []
        self.sql(f"UPDATE workers SET lease_until = now() - interval '1 s' WHERE id = '{self.worker}'")
        self.begin_worker()

    @rule(forgets=st.booleans())
    def come_back(self, forgets: bool) -> None:
        self.be_away(False)
        if forgets:
            self.redis.messages.clear()

    @rule()
    def renew_lease(self) -> None:
        self.run(self.claims.disown_unheld())

    @rule()
    def sweep(self) -> None:
        self.run(self.reconciler.sweep())

    @invariant()
    def every_item_is_counted_once(self) -> None:
        if hasattr(self, "batch"):
            assert self.batch.status().counts.identity_holds

    def teardown(self) -> None:
        """Redis is back, people resume a paused batch, a worker with claims dies: two sweeps end a window."""
        if not hasattr(self, "batch"):
            return
        if self.held:  # a worker that lives ends them
            self.die()
        self.be_away(False)
        if self.batch.status().state is BatchStatus.PAUSED:
            self.command("resume", away=False, then="resume")
        view = self.batch.status()
        windows = -(-view.counts.n_items // SHARD)
        self.renew_lease()
        self.renew_lease()
        for _ in range(SWEEPS * windows):
            self.sweep()
            while self.redis.messages:
                self.take(7)
                while self.held:
                    self.end(decided=True, closes=False)
        self.sweep()
        view = self.batch.status()
        assert view.finished, view
        assert view.counts.identity_holds
        assert self.batch.summary() is not None


def test_every_batch_ends_after_any_commands_and_any_deaths_with_redis_up_and_down(
    client: Client, database_url: str
) -> None:
    with asyncio.Runner() as runner:
        engine = connect(database_url)
        try:
            run_state_machine_as_test(
                type("OnThisLedger", (Machine,), {"client": client, "engine": engine, "runner": runner}),
                settings=settings(
                    max_examples=settings().max_examples // 2,
                    stateful_step_count=12,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(engine.dispose())
