"""The strategy for tasks that services send by name: their answers are awaited on the loop, not on threads.

Celery's own way takes over once there is an answer: on its one thread it keeps the result, counts the parts of the
sender's chords, sends on what is chained, tells its events and acknowledges. So hundreds wait without a thread, and
what a sender may know of Celery holds. A worker that ends before leaves the message to another one.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from celery import Celery
from celery.exceptions import Ignore, InvalidTaskError
from celery.states import READY_STATES
from celery.worker import state
from celery.worker.strategy import default

from tamis_schemas import OperationFailed, TamisError

from ..event_loop.loop import LoopThread
from .foreign_reason import wrong_arguments
from .mailbox import ThreadMailbox
from .sent_request import ANSWER, without_content

HAND_OVER_WITHIN = 10.0  # s; while the worker stops, for what has its answer to be kept and acknowledged
LOOK_EVERY = 0.1  # s, meanwhile
TAKES = "named arguments, as docs/plain-celery.md lists them"

log = logging.getLogger(__name__)

Answer = Callable[["SentTask"], Awaitable[Any]]


@dataclass(frozen=True)
class SentTask:
    """A task as it was sent."""

    id: str
    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    begins: datetime | None = None  # not before
    expires: datetime | None = None

    @classmethod
    def of(cls, message: Any) -> "SentTask":
        """Raises `ValueError`, `TypeError` or `KeyError` where the message is not one of a task."""
        headers = message.headers
        args, kwargs, _ = message.payload
        if not (isinstance(headers["id"], str) and isinstance(args, list) and isinstance(kwargs, dict)):
            raise TypeError("its id is no text, or its arguments are none")
        return cls(headers["id"], headers["task"], args, kwargs, _instant(headers, "eta"), _instant(headers, "expires"))


class AwaitedStrategy:
    """Takes messages on the consumer's thread, awaits answers on the loop, hands both to Celery's own strategy."""

    def __init__(self, loop: LoopThread, answer: Answer) -> None:
        """`answer` is awaited on the loop; what it raises is the task's failure."""
        self._loop = loop
        self._answer = answer
        self._waiting: set[asyncio.Task[None]] = set()  # on the loop
        self._connection = object()  # the present one; an acknowledgement over another one is none
        self._handed_over = 0  # to Celery, over the present connection, and not acknowledged
        self.due: ThreadMailbox[Callable[[], None]] = ThreadMailbox()  # to be done on the consumer's thread

    def __call__(self, task: Any, app: Celery, consumer: Any) -> Callable[..., None]:
        """Return what takes each message of a task; Celery asks once for each task and connection."""
        usual = default(task, app, consumer)

        def receive(message: Any, body: Any, ack: Any, reject: Any, callbacks: Any) -> None:
            try:
                sent = SentTask.of(message)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise InvalidTaskError(wrong_arguments(task.name, TAKES, error)) from error
            connection = self._connection
            message.headers["eta"] = None  # it is waited for here
            without_content(message.headers, sent.args, sent.kwargs)

            def released_by(release: Callable[..., None]) -> Callable[..., None]:
                def released(*args: Any) -> None:
                    if connection is self._connection:
                        self._handed_over -= 1
                        release(*args)

                # Not as Celery itself does, which acknowledges nothing more while a worker stops.
                return lambda *args: self.due.put(partial(released, *args))

            def hand_over(answer: Any) -> None:
                if connection is not self._connection:
                    return  # its message comes again, and finds the same answer
                message.headers[ANSWER] = answer
                self._handed_over += 1
                usual(
                    message, body, released_by(message.ack_log_error), released_by(message.reject_log_error), callbacks
                )

            if sent.id in state.revoked or (sent.expires is not None and sent.expires <= datetime.now(UTC)):
                hand_over(None)  # Celery revokes it
            else:
                self._loop.call_soon(partial(self._begin, sent, hand_over))

        return receive

    def settle(self) -> None:
        """Hand over what has its answer, and acknowledge what was; on the consumer's thread."""
        for do in self.due.take():
            do()

    def finish(self) -> None:
        """Return once what has its answer is acknowledged, or the time for it is over; on the consumer's thread."""
        until = time.monotonic() + HAND_OVER_WITHIN
        self.settle()
        while self._handed_over and time.monotonic() < until:
            self.due.wait(LOOK_EVERY)
            self.settle()

    def forget(self) -> None:
        """Let go of all that came over the present connection; on the consumer's thread."""
        self._connection, self._handed_over = object(), 0
        self._loop.call_soon(self._cancel)

    def _cancel(self) -> None:
        for task in self._waiting:
            task.cancel()

    def _begin(self, sent: SentTask, hand_over: Callable[[Any], None]) -> None:
        task = asyncio.ensure_future(self._run(sent, hand_over))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _run(self, sent: SentTask, hand_over: Callable[[Any], None]) -> None:
        answer: Any
        try:
            if sent.begins is not None:
                await asyncio.sleep((sent.begins - datetime.now(UTC)).total_seconds())
            answer = await self._answer(sent)
        except TamisError as error:
            answer = error
        except Exception as error:  # its sender hears that, and no more; the log has the rest
            log.exception("%s[%s] could not be answered", sent.name, sent.id)
            answer = OperationFailed(f"{type(error).__name__}: the worker's log says more")
        self.due.put(partial(hand_over, answer))


def taken_answer(task: Any) -> Any:
    """Return the answer that a task was handed over with; in its body. Raises it where it is an error.

    Raises `Ignore` for a task that has its result, as one whose message came twice. What follows on it was sent on
    before that was kept; only its part of a chord may be left to count, which counts once.
    """
    request = task.request
    kept = task.backend.get_task_meta(request.id, cache=False)
    if kept["status"] in READY_STATES:
        if request.chord:
            task.backend.on_chord_part_return(request, kept["status"], kept["result"])
        raise Ignore
    answer = getattr(request, ANSWER)
    if isinstance(answer, Exception):
        raise answer
    return answer


def _instant(headers: dict[str, Any], name: str) -> datetime | None:
    value = headers.get(name)
    if value is None:
        return None
    instant = datetime.fromisoformat(value)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
