"""The strategies for tasks that Celery itself completes: tasks that services send by name, and aggregates.

**Tasks that services send by name.** The event loop awaits the answers, so waiting tasks need no threads. Celery's only
thread then completes each task as usual: its result, chord, chained tasks, events and acknowledgement. If the worker
ends before the acknowledgement, another worker gets the message.

An **aggregate** is the task that closes a shard, which is a part of a batch. Celery gets an aggregate's message only if
the message has the form that Tamis writes. For an invalid body Celery would raise an exception on the consumer's
thread. So one foreign message would stop every worker that fetches it.

**No content in Celery's tools.** Arguments, results and errors contain texts of records. So events and `celery inspect`
omit a service's arguments, results and errors (`SentRequest`). The sender still gets the whole result.
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from celery import Celery
from celery.exceptions import Ignore, InvalidTaskError
from celery.states import READY_STATES
from celery.worker import state
from celery.worker.request import Request
from celery.worker.strategy import default

from tamis_producer.services.named_tasks import SERVICE, EvaluateRequest
from tamis_schemas import ErrorKind, OperationFailed, TamisError, resolve_item_id
from tamis_schemas.batches import wire
from tamis_schemas.operations import OPERATIONS, operation_name

from ..event_loop.loop import LoopThread, ThreadMailbox
from .foreign_messages import wrong_arguments

HAND_OVER_WITHIN = 10.0  # s; while the worker stops, for storing and acknowledging answered tasks
LOOK_EVERY = 0.1  # s, during that time

UNUSED = ("eta", "expires", "timelimit")  # headers of Celery that no message of ours sets, but Celery would read
AGGREGATE_TAKES = "a batch's id, a round and a shard, without a start time"

UNKNOWN = "unknown"
OPERATION_NAMES = frozenset(operation_name(kind) for kind in OPERATIONS)
KINDS = frozenset(ErrorKind)

TAKES = "named arguments, as docs/plain-celery.md lists them"

log = logging.getLogger(__name__)

Answer = Callable[["SentTask"], Awaitable[Any]]


@dataclass(frozen=True)
class SentTask:
    """A Celery task that a service (another program) sent by name."""

    id: str
    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    begins: datetime | None = None  # earliest start
    expires: datetime | None = None

    @classmethod
    def of(cls, message: Any) -> "SentTask":
        """Return the task that a message contains. Raise `ValueError`, `TypeError` or `KeyError` if it is invalid."""
        headers = message.headers
        args, kwargs, _ = message.payload
        if not (isinstance(headers["id"], str) and isinstance(args, list) and isinstance(kwargs, dict)):
            raise TypeError("its id is not text, or its arguments are not a list and an object")
        return cls(headers["id"], headers["task"], args, kwargs, _instant(headers, "eta"), _instant(headers, "expires"))


class AwaitedStrategy:
    """The strategy for tasks that services send by name. Call all methods on the consumer's thread.

    The strategy awaits a task's result on the event loop. Then it passes the message, with that result, to Celery's own
    strategy.
    """

    def __init__(self, loop: LoopThread, answer: Answer) -> None:
        """Prepare the strategy.

        `answer` returns a task's result. If `answer` raises an exception, the task fails with that exception.
        """
        self._loop = loop
        self._answer = answer
        self._waiting: set[asyncio.Task[None]] = set()  # on the loop
        self._connection = object()  # the present one; acknowledgements over older ones do not count
        self._handed_over = 0  # to Celery, over the present connection, and not acknowledged
        self.due: ThreadMailbox[Callable[[], None]] = ThreadMailbox()  # actions for the consumer's thread

    def __call__(self, task: Any, app: Celery, consumer: Any) -> Callable[..., None]:
        """Return the receiver for a task's messages. Celery requests a receiver for each task and connection."""
        usual = default(task, app, consumer)

        def receive(message: Any, body: Any, ack: Any, reject: Any, callbacks: Any) -> None:
            try:
                sent = SentTask.of(message)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise InvalidTaskError(wrong_arguments(task.name, TAKES, error)) from error
            connection = self._connection
            message.headers["eta"] = None  # not Celery but `_run` waits until the start time
            without_content(message.headers, sent.args, sent.kwargs)

            def released_by(release: Callable[..., None]) -> Callable[..., None]:
                def released(*args: Any) -> None:
                    if connection is self._connection:
                        self._handed_over -= 1
                        release(*args)

                # Not as Celery does, which acknowledges no more messages while a worker stops.
                return lambda *args: self.due.put(partial(released, *args))

            def hand_over(answer: Any) -> None:
                if connection is not self._connection:
                    return  # the message comes again, and gets the same answer
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
        """Run the waiting actions: pass answered tasks to Celery, and acknowledge the tasks that Celery completed."""
        for do in self.due.take():
            do()

    def finish(self) -> None:
        """Wait until the answered tasks are acknowledged, but at most `HAND_OVER_WITHIN` seconds."""
        until = time.monotonic() + HAND_OVER_WITHIN
        self.settle()
        while self._handed_over and time.monotonic() < until:
            self.due.wait(LOOK_EVERY)
            self.settle()

    def forget(self) -> None:
        """Drop all tasks that came over the lost connection, and prepare for the next connection."""
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
        except Exception as error:  # the sender gets only the type; the log has the details
            log.exception("%s[%s] could not be answered", sent.name, sent.id)
            answer = OperationFailed(f"{type(error).__name__}: see the worker's log")
        self.due.put(partial(hand_over, answer))


