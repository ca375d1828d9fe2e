"""What a broker is told and asked, by what kind of server it is."""

import errno
import os
from collections import Counter

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from kombu import pools
from kombu.exceptions import BatchPublishError

from tamis_producer import ProducerSettings
from tamis_producer.transport.broker import (
    PRODUCER_WAITS,
    WeightedOrder,
    broker_errors,
    forget_pools,
    make_app,
    place,
    weight,
    what_is_wrong,
)
from tamis_schemas import BrokerUnavailable, Priority
from tamis_schemas.batches import wire

GROUPS = (pools.connections, pools.producers)
REDIS = "redis://:s3cret@redis.example/0"
LOW, NORMAL, HIGH = (wire.ItemQueue(priority, 0).name for priority in Priority)
OTHER_NORMAL = wire.ItemQueue(Priority.NORMAL, 1).name


def settings(broker_url: str) -> ProducerSettings:
    return ProducerSettings(broker_url=broker_url, result_backend_url=REDIS, database_url="postgresql+psycopg://h/d")


def test_a_place_is_named_without_user_and_password() -> None:
    assert place("rediss://user:s3cret@redis.example:6380/2") == "redis.example:6380"
    assert place(REDIS) == "redis.example:6379"
    assert place("amqp://user:s3cret@rabbit.example/tamis") == "rabbit.example:5672"
    assert place("amqps://user:s3cret@rabbit.example/tamis") == "rabbit.example:5671"


@pytest.mark.parametrize("scheme", ["amqp", "amqps", "pyamqp"])
def test_on_rabbitmq_queues_are_replicated_and_a_publisher_waits_for_that_but_not_for_ever(scheme: str) -> None:
    app = make_app(settings(f"{scheme}://user:s3cret@rabbit.example/tamis"))
    options = app.conf.broker_transport_options
    assert options["confirm_publish"] is True
    assert 0 < options["read_timeout"] <= 30
    assert 0 < options["write_timeout"] <= 30
    assert {queue.name for queue in app.conf.task_queues} == {*wire.ITEM_QUEUES, wire.CONTROL_QUEUE}
    assert all(queue.queue_arguments == {"x-queue-type": "quorum"} for queue in app.conf.task_queues)


def test_on_redis_a_queue_is_one_list_under_our_prefix() -> None:
    app = make_app(settings(REDIS))
    options = app.conf.broker_transport_options
    assert options["global_keyprefix"] == wire.KEY_PREFIX
    assert options["priority_steps"] == [0]  # more would be lists of other names
    assert all(queue.queue_arguments is None for queue in app.conf.task_queues)


class Refusal(Exception):
    """As RabbitMQ's client raises it."""

    def __init__(self, reply_code: int) -> None:
        super().__init__("Login was refused for user s3cret")
        self.reply_code = reply_code


@pytest.mark.parametrize(
    ("reply_code", "says"), [(403, "refuses this user"), (530, "virtual host"), (541, "does not answer")]
)
def test_what_rabbitmq_refuses_is_said_without_what_was_sent(reply_code: int, says: str) -> None:
    outer = OSError("outer")
    outer.__cause__ = Refusal(reply_code)
    assert says in what_is_wrong(outer)
    assert "s3cret" not in what_is_wrong(outer)


@pytest.mark.parametrize("url", [REDIS, "amqp://user:s3cret@rabbit.example/tamis"])
def test_whoever_submits_waits_less_than_a_second_for_each_step_and_tries_nothing_twice(url: str) -> None:
    conf = make_app(settings(url), within=PRODUCER_WAITS).conf
    options = conf.broker_transport_options
    assert PRODUCER_WAITS < 1
    assert options["max_retries"] == 0
    steps = ("socket_timeout", "socket_connect_timeout", "read_timeout", "write_timeout")
    assert {options[name] for name in steps} == {PRODUCER_WAITS}
    assert conf.broker_connection_timeout == conf.redis_socket_timeout == PRODUCER_WAITS
    assert conf.redis_socket_connect_timeout == PRODUCER_WAITS
    assert conf.result_backend_transport_options["retry_policy"] == {"max_retries": 0}
    assert conf.result_backend_transport_options["global_keyprefix"] == wire.KEY_PREFIX
    assert conf.task_publish_retry_policy == {"max_retries": 0}


def test_messages_whose_publication_failed_halfway_are_left_to_the_workers() -> None:
    with (
        pytest.raises(BrokerUnavailable, match="the broker at h:6379 does not answer"),
        broker_errors(make_app(settings("redis://h/0"))),
    ):
        raise BatchPublishError("delivery is uncertain")


