"""Celery's worker and its consumer, with a step that acknowledges finished items in groups.

One process takes the messages of all queues. Celery's pool has one thread. That thread closes shards (parts of a
batch), and completes the tasks that services send.

The channel to Redis is changed too: it can pause, and it survives errors of the server. Kombu ends the process if a
full Redis refuses to record a delivery, or if messages cannot be returned after a lost connection. Here the process
continues, because the ledger in Postgres records which items are finished.
"""

import json
import logging
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from queue import Empty
from types import SimpleNamespace
from typing import Any, ClassVar

import kombu
from celery import Celery, bootsteps
from celery.events import EventDispatcher
from celery.exceptions import InvalidTaskError, NotRegistered
from celery.worker.consumer import Consumer
from celery.worker.consumer.delayed_delivery import DelayedDelivery
from kombu import Exchange, Queue
from kombu.transport import redis as redis_transport
from kombu.transport.virtual import QoS
from redis.exceptions import DataError, ResponseError

from tamis_schemas import ConfigurationError
from tamis_schemas.batches import wire

from .awaited_strategy import AwaitedStrategy
from .foreign_messages import ForeignMessages, names_no_task, not_a_message, unknown_task, unreadable
from .item_strategy import ItemStrategy, goes_on

VERSION = version("tamis")  # a look-up costs as much as an item
_DELAYS = f"{DelayedDelivery.__module__}:{DelayedDelivery.__name__}"

log = logging.getLogger(__name__)


class ConsumerWithoutDelayQueues(Consumer):  # type: ignore[misc] # Celery ships no types
    """The consumer of every worker. It declares no delay queues, which Celery uses only on RabbitMQ."""

    class Blueprint(Consumer.Blueprint):  # type: ignore[misc]
        """Celery's steps, except the step for delay queues."""

        default_steps: ClassVar[list[str]] = [step for step in Consumer.Blueprint.default_steps if step != _DELAYS]

    foreign: ForeignMessages  # set by the step that settles, before a message is taken

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], None]:
        """Return the receiver for messages. The receiver refuses a message whose task name is, for example, a list."""
        usual = super().create_task_handler(*args, **options)

        def receive(message: Any) -> None:
            try:
                hash(message.headers["task"])
            except KeyError:  # of Celery's first protocol, or of no protocol
                pass
            except TypeError:
                self.on_unknown_message(None, message)
                return
            usual(message)

        return receive

    def on_unknown_message(self, body: Any, message: Any) -> None:
        """Refuse a message that names no task."""
        self.foreign.refuse(message, names_no_task())

    def on_unknown_task(self, body: Any, message: Any, exc: KeyError) -> None:
        """Refuse a message of an unregistered task, and report the failure to the message's sender."""
        name = exc.args[0]
        self.foreign.refuse(message, unknown_task(name, VERSION))
        task_id = message.headers.get("id")
        if isinstance(task_id, str) and not message.headers.get("ignore_result"):
            self.tell_not_registered(task_id, str(name))

    def on_invalid_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Refuse a message with wrong arguments, or with a body that is not JSON."""
        refused = isinstance(exc, InvalidTaskError)
        self.foreign.refuse(message, str(exc) if refused else unreadable(message.content_type, exc))

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        """Refuse a message with an unreadable body."""
        self.foreign.refuse(message, unreadable(message.content_type, exc))

    def tell_not_registered(self, task_id: str, name: str) -> None:
        """Report, in the result backend and in an event, that a task failed because it is not registered."""
        request = SimpleNamespace(name=name, chord=None, errbacks=None)
        try:
            self.app.backend.mark_as_failure(task_id, NotRegistered(name), request=request)
        except Exception as error:  # the backend is unreachable, or accepts no such id: the log has the refusal anyway
            log.debug("no sender learns that %r is not registered: %s", name, error)
        if self.event_dispatcher:
            self.event_dispatcher.send("task-failed", uuid=task_id, exception=f"NotRegistered({name!r})")


class UnrepeatedEvents(EventDispatcher):  # type: ignore[misc] # Celery ships no types
    """The sender of a worker's events. While the broker is unreachable, events wait for the next connection.

    Celery's own sender would block the consumer's thread, which must also notice a request to stop.
    """

    def send(self, type: str, *args: Any, retry: bool = False, **fields: Any) -> None:  # noqa: A002 - Celery's name
        """Send an event. Without a connection, keep the event until there is one. `retry` is ignored."""
        super().send(type, *args, **fields)


# All times are in seconds.
EVENTS_AT_ONCE = 300  # in one message
EVENTS_EVERY = 0.5
ACKNOWLEDGE_EVERY = 1.0  # after a failure
MAKE_ROOM_EVERY = 0.2
COUNT_EVERY = 1.0
AWAITED_AT_ONCE = 500  # messages of services, in one worker, beside its items


def install(app: Celery, strategy: ItemStrategy, awaited: AwaitedStrategy, foreign: ForeignMessages) -> None:
    """Add the consumer and the steps of Tamis to the workers of an application.

    `strategy` receives the messages of items. `awaited` receives the tasks that services send by name. `foreign`
    refuses messages that no worker understands.
    """
    app.conf.worker_consumer = f"{ConsumerWithoutDelayQueues.__module__}:{ConsumerWithoutDelayQueues.__name__}"
    app.events.dispatcher_cls = UnrepeatedEvents
    app.steps["consumer"].add(type("Settling", (_Settling,), {"strategy": strategy, "foreign": foreign}))
    awaiting = {"strategy": strategy, "awaited": awaited, "foreign": foreign}
    app.steps["consumer"].add(type("Awaiting", (_Awaiting,), awaiting))


def work(app: Celery, *, name: str, items_at_once: int, log_level: str) -> int:
    """Run a worker that takes messages until the process is asked to stop. Return the worker's exit code."""
    worker = app.Worker(
        hostname=name,
        pool="threads",
        concurrency=1,  # for tasks that close shards; items need no thread
        prefetch_multiplier=items_at_once,
        queues=[*wire.ITEM_QUEUES, wire.CONTROL_QUEUE],
        without_gossip=True,
        without_mingle=True,
        task_events=True,
        loglevel=log_level,
    )
    worker.start()
    return int(worker.exitcode or 0)