def taken_answer(task: Any) -> Any:
    """Return the answer that the strategy passed to a running task. If the answer is an exception, raise the answer.

    If a result is already stored, the message came twice. Then report the task to its chord once more, because the
    first report may be lost, and raise `Ignore`. The chord counts a task only once.
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


def asked_words(task: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return a task's label, such as `operation=filter item=rec-14 service=celery` or `operation=filter items=12`."""
    named = kwargs.get("operation")
    operation = named if isinstance(named, str) and named in OPERATION_NAMES else UNKNOWN
    if task == wire.SUBMIT:
        items = args[0] if args else kwargs.get("items")
        return f"operation={operation} items={len(items) if isinstance(items, list) else UNKNOWN}"
    item = args[0] if args else kwargs.get("item")
    item_id = resolve_item_id(item) if isinstance(item, dict) else UNKNOWN
    return f"operation={operation} {wire.item_words(item_id)} service={SERVICE}"


def result_words(task: str, kwargs: Mapping[str, Any], result: Any) -> str:
    """Return the form of a task's result that Celery's tools show: a decision (`include 0.92`), or a batch's id."""
    if task == wire.SUBMIT:
        return str(result)
    operation = EvaluateRequest.model_validate({**kwargs, "item": {}}).parsed
    value = result["fields"] if "fields" in result else result["value"]
    return operation.result_words(value, result["confidence"])


def error_words(error: Exception) -> str:
    """Return the kind of an error, or the name of its class if the error has no kind."""
    kind = str(error).partition(":")[0]
    return kind if isinstance(error, OperationFailed) and kind in KINDS else type(error).__name__


ANSWER = "tamis_answer"  # the header that passes an answer to the task's body, within this process
NAME = re.compile(r"\w+(?=\()")  # of an exception's class, in its `repr`


def without_content(headers: dict[str, Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    """Replace the arguments in a message's headers by a label, such as `operation=filter items=12`."""
    headers["argsrepr"] = asked_words(headers["task"], args, kwargs)
    headers["kwargsrepr"] = "{}"


class SentRequest(Request):  # type: ignore[misc] # Celery ships no types
    """A request of Celery whose headers and events contain no text of a record."""

    def info(self, safe: bool = False) -> dict[str, Any]:
        """Return the fields that `celery inspect` shows. The arguments are omitted."""
        return {**super().info(safe=True), "kwargs": {}}

    def send_event(self, event: str, **fields: Any) -> None:
        """Send an event with the decision instead of the result, and an error's kind instead of the error."""
        answer = self.request_dict.get(ANSWER)
        if "result" in fields:
            fields["result"] = result_words(self.type, self.kwargs, answer)
        if "exception" in fields:
            fields["exception"] = error_words(answer) if isinstance(answer, Exception) else _name(fields["exception"])
            fields["traceback"] = None
        super().send_event(event, **fields)


def _name(shown: str) -> str:
    """Return the name of an exception's class, from the `repr` of the exception."""
    match = NAME.match(shown)
    return "error" if match is None else match[0]


def aggregate_strategy(task: Any, app: Celery, consumer: Any) -> Callable[..., None]:
    """Return the receiver for the messages of an aggregate, a task that closes one part of a batch.

    The receiver checks a message's form, then calls Celery's own receiver.
    """
    usual = default(task, app, consumer)

    def receive(message: Any, body: Any, ack: Any, reject: Any, callbacks: Any, **options: Any) -> None:
        try:
            _check(message)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidTaskError(wrong_arguments(task.name, AGGREGATE_TAKES, error)) from error
        usual(message, body, ack, reject, callbacks, **options)

    return receive


def send_aggregated(task: Any, came_to: str) -> None:
    """Send the result (`came_to`) of an aggregate, a task that closes one part of a batch, as an event of Celery.

    Call this function on the aggregate's own thread. The event is not Celery's `task-succeeded`, because Flower would
    then count the aggregate as an item.
    """
    request = task.request
    if request.id is None:
        return  # the task was called directly
    try:
        task.send_event(
            "task-aggregated", retry=False, name=task.name, args=request.argsrepr, kwargs="{}", result=came_to
        )
    except Exception as error:  # the work is done; nothing waits for an event
        log.debug("an aggregate's event is lost: %s", error)


def _check(message: Any) -> None:
    (batch_id, round_, shard), named, embedded = message.payload
    UUID(batch_id)
    if not (isinstance(round_, int) and isinstance(shard, int)):
        raise TypeError("round and shard must be whole numbers")
    if named or not isinstance(embedded, dict):
        raise TypeError("an aggregate takes no named arguments")
    if not isinstance(message.headers["id"], str):
        raise TypeError("its id is not text")
    for name in UNUSED:
        if message.headers.get(name) not in (None, [None, None]):
            raise ValueError(f"it has {name}")


def _instant(headers: dict[str, Any], name: str) -> datetime | None:
    value = headers.get(name)
    if value is None:
        return None
    instant = datetime.fromisoformat(value)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
