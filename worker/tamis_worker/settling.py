"""Settling deliveries in groups: count the parts of their chords, tell the events, acknowledge the messages."""

import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kombu.transport import redis as redis_transport
from kombu.transport.virtual import QoS

from tamis_producer.backend import ChordBackend

if TYPE_CHECKING:
    from .deliveries import Delivery

log = logging.getLogger(__name__)


def settle(deliveries: Sequence["Delivery"]) -> None:
    """Settle deliveries of one connection. What fails is made good by the reconciler, or by another delivery."""
    _count_parts(deliveries)
    _tell(deliveries)
    try:
        _acknowledge(deliveries)
    except Exception as error:  # the messages come again, and find their items done
        log.warning("%d messages could not be acknowledged: %s", len(deliveries), error)


def _count_parts(deliveries: Sequence["Delivery"]) -> None:
    chords: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in deliveries:
        if delivery.group is not None and delivery.place is not None and delivery.body is not None:
            chords[delivery.group].append(delivery)
    for group, parts in chords.items():
        backend: ChordBackend = parts[0].task.backend
        body = parts[0].body
        assert body is not None  # noqa: S101 - a chord's part has one, see above
        try:
            backend.parts_returned(group, [part.place for part in parts if part.place is not None], body)
        except Exception as error:  # the reconciler closes the shard
            log.warning("%d parts of a chord could not be counted: %s", len(parts), error)


def _tell(deliveries: Sequence["Delivery"]) -> None:
    now = time.time()
    for delivery in deliveries:
        if delivery.eventer is not None and delivery.eventer.enabled:
            delivery.eventer.send("task-succeeded", uuid=delivery.id, result="None", runtime=now - delivery.started)


def _acknowledge(deliveries: Sequence["Delivery"]) -> None:
    channel = deliveries[0].message.channel
    qos = channel.qos
    if isinstance(qos, redis_transport.QoS):
        # As its own `ack` does for each one in a round trip, but for all of them in one.
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
