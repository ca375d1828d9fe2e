"""Windowed dispatch: at most `window` shards of a batch are in flight, each as one Celery chord.

A chord's header has one task per item, named after the operation. The chord's body is `tamis.aggregate`, which
dispatches the next shard. So Redis never holds more than `window` shards of a batch. A pause or a cancellation only
stops further dispatches.
"""

import logging
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from celery import Celery
from sqlalchemy import Connection, Engine, and_, func, select, text, update

from tamis_schemas import BatchStatus, BrokerUnavailable, Priority
from tamis_schemas.batches import wire
from tamis_schemas.batches.status import check_batch_transition
from tamis_schemas.ledger import batches, shards
from tamis_schemas.ledger.tables import ShardStatus

from ..ledger import ledger_errors
from ..process import tracing
from ..process.waiting import ON_THREAD, Waiting
from .broker import broker_errors, forget_pools

PUBLISH_BATCH = 500  # messages in one round trip to the broker
LANE_LOCK = 7_264_949  # a Postgres advisory lock: one batch chooses its lane at a time

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ItemAddress:
    """The address of an item in a message: its place in the batch, and its id."""

    index: int
    item_id: str


@dataclass(frozen=True)
class Shard:
    """A shard (a part of a batch) to be published, with its pending items."""

    batch_id: UUID
    round: int
    number: int
    operation: str
    queue: str
    items: tuple[ItemAddress, ...]
    traceparent: str | None = None  # trace of the batch's submission
    last: bool = False  # True if the shard fills the window, or no shard waits behind it


