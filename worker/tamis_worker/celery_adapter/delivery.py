"""A delivery: an item's message from the broker, until its acknowledgement.

Deliveries are settled in groups. To settle means: count the chord parts, send the events, acknowledge the messages.

Items can be revoked by headers, which is Celery's way to name tasks without their ids. `batch_id=UUID` names all items
of a batch; `item=UUID/INDEX` names one item. Messages do not contain these headers. A worker computes the headers from
a message's arguments.
"""

import logging
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kombu.transport import redis as redis_transport
from kombu.transport.virtual import QoS
from redis.exceptions import RedisError

from tamis_producer.process import tracing
from tamis_producer.transport.chord_backend import ChordBackend
from tamis_schemas import ErrorKind

from ..engine.item_end import ItemDecided, ItemEnd, NoOutcome
from ..ledger.claims import ItemKey

LARGEST_INDEX = 2**31 - 1  # the ledger's limit
MOST_RETRIES_TOLD = 3  # of one delivery: an endpoint that refuses every call must not cause endless events

log = logging.getLogger(__name__)

BATCH, ITEM = "batch_id", "item"


class Delivery:
    """One message of one item, with the fields that Celery, chords and events need."""

    __slots__ = (
        "__weakref__", "acknowledged", "args", "body", "end", "eventer", "group", "id", "key", "message", "name",
        "place", "retries", "started", "task", "traceparent",
    )  # fmt: skip

    def __init__(self, message: Any, task: Any, eventer: Any) -> None:
        """Read a message. Raise `ValueError`, `TypeError` or `KeyError` if the message is not for an item."""
        headers = message.headers
        (batch_id, index), _, embedded = message.payload
        self.message = message
        self.task = task
        self.eventer = eventer
        self.key = ItemKey(UUID(batch_id), int(index))
        if not 0 <= self.key.index <= LARGEST_INDEX:
            raise ValueError(f"no item has the index {self.key.index}")
        self.id: str = headers["id"]
        self.name: str = headers["task"]
        self.args: str = headers.get("argsrepr") or ""
        self.group: str | None = headers.get("group")  # of its chord
        self.place: int | None = headers.get("group_index")  # in that group
        self.body: dict[str, Any] | None = embedded.get("chord")  # of its chord
        self.traceparent: object = headers.get(tracing.HEADER)  # of its batch; unread, of any type
        self.acknowledged = False
        self.end: ItemEnd = NoOutcome.RETURNED  # default, until the item ends otherwise
        self.retries = 0  # failed calls that were followed by another one
        self.started = time.time()

    def info(self, safe: bool = False) -> dict[str, Any]:
        """Return the fields that `celery inspect active` and Flower show."""
        return {
            "id": self.id,
            "name": self.name,
            "args": self.args,
            "kwargs": {},
            "type": self.name,
            "hostname": getattr(self.eventer, "hostname", None),
            "time_start": self.started,
            "acknowledged": self.acknowledged,
            "delivery_info": dict(self.message.delivery_info),
            "worker_pid": os.getpid(),
            "stamps": stamps_of(self.key),
        }

    def send_received(self) -> None:
        """Send Celery's events for the receipt and the start of the item."""
        if self._eventful:
            self.eventer.send(
                "task-received",
                uuid=self.id,
                name=self.name,
                args=self.args,
                kwargs="{}",
                root_id=self.id,
                parent_id=None,
                retries=0,
                eta=None,
                expires=None,
            )
            self.eventer.send("task-started", uuid=self.id)

    def send_retried(self, kind: ErrorKind) -> None:
        """Send Celery's event for a failed model call that is repeated."""
        if self._eventful:
            self.eventer.send("task-retried", uuid=self.id, exception=kind.value, traceback=None)

    def send_end(self) -> None:
        """Send Celery's event for the end of the item, without the item's text and without an error's message."""
        if self._eventful:
            kind, fields = _end_event(self.end, time.time() - self.started)
            self.eventer.send(kind, uuid=self.id, **fields)

    @property
    def _eventful(self) -> bool:
        return self.eventer is not None and bool(self.eventer.enabled)


def _end_event(end: ItemEnd, seconds: float) -> tuple[str, dict[str, Any]]:
    """Return the name and the fields of the event for the end of an item.

    `task-returned` and `task-skipped` are events of Tamis, not of Celery, so Celery's counters omit them.
    """
    match end:
        case ItemDecided(words):
            return "task-succeeded", {"result": words, "runtime": seconds}
        case ErrorKind():
            return "task-failed", {"exception": end.value, "traceback": None}
        case NoOutcome.CANCELLED:
            return "task-revoked", {"terminated": False, "signum": None, "expired": False}
        case NoOutcome.NOT_BEGUN:
            return "task-retried", {"exception": end.value, "traceback": None}
        case NoOutcome.RETURNED:
            return "task-returned", {}
        case NoOutcome.SKIPPED:
            return "task-skipped", {}


