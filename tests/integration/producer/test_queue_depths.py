"""How many messages wait: what the reconciler and the watchdog judge by."""

import pytest
import redis

from stage import abstracts
from tamis_producer import Client
from tamis_producer.transport.broker import make_app, queue_depths, waiting_messages
from tamis_schemas import BrokerUnavailable, Filter, Priority
from tamis_schemas.batches import wire

ONCOLOGY = Filter(criteria="Is this about oncology?")


def test_messages_that_wait_are_counted_queue_by_queue(client: Client) -> None:
    client.submit(ONCOLOGY, abstracts(120), shard_size=50, window=2)  # 2 shards of 50 are dispatched
    client.submit(ONCOLOGY, abstracts(27), priority=Priority.HIGH)
    app = make_app(client.settings)
    try:
        depths = queue_depths(app)
        assert {queue.name: n for queue, n in depths.items() if n} == {"items.normal.0": 100, "items.high.0": 27}
        assert set(depths) == set(wire.ITEM_QUEUES.values())
        waiting = waiting_messages(app, within=5)
        assert {name: n for name, n in waiting.items() if n} == {"items.normal.0": 100, "items.high.0": 27}
        assert wire.CONTROL_QUEUE in waiting
        with redis.Redis.from_url(client.settings.broker) as server:  # as a scaler asks, which knows nothing of Celery
            assert server.llen(f"{wire.KEY_PREFIX}items.normal.0") == 100
            assert server.llen(f"{wire.KEY_PREFIX}items.high.0") == 27
    finally:
        app.close()


def test_a_broker_that_is_away_is_asked_once_and_said_to_be_away(client: Client) -> None:
    app = make_app(client.settings.model_copy(update={"broker_url": "redis://:s3cret@127.0.0.1:1/0"}))
    try:
        with pytest.raises(BrokerUnavailable, match=r"127\.0\.0\.1:1 does not answer") as away:
            waiting_messages(app, within=0.5)
    finally:
        app.close()
    assert "s3cret" not in str(away.value)
