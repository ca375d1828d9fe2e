"""Aggregates' messages: taken as Celery takes them, once they are seen to be ours.

What Celery's own way makes of a body that is none of a task is an exception on the consumer's thread, and the end of
all consuming: one foreign message in the queue would stop every worker that fetches it.
"""

import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID

from celery import Celery
from celery.exceptions import InvalidTaskError
from celery.worker.strategy import default

from .foreign_reason import wrong_arguments

UNUSED = ("eta", "expires", "timelimit")  # headers of Celery's that no message of ours sets, and that it would read
TAKES = "a batch's id, a round and a shard, and no time at which to run"

log = logging.getLogger(__name__)


def aggregate_strategy(task: Any, app: Celery, consumer: Any) -> Callable[..., None]:
    """Return what takes each message of a task, as Celery's strategy does; one that is no aggregate's it refuses."""
    usual = default(task, app, consumer)

    def receive(message: Any, body: Any, ack: Any, reject: Any, callbacks: Any, **options: Any) -> None:
        try:
            _check(message)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidTaskError(wrong_arguments(task.name, TAKES, error)) from error
        usual(message, body, ack, reject, callbacks, **options)

    return receive


def send_aggregated(task: Any, came_to: str) -> None:
    """Tell Celery's events what an aggregate came to, on its own thread.

    It has a state of its own: as a success it would be one item more in every counter of Flower's.
    """
    request = task.request
    if request.id is None:
        return  # it was called directly
    try:
        task.send_event(
            "task-aggregated", retry=False, name=task.name, args=request.argsrepr, kwargs="{}", result=came_to
        )
    except Exception as error:  # what is done is done; nothing waits for an event
        log.debug("an aggregate's event is lost: %s", error)


def _check(message: Any) -> None:
    (batch_id, round_, shard), named, embedded = message.payload
    UUID(batch_id)
    if not (isinstance(round_, int) and isinstance(shard, int)):
        raise TypeError("round and shard are whole numbers")
    if named or not isinstance(embedded, dict):
        raise TypeError("an aggregate has no named arguments")
    if not isinstance(message.headers["id"], str):
        raise TypeError("its id is no text")
    for name in UNUSED:
        if message.headers.get(name) not in (None, [None, None]):
            raise ValueError(f"it has {name}")