class Dispatcher:
    """A publisher of shards. Several processes may dispatch the same batch at once."""

    def __init__(self, engine: Engine, app: Celery, *, waiting: Waiting = ON_THREAD) -> None:
        """Prepare the publisher, without a connection.

        `waiting` lets an event loop do other work between two messages.
        """
        self._engine = engine
        self._app = app
        self._waiting = waiting

    def close(self) -> None:
        """Close the broker's connections."""
        self._app.close()

    def forget(self) -> object:
        """Leave the broker's connections to the parent process of a fork, and return them."""
        return forget_pools(self._app)

    def fill_window(self, batch_id: UUID, first: Shard | None = None) -> int:
        """Dispatch shards of a batch until it has its most shards in flight. Return the number of dispatched shards.

        A shard is marked before it is published. If the process is killed in between, a worker publishes the shard
        later. `first`: a shard that `take_shard` has marked already; None: there is none.

        Raises:
            BrokerUnavailable: publishing failed; the shard waits for dispatch again.
            LedgerUnavailable: the ledger does not answer.
        """
        dispatched = 0
        while (shard := first or self._take(batch_id)) is not None:
            first = None
            try:
                self._publish(shard)
            except BrokerUnavailable:
                self._change(shard, state=ShardStatus.WAITING)  # `dispatched_at` stays: some messages may have arrived
                raise
            self._change(shard, published_at=func.now())
            dispatched += 1
            if shard.last:
                break
        return dispatched

    def republish(self, batch_id: UUID, operation: str, addresses: Iterable[ItemAddress]) -> None:
        """Publish items whose messages were lost, each as a separate task.

        These tasks do not count towards the shard's chord, so a worker's regular check ends the shard after its items.
        May raise `BrokerUnavailable` and `LedgerUnavailable`.
        """
        with ledger_errors(), self._engine.connect() as connection:
            c = batches.c
            row = connection.execute(select(c.priority, c.lane, c.traceparent).where(c.id == batch_id)).one()
        queue = wire.ItemQueue(Priority(row.priority), row.lane or 0).name
        with (
            broker_errors(self._app),
            self._app.producer_pool.acquire(block=True) as producer,
            producer.batch(PUBLISH_BATCH),
        ):
            self._declare(producer, queue)
            for address in self._waiting.in_turns(addresses):
                self._send(producer, batch_id, operation, queue, address, row.traceparent)

    def request_summary(self, batch_id: UUID) -> None:
        """Ask a worker to summarise a cancelled batch. The worker does so if no item is pending or running.

        Raises:
            BrokerUnavailable: nothing was published; a worker's regular check writes the summary later.
            LedgerUnavailable: the ledger does not answer.
        """
        with ledger_errors(), self._engine.connect() as connection:
            c = batches.c
            row = connection.execute(select(c.round, c.traceparent).where(c.id == batch_id)).one()
        with broker_errors(self._app), self._app.producer_pool.acquire(block=True) as producer:
            self._body(batch_id, row.round, 0, row.traceparent).apply_async(producer=producer)

    def _take(self, batch_id: UUID) -> Shard | None:
        with ledger_errors(), self._engine.begin() as connection:
            return take_shard(connection, batch_id)

    def _publish(self, shard: Shard) -> None:
        """Publish a shard as a chord in Celery's protocol.

        Each part has the group's id and the body, and the backend stores the group's size. Celery's own `chord(...)`
        would need a round trip for each part.
        """
        body = self._body(shard.batch_id, shard.round, shard.number, shard.traceparent)
        with broker_errors(self._app), self._app.producer_pool.acquire(block=True) as producer:
            if not shard.items:
                body.apply_async(producer=producer)
                return
            body.freeze()
            group_id = str(uuid4())
            self._declare(producer, shard.queue)
            with producer.batch(PUBLISH_BATCH) if hasattr(producer, "batch") else nullcontext():
                for place, address in enumerate(self._waiting.in_turns(shard.items)):
                    part = {"group_id": group_id, "group_index": place, "chord": body}
                    self._send(
                        producer, shard.batch_id, shard.operation, shard.queue, address, shard.traceparent, **part
                    )
                # Before the last messages, so that a producer killed here leaves no chord without its size.
                self._app.backend.set_chord_size(group_id, len(shard.items))
        log.debug("dispatched shard %d of batch %s: %d items", shard.number, shard.batch_id, len(shard.items))

    def _body(self, batch_id: UUID, round_: int, shard: int, traceparent: str | None) -> Any:
        body = self._app.signature(
            wire.AGGREGATE,
            args=(str(batch_id), round_, shard),
            immutable=True,  # the task takes its numbers from the ledger, not from the header
            ignore_result=True,
            argsrepr=wire.shard_label(str(batch_id), round_, shard),
        )
        if traceparent is not None:
            body.set(headers=tracing.headers(traceparent))
        return body

    def _send(
        self,
        producer: Any,
        batch_id: UUID,
        operation: str,
        queue: str,
        address: ItemAddress,
        traceparent: str | None,
        **part: Any,
    ) -> None:
        self._app.send_task(
            wire.task_name(operation),
            args=(str(batch_id), address.index),
            producer=producer,
            queue=queue,
            declare=[],  # see `_declare`
            retry=False,  # a message only joins the producer's batch here
            ignore_result=True,
            argsrepr=wire.item_label(str(batch_id), address.index, address.item_id),
            kwargsrepr="{}",
            add_to_parent=False,
            headers=tracing.headers(traceparent),
            **part,
        )

    def _declare(self, producer: Any, queue: str) -> None:
        """Declare a queue once for many messages, because brokers other than Redis drop messages without a queue."""
        self._app.amqp.queues[queue](producer.channel).declare()

    def _change(self, shard: Shard, **values: Any) -> None:
        """Change the row of a shard that is still dispatched."""
        with ledger_errors(), self._engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(
                update(shards)
                .where(
                    shards.c.batch_id == shard.batch_id,
                    shards.c.round == shard.round,
                    shards.c.shard == shard.number,
                    shards.c.state == ShardStatus.DISPATCHED,
                )
                .values(**values)
            )


