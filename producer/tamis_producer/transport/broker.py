"""The Celery application: the same settings for publishers and workers."""

import errno
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from queue import LifoQueue
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import redis
from celery import Celery
from kombu import Exchange, Queue, exceptions, pools
from kombu.exceptions import ChannelError, OperationalError
from kombu.transport import redis as redis_transport
from redis.asyncio.sentinel import MasterNotFoundError as AsyncMasterNotFoundError
from redis.exceptions import MasterDownError
from redis.sentinel import MasterNotFoundError

from tamis_schemas import BrokerUnavailable, Priority
from tamis_schemas.batches import wire
from tamis_schemas.values.network_words import network_words

from ..config.redaction import shown_url
from ..config.redis_clients import sentinel_options
from ..config.sentinel_url import SentinelUrl, is_redis
from ..config.settings import ProducerSettings
from .chord_backend import ChordBackend
from .failover_transport import FailoverAMQP

AGGREGATES_FIRST = 1000  # messages taken for each message of the lowest priority
CHORD_JOIN_TIMEOUT = 30  # s; a join's claim lasts twice that, well under the visibility timeout
DAY = 86_400  # s
OF_OTHERS = "celery"  # Celery's default queue, for a service's signature that names no queue
# RabbitMQ: a message counts as published when most servers have it. A classic queue loses some when a server dies.
QUORUM = {"x-queue-type": "quorum"}
# A server short of memory or disk accepts nothing and reports nothing, so a publisher without a timeout waits for ever.
ON_AMQP = {"confirm_publish": True, "read_timeout": 15, "write_timeout": 15}
# For submitters: the time for a connection, and again for each answer, without a second try. The ledger keeps the
# unpublished items, and the workers dispatch them.
PRODUCER_WAITS = 0.8  # s
HEARTBEAT_ON_AMQP = 20  # s; a cut connection is noticed after two, and its messages go to other workers
REFUSED_ON_AMQP: dict[object, str] = {  # by reply code
    403: "refuses this user or its password, or denies it a permission",
    530: "does not have this virtual host, or denies this user access to it",
}
USUAL_PORTS = {"amqp": 5672, "pyamqp": 5672, "amqps": 5671}
REDIS_PORT = 6379
BACKEND = f"{ChordBackend.__module__}:{ChordBackend.__name__}"


class WeightedOrder:
    """Start-time fair queueing over queue names, as kombu's `queue_order_strategy`.

    Each queue has a virtual time, which advances by 1/weight with each message taken. The queue with the earliest time
    is served first. A queue that was empty does not catch up: it starts at the time of the queue served last. (Goyal,
    Vin, Cheng: Start-time Fair Queuing, SIGCOMM 1996.)
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._times: dict[str, float] = {}
        self._now = 0.0
        self.update(names)

    def update(self, names: Iterable[str]) -> None:
        """Replace the queues that are served."""
        self._times = {name: self._times.get(name, self._now) for name in names}

    def consume(self, n: int) -> list[str]:
        """Return the first `n` queues in the order of service."""
        # Rounding keeps ties between sums of sixteenths and quarters; names decide ties.
        return sorted(self._times, key=lambda name: (round(max(self._times[name], self._now), 6), name))[:n]

    def rotate(self, last_used: str) -> str:
        """Advance the time of the queue from which a message was taken, and return the queue's name."""
        if last_used in self._times:
            self._now = max(self._times[last_used], self._now)
            self._times[last_used] = self._now + 1 / weight(last_used)
        return last_used


def weight(queue: str) -> int:
    """Return the weight of a queue: how many messages are taken from it, compared with other queues."""
    if queue == wire.CONTROL_QUEUE:
        return AGGREGATES_FIRST
    item_queue = wire.ITEM_QUEUES.get(queue)
    return (item_queue.priority if item_queue else Priority.NORMAL).weight