class _Settling(bootsteps.StartStopStep):  # type: ignore[misc] # Celery ships no types
    requires = ("celery.worker.consumer.tasks:Tasks",)
    strategy: ClassVar[ItemStrategy]
    foreign: ClassVar[ForeignMessages]

    def start(self, consumer: Any) -> None:
        if consumer.hub is None:
            raise ConfigurationError(
                "the worker needs Celery's event loop, which this platform or broker does not have"
            )
        consumer.foreign = self.foreign
        channel = consumer.task_consumer.channel
        install_resilient_qos(channel, self.strategy.holds_back, self.strategy.refused, self.foreign.refuse_bytes)
        consumer.hub.add_reader(self.strategy.finished, self.strategy.settle)
        consumer.hub.add_reader(self.foreign.refused, self.foreign.settle)
        eventer = consumer.event_dispatcher
        # Small groups at every turn of the hub would cost more than the items themselves.
        eventer.buffer_limit = EVENTS_AT_ONCE
        eventer.on_send_buffered = None
        consumer.hub.timer.call_repeatedly(EVENTS_EVERY, self.strategy.tell_retries)
        consumer.hub.timer.call_repeatedly(EVENTS_EVERY, eventer.flush)
        consumer.hub.timer.call_repeatedly(ACKNOWLEDGE_EVERY, self.strategy.acknowledge_again)
        consumer.hub.timer.call_repeatedly(ACKNOWLEDGE_EVERY, self.foreign.acknowledge_again)
        consumer.hub.timer.call_repeatedly(COUNT_EVERY, self.foreign.tell_unsaid)
        consumer.hub.timer.call_repeatedly(MAKE_ROOM_EVERY, self.strategy.make_room, (consumer,))

    def stop(self, consumer: Any) -> None:
        if goes_on():
            self.strategy.forget()
            self.foreign.forget()
            self.strategy.await_broker()
            return
        if consumer.task_consumer:
            consumer.task_consumer.cancel()
        self.strategy.finish()
        self.strategy.acknowledge_again()
        self.foreign.finish()
        if consumer.event_dispatcher:
            consumer.event_dispatcher.flush()


class _Awaiting(bootsteps.StartStopStep):  # type: ignore[misc] # Celery ships no types
    """A step that takes services' messages over a separate channel. These messages do not count as items in flight."""

    requires = ("celery.worker.consumer.tasks:Tasks",)
    strategy: ClassVar[ItemStrategy]
    awaited: ClassVar[AwaitedStrategy]
    foreign: ClassVar[ForeignMessages]

    def start(self, consumer: Any) -> None:
        self._sent = kombu.Consumer(
            consumer.connection.channel(),
            # As Celery declares a queue with only a name: RabbitMQ refuses two different declarations.
            [Queue(wire.DOOR_QUEUE, Exchange(wire.DOOR_QUEUE), routing_key=wire.DOOR_QUEUE)],
            on_message=consumer.create_task_handler(),
            accept=consumer.app.conf.accept_content,
            prefetch_count=AWAITED_AT_ONCE,
        )
        channel, strategy = self._sent.channel, self.strategy
        install_resilient_qos(channel, strategy.holds_back, strategy.refused, self.foreign.refuse_bytes)
        consumer.hub.add_reader(self.awaited.due, self.awaited.settle)
        self._sent.consume()

    def stop(self, consumer: Any) -> None:
        if not goes_on():
            self._sent.cancel()
            self.awaited.finish()
        self.awaited.forget()


