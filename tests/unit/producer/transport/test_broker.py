"""What a broker is told and asked, by what kind of server it is."""

import pytest
from kombu import pools

from tamis_producer import ProducerSettings
from tamis_producer.transport.broker import PRODUCER_WAITS, forget_pools, make_app, place, what_is_wrong
from tamis_schemas.batches import wire

GROUPS = (pools.connections, pools.producers)
REDIS = "redis://:s3cret@redis.example/0"


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