def make_app(settings: ProducerSettings, *, concurrency: int = 16, within: float | None = None) -> Celery:
    """Return a Celery application for the broker in `settings`, without connecting.

    `concurrency`: messages that this process may acknowledge at once, which determine the size of connection pools.
    `within`: time limit in seconds for connecting and for each answer, without a second try. None: the usual limits.
    """
    backend = f"{BACKEND}+{shown_url(settings.result_backend)}"  # Celery's tools print it
    sentinels = SentinelUrl.read(settings.broker)
    broker = sentinels.celery_url if sentinels else settings.broker
    app = Celery("tamis", broker=broker, backend=backend, amqp=FailoverAMQP, set_as_current=False)
    connections = 2 * concurrency + 50
    on_amqp = not is_redis(broker)
    app.conf.update(
        # Acknowledge a message only after its result is committed: if its worker dies, the broker delivers it again.
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_enable_prefetch_count_reduction=False,  # the reduction counts threads, which items do not use
        # Storing header results is the most expensive part of a task, and nothing reads them.
        task_ignore_result=True,
        worker_deduplicate_successful_tasks=False,  # deduplicating a header makes its chord hang
        worker_cancel_long_running_tasks_on_connection_loss=False,  # True would lose tasks in flight
        broker_transport_options=dict(ON_AMQP) if on_amqp else _on_redis(settings, connections),
        broker_heartbeat=HEARTBEAT_ON_AMQP,
        broker_place=place(settings.broker),  # for messages; Celery has no such setting
        secret_result_url=settings.result_backend,  # Celery's tools hide settings with this word
        result_backend_transport_options={"global_keyprefix": wire.KEY_PREFIX},
        redis_max_connections=connections,
        redis_socket_timeout=15,
        redis_backend_health_check_interval=25,
        result_backend_always_retry=True,
        result_backend_max_retries=30,
        result_chord_join_timeout=CHORD_JOIN_TIMEOUT,
        result_expires=DAY,
        result_chord_expires=7 * DAY,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        # A full or read-only Redis refuses single commands, so a worker reconnects after such a refusal.
        broker_channel_error_retry=True,
        task_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        worker_send_task_events=True,
        task_send_sent_event=False,
        task_default_queue=OF_OTHERS,
        task_queues=[
            Queue(name, Exchange(name, type="direct"), routing_key=name, queue_arguments=QUORUM if on_amqp else None)
            for name in (*wire.ITEM_QUEUES, wire.CONTROL_QUEUE)
        ],
        task_routes={wire.AGGREGATE: {"queue": wire.CONTROL_QUEUE}},
        task_publish_retry_policy={"max_retries": 3, "interval_start": 0.1, "interval_step": 0.3},
        worker_hijack_root_logger=False,
    )
    if sentinels:
        app.conf.update(
            broker_transport_options=app.conf.broker_transport_options
            | {"master_name": sentinels.service, "sentinel_kwargs": sentinel_options(sentinels)},
            broker_use_ssl=dict(sentinels.tls),
        )
    if within is not None:
        app.conf.update(
            broker_connection_timeout=within,
            broker_transport_options=app.conf.broker_transport_options | impatient(within),
            redis_socket_timeout=within,
            redis_socket_connect_timeout=within,
            result_backend_transport_options=app.conf.result_backend_transport_options
            | {"retry_policy": {"max_retries": 0}},
            task_publish_retry_policy={"max_retries": 0},
        )
    return app


def _on_redis(settings: ProducerSettings, connections: int) -> dict[str, Any]:
    """Return the options of kombu's Redis transport; times in seconds."""
    return {
        "visibility_timeout": settings.visibility_timeout,
        "max_connections": connections,
        "socket_timeout": 15,
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
        "health_check_interval": 25,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 2,
        "global_keyprefix": wire.KEY_PREFIX,
        "queue_order_strategy": f"{WeightedOrder.__module__}:{WeightedOrder.__name__}",
        "priority_steps": [0],  # each priority has its own queue and Redis list
    }


def forget_pools(app: Celery) -> list[tuple[object, object]]:
    """Remove an application's connections from kombu's pools, and return these connections, which stay open.

    Otherwise other applications would use the connections, because kombu shares pools by URL. In the child of a fork,
    kombu would also close the connections, which on RabbitMQ ends the parent's connections.
    """
    taken: list[tuple[object, object]] = []
    for group, pool in ((pools.producers, app.amqp._producer_pool), (pools.connections, app._pool)):
        if pool is None:
            continue
        for key in [key for key, shared in group.items() if shared is pool]:
            dict.pop(group, key)
        taken.append((pool._resource, pool._dirty))
        pool._resource, pool._dirty = LifoQueue(), set()
    return taken


@contextmanager
def broker_errors(app: Celery) -> Iterator[None]:
    """Turn the broker's errors inside this block into `BrokerUnavailable`, without passwords."""
    try:
        yield
    except _transport_errors(app) as error:
        raise BrokerUnavailable(f"the broker at {app.conf.broker_place} {what_is_wrong(error)}") from error


def place(url: str) -> str:
    """Return the host and port of a broker, or of any Redis server, without user and password."""
    if sentinels := SentinelUrl.read(url):
        return str(sentinels)
    parts = urlsplit(url)
    return f"{parts.hostname or parts.path}:{parts.port or USUAL_PORTS.get(parts.scheme, REDIS_PORT)}"


