"""A shard's chord: its parts count once each, in groups, and with the last one its body is published once."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
from celery import Celery

from stage import abstracts
from tamis_producer import Client, ProducerSettings
from tamis_producer.transport.broker import make_app
from tamis_producer.transport.chord_backend import ChordBackend
from tamis_schemas import Filter, Priority
from tamis_schemas.batches import wire


@pytest.fixture
def app(settings: ProducerSettings) -> Iterator[Celery]:
    app = make_app(settings)
    yield app
    app.close()


@pytest.fixture
def broker(settings: ProducerSettings) -> Iterator[Any]:
    with redis.Redis.from_url(settings.broker) as client:
        yield client


def bodies(broker: Any) -> int:
    return int(broker.llen(f"{wire.KEY_PREFIX}{wire.CONTROL_QUEUE}"))


def backend_of(app: Celery, size: int | None) -> ChordBackend:
    backend = app.backend
    assert isinstance(backend, ChordBackend)
    if size is not None:
        backend.set_chord_size("g", size)
    return backend


def body(app: Celery) -> dict[str, Any]:
    signature: dict[str, Any] = app.signature(wire.AGGREGATE, args=("b", 1, 0), immutable=True)
    return signature


def test_the_body_is_published_with_the_last_part_and_only_then(app: Celery, broker: Any) -> None:
    backend = backend_of(app, size=5)
    backend.parts_returned("g", [0, 1, 2], body(app))
    assert bodies(broker) == 0
    backend.parts_returned("g", [3], body(app))
    assert bodies(broker) == 0
    backend.parts_returned("g", [4], body(app))
    assert bodies(broker) == 1


def test_a_part_that_comes_twice_counts_once(app: Celery, broker: Any) -> None:
    backend = backend_of(app, size=3)
    backend.parts_returned("g", [0, 1], body(app))
    backend.parts_returned("g", [0, 1], body(app))
    assert bodies(broker) == 0
    backend.parts_returned("g", [2], body(app))
    backend.parts_returned("g", [2], body(app))
    assert bodies(broker) == 1


def test_parts_that_come_before_the_size_is_known_are_not_forgotten(app: Celery, broker: Any) -> None:
    backend = backend_of(app, size=None)
    backend.parts_returned("g", [0, 1], body(app))
    assert bodies(broker) == 0
    backend.set_chord_size("g", 3)
    backend.parts_returned("g", [2], body(app))
    assert bodies(broker) == 1


def test_nothing_of_a_chord_stays_in_redis_for_ever(app: Celery, broker: Any) -> None:
    backend = backend_of(app, size=1)
    backend.parts_returned("g", [0], body(app))
    with redis.Redis.from_url(app.conf.secret_result_url) as results:
        keys = results.keys("*")
        assert len(keys) == 3
        assert all(0 < results.ttl(key) <= app.conf.result_chord_expires for key in keys)


def test_a_shard_is_published_as_a_chord_of_its_items(client: Client, settings: ProducerSettings, broker: Any) -> None:
    client.submit(Filter(criteria="Is it?"), abstracts(7), priority=Priority.HIGH)
    raw = broker.lrange(f"{wire.KEY_PREFIX}{wire.ItemQueue(Priority.HIGH, lane=wire.LANES - 1).name}", 0, -1)
    headers = [json.loads(message)["headers"] for message in raw]
    assert sorted(header["group_index"] for header in headers) == list(range(7))
    assert len({header["group"] for header in headers}) == 1
    assert len({header["id"] for header in headers}) == 7
    with redis.Redis.from_url(settings.result_backend) as results:
        size = [results.get(key) for key in results.keys("*.s")]
    assert size == [b"7"]


def test_each_batch_goes_through_the_emptiest_lane_of_its_priority(client: Client, broker: Any) -> None:
    for priority in [Priority.NORMAL] * wire.LANES + [Priority.LOW]:
        client.submit(Filter(criteria="Is it?"), abstracts(wire.SMALL + 1), priority=priority)
    assert in_lanes(broker, Priority.NORMAL) == [42, 21, 21, 0]
    assert in_lanes(broker, Priority.LOW) == [21, 0, 0, 0]


def test_the_emptiest_lane_is_that_with_the_fewest_items_not_that_with_the_fewest_batches(
    client: Client, broker: Any
) -> None:
    for n in (100, 21, 22, 23, 24):
        client.submit(Filter(criteria="Is it?"), abstracts(n, words=n))
    assert in_lanes(broker, Priority.NORMAL) == [100, 21 + 23, 22 + 24, 0]


def test_no_small_batch_waits_behind_a_large_one(client: Client, broker: Any) -> None:
    for n in (100, 100, 100, 100, wire.SMALL, 1):
        client.submit(Filter(criteria="Is it?"), abstracts(n, words=n))
    assert in_lanes(broker, Priority.NORMAL)[-1] == wire.SMALL + 1


def test_batches_that_are_submitted_at_the_same_moment_spread_over_the_lanes(
    settings: ProducerSettings, broker: Any
) -> None:
    def submit(words: int) -> None:
        with Client(settings) as client:
            client.submit(Filter(criteria="Is it?"), abstracts(21, words=words))

    with ThreadPoolExecutor(9) as threads:
        list(threads.map(submit, range(1, 10)))
    assert in_lanes(broker, Priority.NORMAL) == [63, 63, 63, 0]


def in_lanes(broker: Any, priority: Priority) -> list[int]:
    """How many messages wait in each lane of a priority."""
    queues = [wire.ItemQueue(priority, lane).name for lane in range(wire.LANES)]
    return [broker.llen(f"{wire.KEY_PREFIX}{queue}") for queue in queues]