def settle(deliveries: Sequence[Delivery]) -> list[Delivery]:
    """Count these deliveries in their chords, send their events, and acknowledge their messages.

    All deliveries come from one connection. Return the deliveries that could not be acknowledged.

    A delivery whose item was not begun is neither counted nor acknowledged, so its message returns to the queue. If
    the count fails, the reconciler (a periodic task) later completes that part of the batch.
    """
    begun = [delivery for delivery in deliveries if delivery.end is not NoOutcome.NOT_BEGUN]
    _count_parts(begun)
    for delivery in deliveries:
        delivery.send_end()
    return acknowledge(begun) if begun else []


def acknowledge(deliveries: Sequence[Delivery]) -> list[Delivery]:
    """Acknowledge deliveries of one connection, and return the deliveries that could not be acknowledged.

    A second acknowledgement is harmless.
    """
    try:
        _acknowledge(deliveries)
    except Exception as error:  # it is tried again; after a lost connection the messages come again
        log.warning("%d messages could not be acknowledged: %s", len(deliveries), error)
        return [delivery for delivery in deliveries if not delivery.acknowledged]
    return []


def _count_parts(deliveries: Sequence[Delivery]) -> None:
    chords: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in deliveries:
        if delivery.group is not None and delivery.place is not None and delivery.body is not None:
            chords[delivery.group].append(delivery)
    for group, parts in chords.items():
        backend: ChordBackend = parts[0].task.backend
        body = parts[0].body
        assert body is not None  # noqa: S101 - the loop above selects parts with a body
        try:
            backend.parts_returned(group, [part.place for part in parts if part.place is not None], body)
        except RedisError as error:  # the backpressure reports Redis; the reconciler closes the shard
            log.debug("%d parts of a chord could not be counted: %s", len(parts), error)
        except Exception as error:  # the reconciler closes the shard
            log.warning("%d parts of a chord could not be counted: %s", len(parts), error)


def _acknowledge(deliveries: Sequence[Delivery]) -> None:
    channel = deliveries[0].message.channel
    qos = getattr(channel, "qos", None)  # RabbitMQ's channels have none
    if isinstance(qos, redis_transport.QoS):
        # The statements of its own `ack`, but one round trip for all messages.
        tags = [delivery.message.delivery_tag for delivery in deliveries]
        with channel.conn_or_acquire() as client, client.pipeline(transaction=False) as pipe:
            pipe.zrem(qos.unacked_index_key, *tags).hdel(qos.unacked_key, *tags).execute()
        for tag in tags:
            QoS.ack(qos, tag)
    else:
        for delivery in deliveries:
            delivery.message.ack()
    for delivery in deliveries:
        delivery.acknowledged = True


@dataclass(frozen=True)
class Named:
    """The items that the headers of a revocation name: all items of some batches, and single items."""

    batch_ids: frozenset[UUID]
    keys: frozenset[ItemKey]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, ItemKey) and (key.batch_id in self.batch_ids or key in self.keys)


def stamps_of(key: ItemKey) -> dict[str, str]:
    """Return the headers that name an item, as `inspect active` shows them."""
    return {BATCH: str(key.batch_id), ITEM: f"{key.batch_id}/{key.index}"}


def named_by(headers: object) -> Named:
    """Return the items that `headers` name.

    `headers` has Celery's form: a mapping from a name to one or more values, or a list of texts `name=value`.

    Raise `ValueError` if there is no header, or an unknown or invalid one.
    """
    batch_ids: set[UUID] = set()
    keys: set[ItemKey] = set()
    for name, value in _pairs(headers):
        if name == BATCH:
            batch_ids.add(_batch_id(value))
        elif name == ITEM:
            batch_id, _, index = value.rpartition("/")
            if not index.isdecimal():
                raise ValueError(f"{ITEM}: {value!r} is not BATCH_ID/INDEX")
            keys.add(ItemKey(_batch_id(batch_id), int(index)))
        else:
            raise ValueError(f"no item has the header {name!r}: use {BATCH}=BATCH_ID or {ITEM}=BATCH_ID/INDEX")
    if not batch_ids and not keys:
        raise ValueError(f"no header: name items by {BATCH}=BATCH_ID or {ITEM}=BATCH_ID/INDEX")
    return Named(frozenset(batch_ids), frozenset(keys))


def _pairs(headers: object) -> Iterable[tuple[str, str]]:
    match headers:
        case Mapping():
            for name, values in headers.items():
                for value in [values] if isinstance(values, str) else values:
                    yield str(name), str(value)
        case list() | tuple():
            for pair in headers:
                name, _, value = str(pair).partition("=")
                yield name, value


def _batch_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a batch's id; `tamis batches --json` lists them") from None