def test_workers_wait_for_the_broker_with_patience() -> None:
    conf = make_app(settings(REDIS)).conf
    assert "max_retries" not in conf.broker_transport_options
    assert conf.broker_transport_options["socket_timeout"] >= 15


def test_after_a_fork_the_pools_of_an_application_are_found_by_nobody_and_closed_by_nobody() -> None:
    app = make_app(settings(REDIS))
    shared = (app.pool, app.producer_pool)  # nothing is connected yet
    theirs = [pool._resource for pool in shared]
    assert all(any(one is pool for one in group.values()) for group, pool in zip(GROUPS, shared, strict=True))
    kept = forget_pools(app)
    assert not any(one is pool for group in GROUPS for one in group.values() for pool in shared)
    assert {id(resource) for resource, _ in kept} == set(map(id, theirs))
    assert all(pool._resource.empty() and not pool._dirty for pool in shared)  # what kombu closes in a child
    assert make_app(settings(REDIS)).pool is not shared[0]


def test_an_application_that_published_nothing_has_nothing_to_leave() -> None:
    assert forget_pools(make_app(settings(REDIS))) == []


def served(order: WeightedOrder, filled: set[str], turns: int) -> list[str]:
    """Which queues are served where exactly these hold messages."""
    taken = []
    for _ in range(turns):
        first = next(name for name in order.consume(len(wire.ITEM_QUEUES) + 1) if name in filled)
        taken.append(order.rotate(first))
    return taken


def test_full_queues_are_served_by_their_weights() -> None:
    order = WeightedOrder(wire.ITEM_QUEUES)
    # 1 + 4 + 4 + 16 = 25 turns a round
    counts = Counter(served(order, {LOW, NORMAL, OTHER_NORMAL, HIGH}, 40 * 25))
    assert {name: round(count / 40) for name, count in counts.items()} == {LOW: 1, NORMAL: 4, OTHER_NORMAL: 4, HIGH: 16}


def test_two_batches_of_one_priority_take_turns() -> None:
    turns = served(WeightedOrder(wire.ITEM_QUEUES), {NORMAL, OTHER_NORMAL}, 10)
    assert Counter(turns[:2]) == Counter(turns[2:4]) == Counter({NORMAL: 1, OTHER_NORMAL: 1})


def test_a_queue_that_was_empty_does_not_catch_up() -> None:
    order = WeightedOrder(wire.ITEM_QUEUES)
    served(order, {NORMAL}, 1000)
    counts = Counter(served(order, {NORMAL, OTHER_NORMAL}, 100))
    assert counts[NORMAL] >= 49


def test_a_newcomer_is_served_next() -> None:
    order = WeightedOrder(wire.ITEM_QUEUES)
    served(order, {NORMAL}, 1000)
    assert OTHER_NORMAL in served(order, {NORMAL, OTHER_NORMAL}, 2)


def test_aggregates_go_before_all_items() -> None:
    order = WeightedOrder([*wire.ITEM_QUEUES, wire.CONTROL_QUEUE])
    served(order, {HIGH}, 50)
    counts = Counter(served(order, {HIGH, NORMAL, wire.CONTROL_QUEUE}, 100))
    assert counts[wire.CONTROL_QUEUE] >= 95


def test_queues_named_anew_keep_their_turn() -> None:
    order = WeightedOrder([NORMAL, OTHER_NORMAL])
    order.rotate(NORMAL)
    order.update([NORMAL, OTHER_NORMAL, HIGH])
    assert order.consume(3)[-1] == NORMAL


def test_a_queue_of_another_release_counts_as_normal() -> None:
    assert weight("items") == Priority.NORMAL.weight


@given(st.lists(st.sets(st.sampled_from(sorted(wire.ITEM_QUEUES)), min_size=1), min_size=1, max_size=60))
def test_whoever_stays_filled_is_served_within_a_bounded_number_of_turns(filled: list[set[str]]) -> None:
    order = WeightedOrder(wire.ITEM_QUEUES)
    for names in filled:  # whatever came before
        served(order, names, 3)
    # Everybody filled: a round has LANES x (1 + 4 + 16) turns, and nobody waits longer than two of them.
    turns = served(order, set(wire.ITEM_QUEUES), 2 * wire.LANES * 21)
    assert set(turns) == set(wire.ITEM_QUEUES)


def test_a_process_with_too_many_open_files_says_so_and_not_that_the_broker_is_away() -> None:
    refused = redis.ConnectionError("Error 24 connecting to redis.example:6379.")
    refused.__cause__ = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    assert what_is_wrong(refused) == (
        "cannot be reached: this process has too many open files: raise its limit (`ulimit -n`)"
    )