def install_resilient_qos(
    channel: Any,
    holds_back: Callable[[], bool],
    refused: Callable[[Exception], None],
    no_message: Callable[[str, bytes, str], None],
) -> None:
    """Change a consumer's channel to Redis: it pauses while `holds_back()` is True, and survives errors.

    If Redis refuses a command, `refused` gets the error. If an entry of a queue is not a message, `no_message` gets the
    queue's name, the entry's bytes and the error. Call this function before the first message. Other channels stay
    unchanged.
    """
    if not isinstance(channel, redis_transport.Channel):
        return
    usual = channel.qos
    usual.restore_unacked_once()  # now, while no message waits; kombu would otherwise restore messages at the end
    channel._qos = ResilientQoS(channel, usual.prefetch_count, holds_back, refused)
    read = channel.handlers["BRPOP"]
    client = channel.client
    parse_response = client.parse_response
    latest: list[Any] = [None]

    def remember(connection: Any, command: str, **options: Any) -> Any:
        latest[0] = parse_response(connection, command, **options)
        return latest[0]

    def read_or_nothing(**options: Any) -> Any:
        try:
            return read(**options)
        except ResponseError as error:
            refused(error)
            raise Empty from error  # as if no message had come
        except (ValueError, TypeError, LookupError, AttributeError, DataError, RecursionError) as error:
            queue, raw = latest[0] or (b"", b"")
            if is_message(raw):
                raise
            name = queue.decode(errors="replace").removeprefix(wire.KEY_PREFIX)
            no_message(name.rsplit(channel.sep, 1)[0], raw, not_a_message(error))
            raise Empty from error
        finally:
            latest[0] = None

    client.parse_response = remember

    channel.handlers["BRPOP"] = read_or_nothing


def is_message(raw: bytes) -> bool:
    """Return True if kombu can read an entry of a Redis list as a message, and can put it back into its queue."""
    try:
        envelope = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    match envelope:
        case {"properties": {"delivery_tag": str(), "delivery_info": {"exchange": str(), "routing_key": str()}}}:
            headers, body = envelope.get("headers"), envelope.get("body")
            return isinstance(headers, dict | None) and isinstance(body, str | None)
    return False


class ResilientQoS(redis_transport.QoS):  # type: ignore[misc] # kombu ships no types
    """The list of messages that are delivered but not acknowledged, in this process and, if possible, in Redis."""

    def __init__(
        self, channel: Any, prefetch_count: int, holds_back: Callable[[], bool], refused: Callable[[Exception], None]
    ) -> None:
        super().__init__(channel, prefetch_count)
        self._holds_back = holds_back
        self._refused = refused

    def can_consume(self) -> bool:
        return not self._holds_back() and bool(super().can_consume())

    def append(self, message: Any, delivery_tag: str) -> None:
        try:
            super().append(message, delivery_tag)
        except ResponseError as error:
            self._refused(error)
            QoS.append(self, message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        self._release(delivery_tag, super().ack)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        self._release(delivery_tag, partial(super().reject, requeue=requeue))

    def _release(self, delivery_tag: str, release: Callable[[str], None]) -> None:
        """Acknowledge or reject a message by calling `release`. If Redis fails, acknowledge it in this process only.

        Redis then delivers the message again. The second delivery costs no model call, because the item's result is
        already recorded in the ledger.
        """
        try:
            release(delivery_tag)
        except Exception as error:  # of any kind: for a lost connection kombu has no error of its own
            log.debug("a message could not be acknowledged: %s", error)
            if isinstance(error, ResponseError):
                self._refused(error)
            QoS.ack(self, delivery_tag)  # otherwise the message would use a place here for ever

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """At the end of a connection, return unacknowledged messages to their queues. If that fails, only log it."""
        try:
            super().restore_unacked_once(stderr)
        except Exception as error:  # including kombu's own errors, which would end the process
            log.debug("the reconciler or the visibility timeout will return the messages: %s", error)

    def restore_visible(self, *args: Any, **kwargs: Any) -> None:
        if self._holds_back():
            return
        try:
            super().restore_visible(*args, **kwargs)
        except ResponseError as error:
            self._refused(error)
