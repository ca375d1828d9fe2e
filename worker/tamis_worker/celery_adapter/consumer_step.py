"""The step of Celery's consumer that settles: as long as there is a connection, and before the last one is closed."""

import logging
from collections.abc import Callable
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, ClassVar

import kombu
from celery import Celery, bootsteps
from celery.exceptions import InvalidTaskError, NotRegistered
from celery.worker.consumer import Consumer
from celery.worker.consumer.delayed_delivery import DelayedDelivery
from kombu import Exchange, Queue

from tamis_schemas import ConfigurationError
from tamis_schemas.batches import wire

from . import foreign_reason
from .awaited_strategy import AwaitedStrategy
from .foreign_messages import ForeignMessages
from .item_strategy import ItemStrategy, goes_on
from .redis_channel import install_resilient_qos

VERSION = version("tamis")  # to look it up takes as long as an item
_DELAYS = f"{DelayedDelivery.__module__}:{DelayedDelivery.__name__}"

log = logging.getLogger(__name__)


class ConsumerWithoutDelayQueues(Consumer):  # type: ignore[misc] # Celery ships no types
    """The consumer of every worker; a broker other than RabbitMQ has no such queues anyway."""

    class Blueprint(Consumer.Blueprint):  # type: ignore[misc]
        """The same steps, but for one."""

        default_steps: ClassVar[list[str]] = [step for step in Consumer.Blueprint.default_steps if step != _DELAYS]

    foreign: ForeignMessages  # set by the step that settles, before a message is taken

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], None]:
        """Return what takes each message; Celery's own would end with one whose task is a list."""
        usual = super().create_task_handler(*args, **options)

        def receive(message: Any) -> None:
            try:
                hash(message.headers["task"])
            except KeyError:  # of Celery's first protocol, or of nobody's
                pass
            except TypeError:
                self.on_unknown_message(None, message)
                return
            usual(message)

        return receive

    def on_unknown_message(self, body: Any, message: Any) -> None:
        """Refuse a message that names no task."""
        self.foreign.refuse(message, foreign_reason.names_no_task())

    def on_unknown_task(self, body: Any, message: Any, exc: KeyError) -> None:
        """Refuse a message of a task that is not registered; whoever waits for its result is told."""
        name = exc.args[0]
        self.foreign.refuse(message, foreign_reason.unknown_task(name, VERSION))
        task_id = message.headers.get("id")
        if isinstance(task_id, str) and not message.headers.get("ignore_result"):
            self.tell_not_registered(task_id, str(name))

    def on_invalid_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Refuse a message whose arguments are not the task's, or whose body is in a form that is never loaded."""
        refused = isinstance(exc, InvalidTaskError)
        self.foreign.refuse(message, str(exc) if refused else foreign_reason.unreadable(message.content_type, exc))

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        """Refuse a message whose body cannot be read."""
        self.foreign.refuse(message, foreign_reason.unreadable(message.content_type, exc))

    def tell_not_registered(self, task_id: str, name: str) -> None:
        """Say, to the result backend and to events, that a task has failed because nobody here knows it."""
        request = SimpleNamespace(name=name, chord=None, errbacks=None)
        try:
            self.app.backend.mark_as_failure(task_id, NotRegistered(name), request=request)
        except Exception as error:  # the backend is away, or takes no such id: the letter says it all the same
            log.debug("nobody is told that %r is not registered: %s", name, error)
        if self.event_dispatcher:
            self.event_dispatcher.send("task-failed", uuid=task_id, exception=f"NotRegistered({name!r})")


# All times are in seconds.
EVENTS_AT_ONCE = 300  # in one message
EVENTS_EVERY = 0.5
ACKNOWLEDGE_EVERY = 1.0  # where it failed before
MAKE_ROOM_EVERY = 0.5
COUNT_EVERY = 1.0
AWAITED_AT_ONCE = 500  # messages of services, in one worker; its items take none of their places


def install(app: Celery, strategy: ItemStrategy, awaited: AwaitedStrategy, foreign: ForeignMessages) -> None:
    """Have the workers of an application settle; each of its item tasks takes `strategy` as its `Strategy`.

    The tasks that services send by name take `awaited`. `foreign` refuses what no worker understands.
    """
    app.conf.worker_consumer = f"{ConsumerWithoutDelayQueues.__module__}:{ConsumerWithoutDelayQueues.__name__}"
    app.steps["consumer"].add(type("Settling", (_Settling,), {"strategy": strategy, "foreign": foreign}))
    awaiting = {"strategy": strategy, "awaited": awaited, "foreign": foreign}
    app.steps["consumer"].add(type("Awaiting", (_Awaiting,), awaiting))


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
        # By the dozen and at every turn of the hub, events cost more than the items that they tell of.
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
    """Takes what services send over a channel of its own: what is held there leaves items their room."""

    requires = ("celery.worker.consumer.tasks:Tasks",)
    strategy: ClassVar[ItemStrategy]
    awaited: ClassVar[AwaitedStrategy]
    foreign: ClassVar[ForeignMessages]

    def start(self, consumer: Any) -> None:
        self._sent = kombu.Consumer(
            consumer.connection.channel(),
            # As Celery declares a queue that it is told no more of than its name: RabbitMQ refuses two kinds of one.
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