_BATCH = text("""
SELECT state, round, window_size, lane, priority, n_items, operation, traceparent FROM batches
WHERE id = :batch_id FOR UPDATE
""")
_NEXT_TWO = text("""
SELECT s.shard, s.first_idx, s.end_idx,
       (SELECT count(*) FROM shards d WHERE d.batch_id = :batch_id AND d.round = :round AND d.state = 'dispatched')
           AS in_flight
FROM shards s WHERE s.batch_id = :batch_id AND s.round = :round AND s.state = 'waiting' ORDER BY s.shard LIMIT 2
""")
# `now()` is the beginning of the transaction, which may have written many items since.
_MARKED = text("""
WITH marked AS (
    UPDATE shards SET state = 'dispatched', dispatched_at = clock_timestamp(), published_at = NULL
    WHERE batch_id = :batch_id AND round = :round AND shard = :shard
)
SELECT idx, item_id FROM item_states
WHERE batch_id = :batch_id AND idx >= :first_idx AND idx < :end_idx AND state = 'pending' ORDER BY idx
""")


def take_shard(connection: Connection, batch_id: UUID) -> Shard | None:
    """Mark the next shard of a batch as dispatched, in the caller's transaction, and return it for publication.

    Return None if the batch has its most shards in flight, no shard waits, or the batch neither waits nor runs.
    """
    batch = connection.execute(_BATCH, {"batch_id": batch_id}).one_or_none()
    if batch is None or BatchStatus(batch.state) not in (BatchStatus.PENDING, BatchStatus.RUNNING):
        return None
    next_two = connection.execute(_NEXT_TWO, {"batch_id": batch_id, "round": batch.round}).all()
    if not next_two or next_two[0].in_flight >= batch.window_size:
        return None
    waiting = next_two[0]
    bounds = {"shard": waiting.shard, "first_idx": waiting.first_idx, "end_idx": waiting.end_idx}
    pending = connection.execute(_MARKED, {"batch_id": batch_id, "round": batch.round, **bounds}).all()
    lane = batch.lane
    changes: dict[str, Any] = {}
    if lane is None:  # its first dispatch, or its priority was changed
        lane = changes["lane"] = _emptiest_lane(connection, batch.priority, small=batch.n_items <= wire.SMALL)
    if batch.state != BatchStatus.RUNNING:
        check_batch_transition(BatchStatus(batch.state), BatchStatus.RUNNING)
        changes |= {"state": BatchStatus.RUNNING, "started_at": func.clock_timestamp()}
    if changes:
        connection.execute(update(batches).where(batches.c.id == batch_id).values(changes))
    return Shard(
        batch_id=batch_id,
        round=batch.round,
        number=waiting.shard,
        operation=batch.operation,
        queue=wire.ItemQueue(Priority(batch.priority), lane).name,
        items=tuple(ItemAddress(row.idx, row.item_id) for row in pending),
        traceparent=batch.traceparent,
        last=len(next_two) == 1 or waiting.in_flight + 1 >= batch.window_size,
    )


def _emptiest_lane(connection: Connection, priority: str, *, small: bool) -> int:
    """Return the lane (queue number) of this priority with the fewest items in flight.

    For a `small` batch, return the last lane. Only small batches use that lane, so that no single call waits behind a
    large batch. A lock lets only one batch choose at a time.
    """
    if small:
        return wire.LANES - 1
    connection.execute(select(func.pg_advisory_xact_lock(LANE_LOCK)))
    b, s = batches.c, shards.c
    in_flight = and_(s.batch_id == b.id, s.round == b.round, s.state == ShardStatus.DISPATCHED)
    rows = connection.execute(
        select(b.lane, func.coalesce(func.sum(s.end_idx - s.first_idx), 0).label("items"))
        .select_from(batches.outerjoin(shards, in_flight))
        .where(b.priority == priority, b.state == BatchStatus.RUNNING)
        .group_by(b.lane)
    )
    items_in = {row.lane: row.items for row in rows}
    return min(range(wire.LANES - 1), key=lambda lane: items_in.get(lane, 0))