def what_is_wrong(error: BaseException) -> str:
    """Return why a broker failed, in words to print after the broker's name. The words do not contain any sent data."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"has a certificate that is not accepted: {cause.verify_message}"
        if isinstance(cause, redis.ResponseError | redis.BusyLoadingError | redis.AuthenticationError):
            return _refusal(cause)
        if isinstance(cause, MasterNotFoundError | AsyncMasterNotFoundError):
            return "has no primary: its Sentinels do not answer, or see none that works"
        if isinstance(cause, OSError) and cause.errno == errno.EMFILE:
            return f"cannot be reached: {network_words(str(cause))}"
        if (refused := REFUSED_ON_AMQP.get(getattr(cause, "reply_code", None))) is not None:
            return refused
        cause = cause.__cause__ or cause.__context__
    return "does not answer"


def _refusal(error: redis.RedisError) -> str:
    match error:
        case redis.OutOfMemoryError():
            return "is full: it has reached its maxmemory"
        case redis.ReadOnlyError() | MasterDownError():
            return "accepts no writes: it is a replica"
        case redis.BusyLoadingError():
            return "is still loading its data"
        case redis.AuthenticationError():
            return "refuses the password"
        case _ if str(error).startswith("MISCONF"):
            return "accepts no writes: it cannot save to its disk"
        case _ if "no permissions" in str(error).lower():
            return "denies this user a permission"
        case _:
            return f"refuses: {str(error).split()[0] if str(error) else type(error).__name__}"


def _transport_errors(app: Celery) -> tuple[type[Exception], ...]:
    connection: Any = app.connection_for_write()
    uncertain = getattr(exceptions, "BatchPublishError", OperationalError)  # kombu 5.5 and 5.6 have none
    return (OperationalError, uncertain, OSError, *connection.connection_errors, *connection.channel_errors)


def impatient(within: float) -> dict[str, Any]:
    """Return transport options that limit a connection and an answer to `within` seconds, without a second try."""
    return {
        "max_retries": 0,
        "interval_start": 0,
        "socket_timeout": within,
        "socket_connect_timeout": within,
        "read_timeout": within,  # the name in RabbitMQ's client
        "write_timeout": within,
    }


def waiting_messages(app: Celery, *, within: float) -> dict[str, int]:
    """Return the number of messages waiting in each queue, over a new connection. May raise `BrokerUnavailable`.

    `within`: time limit in seconds for the connection and for each answer, without a second try.
    """
    options = app.conf.broker_transport_options | impatient(within)
    with broker_errors(app), app.connection_for_read(connect_timeout=within, transport_options=options) as connection:
        return {name: _depth(connection, name) for name in (*wire.ITEM_QUEUES, wire.CONTROL_QUEUE)}


def passes_on(app: Celery, text: str, *, within: float) -> bool:
    """Publish a text to a temporary queue, and return whether the text comes back. May raise `BrokerUnavailable`.

    `within`: seconds for the connection, and again for each answer, without a second try.
    """
    options = app.conf.broker_transport_options | impatient(within)
    kind = None if is_redis(str(app.conf.broker_url)) else QUORUM
    with broker_errors(app), app.connection_for_write(connect_timeout=within, transport_options=options) as connection:
        channel = connection.default_channel
        queue = Queue(f"doctor.{uuid4()}", channel=channel, expires=60, queue_arguments=kind)
        queue.declare()
        try:
            connection.Producer(channel).publish(text, routing_key=queue.name)
            message = queue.get(accept=["json", "text/plain"])
            if message is not None:
                message.ack()
            return message is not None and message.payload == text
        finally:
            queue.delete()


def queue_depths(app: Celery) -> dict[wire.ItemQueue, int]:
    """Return the number of messages waiting in each item queue. May raise `BrokerUnavailable`."""
    with broker_errors(app), app.pool.acquire(block=True) as connection:
        return {queue: _depth(connection, name) for name, queue in wire.ITEM_QUEUES.items()}


def _depth(connection: Any, queue: str) -> int:
    channel = connection.default_channel
    if isinstance(channel, redis_transport.Channel):
        # Not the passive declaration below: kombu looks for the list without the key prefix, and reports every queue
        # empty.
        return int(channel._size(queue))
    try:
        return int(channel.queue_declare(queue, passive=True).message_count)
    except ChannelError as error:
        if str(error.reply_code) == "404":  # AMQP: not found
            return 0
        raise
