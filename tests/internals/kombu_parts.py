"""Kombu's parts: the transport for Redis, its channel and what it takes for delivered, and the pools."""

from contextlib import suppress
from queue import Empty, LifoQueue
from typing import Any

import fakeredis
import kombu
from celery import Celery
from kombu import pools
from kombu.asynchronous import Hub
from kombu.common import QoS
from kombu.transport import redis, virtual

from tamis_producer.transport.broker import WeightedOrder
from tamis_worker.celery_adapter.consumer_step import ResilientQoS
from tamis_worker.event_loop.loop import ThreadMailbox

from . import Contract, takes

KOMBU = Contract()
internal = KOMBU.internal


class Channel(redis.Channel):  # type: ignore[misc] # kombu ships no types
    """Kombu's own, with a Redis in this process."""

    def _create_client(self, asynchronous: bool = False) -> Any:
        return fakeredis.FakeRedis(server=self.connection.client.transport_options["server"])


class Transport(redis.Transport):  # type: ignore[misc]
    Channel = Channel


def channel(**options: Any) -> Any:
    options["server"] = fakeredis.FakeServer()
    return kombu.Connection(transport=Transport, transport_options=options).default_channel


def message(on: Any, tag: str = "tag") -> Any:
    properties = {"delivery_tag": tag, "delivery_info": {"exchange": "", "routing_key": "q"}}
    return on.Message({"properties": properties}, channel=on)


def one_in_flight() -> tuple[Any, Any]:
    """A channel whose only place is taken by a message, and its Redis."""
    on = channel()
    on.queue_declare("q")
    on.qos.prefetch_count = 1
    on.qos.append(message(on), "tag")
    return on, on._create_client()


@internal("kombu.pools.producers")
def _() -> None:
    app = Celery(broker="redis://h/0", set_as_current=False)
    for group, pool in ((pools.producers, app.producer_pool), (pools.connections, app.pool)):
        (key,) = [key for key, shared in group.items() if shared is pool]
        assert dict.pop(group, key) is pool
        assert pool not in group.values()


@internal("kombu.resource.Resource._resource")
def _() -> None:
    assert type(Celery(broker="redis://h/0", set_as_current=False).pool._resource) is LifoQueue


@internal("kombu.resource.Resource._dirty")
def _() -> None:
    pool = Celery(broker="memory://", set_as_current=False).pool
    with pool.acquire() as taken:
        assert pool._dirty == {taken}
    assert pool._dirty == set()


@internal("kombu.transport.redis.Channel._size")
def _() -> None:
    on = channel()
    on._create_client().lpush("q", "1", "2")
    assert (on._size("q"), on._size("other")) == (2, 0)


@internal("kombu.connection.Connection.get_transport_cls")
def _() -> None:
    connection = kombu.Connection("redis://h/0")
    assert (connection.get_transport_cls(), connection.transport_cls) == (redis.Transport, "redis")


@internal("kombu.transport.redis.Channel._get_pool")
def _() -> None:
    assert takes(redis.Channel._get_pool, None, asynchronous=True)
    assert takes(redis.SentinelChannel._get_pool, None, asynchronous=True)


@internal("kombu.transport.redis.Channel.queue_order_strategy")
def _() -> None:
    on = channel(queue_order_strategy=f"{WeightedOrder.__module__}:{WeightedOrder.__name__}")
    assert isinstance(on._queue_cycle, WeightedOrder)  # made without arguments
    on._active_queues.extend(["a", "b"])
    on._update_queue_cycle()  # by `update`
    assert on._queue_cycle.consume(2) == ["a", "b"]


@internal("kombu.transport.redis.Channel")
def _() -> None:
    assert redis.Transport.Channel is redis.Channel


@internal("kombu.transport.redis.Channel.conn_or_acquire")
def _() -> None:
    with channel().conn_or_acquire() as client:
        assert client.ping()


@internal("kombu.transport.redis.Channel.handlers")
def _() -> None:
    on = channel()
    called: list[str] = []

    def nothing_came() -> None:
        called.append("BRPOP")
        raise Empty

    assert callable(on.handlers["BRPOP"])
    on.handlers["BRPOP"] = nothing_came
    poller = on.connection.cycle
    poller._fd_to_chan[7] = (on, "BRPOP")
    with suppress(Empty):
        poller.on_readable(7)
        raise AssertionError("its error is lost")
    assert called == ["BRPOP"]


