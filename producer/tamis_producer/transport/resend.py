"""Sending a dead letter again, as it came."""

from celery import Celery

from tamis_schemas import InvalidRequest
from tamis_schemas.batches import wire

from ..ledger.dead_letters import DeadLetter
from .broker import broker_errors

QUEUES = (*wire.ITEM_QUEUES, wire.CONTROL_QUEUE)
UNDONE = "compression"  # a header: the body is kept as it was before


def publish_again(app: Celery, letter: DeadLetter) -> None:
    """Publish a dead letter to the queue that it came from.

    Raises:
        InvalidRequest: that is no queue of the workers'.
        BrokerUnavailable: the broker does not take it.
    """
    if letter.queue not in QUEUES:
        raise InvalidRequest(f"dead letter {letter.id} names {letter.queue!r}, which is no queue of the workers'")
    headers = {name: value for name, value in letter.headers.items() if name != UNDONE}
    with broker_errors(app), app.producer_pool.acquire(block=True) as producer:
        producer.publish(
            letter.raw,
            routing_key=letter.queue,
            exchange=letter.queue,
            declare=[app.amqp.queues[letter.queue]],
            content_type=letter.content_type,
            content_encoding=letter.content_encoding,
            headers=headers,
            **letter.properties,
        )
