"""Messages out of a Redis that is in trouble: a real server, and kombu's own channel."""

from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
import redis
from kombu import Connection
from kombu.transport.virtual import QoS

from tamis_cli.embedded.valkey import Valkey
from tamis_worker.celery_adapter.consumer_step import install_resilient_qos


class Consumer:
    """A channel that has taken one message, and what was heard of refusals."""

    def __init__(self, url: str) -> None:
        self.connection = Connection(url)
        self.channel: Any = self.connection.default_channel
        self.held_back = False
        self.refusals: list[Exception] = []
        install_resilient_qos(self.channel, lambda: self.held_back, self.refusals.append, print)
        self.channel.queue_declare("letters")
        self.connection.Producer(serializer="json").publish({"n": 1}, routing_key="letters")

    def take(self) -> Any:
        """The message, as Redis gave it out; not noted as taken yet."""
        return self.channel.Message(self.channel._get("letters"), channel=self.channel)

    def takes_its_only_message(self) -> Any:
        """A message that takes the only place."""
        qos, message = self.channel.qos, self.take()
        qos.prefetch_count = 1
        qos.append(message, message.delivery_tag)
        assert not qos.can_consume()
        return message


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Valkey]:
    with Valkey(tmp_path / "valkey") as running:
        yield running


@pytest.fixture
def consumer(server: Valkey) -> Iterator[Consumer]:
    consumer = Consumer(server.url)
    yield consumer
    consumer.connection.close()


def admin(server: Valkey) -> redis.Redis:
    return redis.Redis.from_url(server.url)


def test_a_message_that_a_full_redis_gives_out_and_does_not_note_is_taken(server: Valkey, consumer: Consumer) -> None:
    message = consumer.take()
    admin(server).config_set("maxmemory", 1)
    consumer.channel.qos.append(message, message.delivery_tag)
    assert consumer.channel.qos.get(message.delivery_tag) is message
    (refusal,) = consumer.refusals
    assert isinstance(refusal, redis.OutOfMemoryError)
    message.ack()


def test_a_message_is_noted_where_redis_takes_it(server: Valkey, consumer: Consumer) -> None:
    message = consumer.take()
    consumer.channel.qos.append(message, message.delivery_tag)
    assert admin(server).hexists("unacked", message.delivery_tag)
    assert consumer.refusals == []


def test_nothing_is_taken_while_the_worker_holds_back(consumer: Consumer) -> None:
    assert consumer.channel.qos.can_consume()
    consumer.held_back = True
    assert not consumer.channel.qos.can_consume()


def test_the_number_of_messages_in_flight_is_bounded_as_before(server: Valkey) -> None:
    connection = Connection(server.url)
    channel: Any = connection.default_channel
    channel.basic_qos(prefetch_count=1)
    install_resilient_qos(channel, lambda: False, lambda error: None, print)
    QoS.append(channel.qos, object(), "tag")
    assert not channel.qos.can_consume()
    QoS.ack(channel.qos, "tag")
    assert channel.qos.can_consume()
    connection.close()


def test_a_read_that_is_refused_is_a_read_without_a_message(server: Valkey, consumer: Consumer) -> None:
    channel = consumer.channel
    channel.client.connection = channel.client.connection_pool.get_connection()
    channel._queue_cycle.update(["letters"])
    channel._active_queues.append("letters")
    admin(server).replicaof("127.0.0.1", 1)
    channel._brpop_start()
    with pytest.raises(Empty):
        channel.handlers["BRPOP"]()
    (refusal,) = consumer.refusals
    assert isinstance(refusal, redis.ReadOnlyError)


def test_a_connection_to_a_server_that_is_gone_can_be_closed_though_messages_are_not_acknowledged(
    server: Valkey, consumer: Consumer
) -> None:
    message = consumer.take()
    consumer.channel.qos.append(message, message.delivery_tag)
    server.process.kill()
    consumer.channel.qos.restore_unacked_once()  # as the channel does at its end


def test_a_message_whose_connection_is_gone_can_be_acknowledged(server: Valkey, consumer: Consumer) -> None:
    """As the end of an aggregate does that began before Redis went away: the process would end of it."""
    message = consumer.takes_its_only_message()
    server.process.kill()
    consumer.connection.collect()
    message.ack()
    assert consumer.channel.qos.can_consume()


def test_a_refused_acknowledgement_takes_no_place_and_is_told(server: Valkey, consumer: Consumer) -> None:
    message = consumer.takes_its_only_message()
    admin(server).replicaof("127.0.0.1", 1)
    message.reject()
    assert consumer.channel.qos.can_consume()
    (refusal,) = consumer.refusals
    assert isinstance(refusal, redis.ReadOnlyError)


def test_what_is_not_acknowledged_goes_back_to_its_queue_at_the_end(server: Valkey, consumer: Consumer) -> None:
    message = consumer.take()
    consumer.channel.qos.append(message, message.delivery_tag)
    consumer.connection.close()
    assert admin(server).llen("letters") == 1