@internal("kombu.transport.redis.Channel.client")
def _() -> None:
    on = channel()
    assert on.client is on.client  # made once: what is put over its method stays
    assert takes(on.client.parse_response, "connection", "BRPOP")


@internal("kombu.transport.redis.Channel.sep")
def _() -> None:
    assert isinstance(channel().sep, str)


@internal("kombu.transport.virtual.Channel._qos")
def _() -> None:
    on = channel()
    ours = ResilientQoS(on, 5, lambda: True, lambda error: None)
    on._qos = ours
    assert on.qos is ours
    poller = on.connection.cycle
    poller._fd_to_chan[7] = (on, "LISTEN")
    poller.on_readable(7)  # asks `can_consume`, and reads nothing


@internal("kombu.transport.redis.QoS.append")
def _() -> None:
    _, client = one_in_flight()
    assert client.hexists("unacked", "tag")


@internal("kombu.transport.redis.QoS.can_consume")
def _() -> None:
    assert channel().qos.can_consume()
    assert not one_in_flight()[0].qos.can_consume()


@internal("kombu.transport.redis.QoS.ack")
def _() -> None:
    on, client = one_in_flight()
    on.qos.ack("tag")
    assert on.qos.can_consume()
    assert not client.exists("unacked", "unacked_index")


@internal("kombu.transport.redis.QoS.reject")
def _() -> None:
    on, client = one_in_flight()
    on.qos.reject("tag", requeue=False)
    assert on.qos.can_consume()
    assert not client.exists("unacked", "unacked_index", "q")


@internal("kombu.transport.redis.QoS.unacked_key")
def _() -> None:
    on, client = one_in_flight()
    assert client.hkeys(on.qos.unacked_key) == [b"tag"]


@internal("kombu.transport.redis.QoS.unacked_index_key")
def _() -> None:
    on, client = one_in_flight()
    assert client.zrange(on.qos.unacked_index_key, 0, -1) == [b"tag"]


@internal("kombu.transport.redis.QoS.restore_unacked_once")
def _() -> None:
    on, client = one_in_flight()
    on.qos.restore_unacked_once(None)
    assert (client.llen("q"), client.exists("unacked")) == (1, 0)
    again = channel().qos
    again.restore_unacked_once()
    assert again._on_collect.still_active() is False  # nothing is done at the end of the process


@internal("kombu.transport.redis.QoS.restore_visible")
def _() -> None:
    on, client = one_in_flight()
    client.zadd("unacked_index", {"tag": 1})  # long ago
    on.qos.restore_visible(num=None, interval=1)
    assert client.llen("q") == 1


@internal("kombu.transport.virtual.QoS.append")
def _() -> None:
    on = channel()
    virtual.QoS.append(on.qos, message(on), "tag")
    assert on.qos.get("tag").delivery_tag == "tag"
    assert not on._create_client().exists("unacked")  # noted in this process alone


@internal("kombu.transport.virtual.QoS.ack")
def _() -> None:
    on, client = one_in_flight()
    virtual.QoS.ack(on.qos, "tag")
    assert on.qos.can_consume()
    assert client.hexists("unacked", "tag")  # Redis is not asked


@internal("kombu.asynchronous.hub.Hub.add_reader")
def _() -> None:
    hub, mailbox = Hub(), ThreadMailbox[int]()
    hub.add_reader(mailbox, mailbox.take)  # whatever has a `fileno`
    callback, args = hub.readers[mailbox.fileno()]
    mailbox.put(7)
    assert callback(*args) == [7]
    hub.close()
    mailbox.close()


@internal("kombu.asynchronous.timer.Timer.call_repeatedly")
def _() -> None:
    assert takes(Hub().timer.call_repeatedly, 0.5, print, ("an argument",))


@internal("kombu.common.QoS.increment_eventually")
def _() -> None:
    counts: list[int] = []
    qos = QoS(lambda prefetch_count: counts.append(prefetch_count), 10)
    qos.increment_eventually(5)
    assert qos.value == 15
    qos.update()
    assert counts == [15]


@internal("kombu.common.QoS.decrement_eventually")
def _() -> None:
    qos = QoS(lambda prefetch_count: None, 10)
    qos.decrement_eventually(3)
    assert qos.value == 7
