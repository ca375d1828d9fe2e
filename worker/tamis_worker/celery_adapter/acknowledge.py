"""Settling deliveries in groups: count the parts of their chords, send the events, acknowledge the messages."""

import logging
from collections import defaultdict
from collections.abc import Sequence

from kombu.transport import redis as redis_transport
from kombu.transport.virtual import QoS
from redis.exceptions import RedisError

from tamis_producer.transport.chord_backend import ChordBackend

from ..engine.item_end import NoOutcome
from .delivery import Delivery

log = logging.getLogger(__name__)


def settle(deliveries: Sequence[Delivery]) -> list[Delivery]:
    """Settle deliveries of one connection; return those that could not be acknowledged.

    What was not begun is neither counted nor acknowledged: its message goes back to its queue. What else fails is made
    good by the reconciler.
    """
    begun = [delivery for delivery in deliveries if delivery.end is not NoOutcome.NOT_BEGUN]
    _count_parts(begun)
    for delivery in deliveries:
        delivery.send_end()
    return acknowledge(begun) if begun else []


def acknowledge(deliveries: Sequence[Delivery]) -> list[Delivery]:
    """Acknowledge messages of one connection; return those that could not be. To do it twice is harmless."""
    try:
        _acknowledge(deliveries)
    except Exception as error:  # it is tried again; and if the connection is lost the messages come again
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
        assert body is not None  # noqa: S101 - a chord's part has one, see above
        try:
            backend.parts_returned(group, [part.place for part in parts if part.place is not None], body)
        except RedisError as error:  # the backpressure tells of Redis; the reconciler closes the shard
            log.debug("%d parts of a chord could not be counted: %s", len(parts), error)
        except Exception as error:  # the reconciler closes the shard
            log.warning("%d parts of a chord could not be counted: %s", len(parts), error)


def _acknowledge(deliveries: Sequence[Delivery]) -> None:
    channel = deliveries[0].message.channel
    qos = getattr(channel, "qos", None)  # RabbitMQ's have none
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
