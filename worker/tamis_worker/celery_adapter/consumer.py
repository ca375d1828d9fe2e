"""Celery's consumer, without its queues for delays, and with foreign messages refused.

Where a queue is a quorum queue, Celery makes 28 more at each connection, for tasks with an ETA. No task here has one.

What is no message of a task, is of a task that is not there, or is refused by a strategy with `InvalidTaskError`, is
written to the log and discarded by Celery. Here it is described, counted and acknowledged.
"""

import logging
from collections.abc import Callable
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, ClassVar

from celery.exceptions import InvalidTaskError, NotRegistered
from celery.worker.consumer import Consumer
from celery.worker.consumer.delayed_delivery import DelayedDelivery

from . import foreign_reason
from .foreign_messages import ForeignMessages

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
