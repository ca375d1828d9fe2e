"""Deliveries: how an item's message comes in from Celery, and how it is settled once the item's outcome is committed.

Celery's own way keeps a thread for every item, which waits for it, and speaks to the broker several times for each.
Here the worker's one event loop takes the items, and the consumer's thread settles in groups: the parts of chords, the
acknowledgements, the events. It stands on two of Celery's extension points: a task's `Strategy`, which takes its
messages, and a bootstep of the consumer.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar
from uuid import UUID

from celery import Celery, bootsteps
from celery.worker import state

from tamis_producer.process import tracing
from tamis_schemas import ConfigurationError

from ..engine.backpressure import Backpressure, Server
from ..engine.evaluate import NotBegun
from ..event_loop.loop import LoopThread
from ..ledger.claims import ItemKey
from .acknowledge import acknowledge, settle
from .consumer import ConsumerWithoutDelayQueues
from .mailbox import Mailbox, ThreadMailbox
from .redis_channel import install_resilient_qos

EVENTS_AT_ONCE = 300  # in one message
EVENTS_EVERY = 0.5  # seconds
SETTLED_AT_ONCE = 200
ACKNOWLEDGE_EVERY = 1.0  # seconds, where it failed before
RECONNECT_EVERY = 0.2  # seconds between two looks whether the broker is back
MAKE_ROOM_EVERY = 0.5  # seconds
MOST_ASIDE = 2_000  # messages: a usual window of one batch, 4 shards of 500
LOOK_EVERY = 1.0  # seconds, while it stops: whether it shall stop at once

log = logging.getLogger(__name__)


class Delivery:
    """One message of one item; what Celery, its chords and its events ask of a request."""

    __slots__ = (
        "__weakref__", "acknowledged", "args", "begun", "body", "eventer", "group", "id", "key", "message", "name",
        "place", "started", "task", "traceparent",
    )  # fmt: skip

    def __init__(self, message: Any, task: Any, eventer: Any) -> None:
        """Raises `ValueError`, `TypeError` or `KeyError` where the message is not an item's."""
        headers = message.headers
        (batch_id, index), _, embedded = message.payload
        self.message = message
        self.task = task
        self.eventer = eventer
        self.key = ItemKey(UUID(batch_id), int(index))
        self.id: str = headers["id"]
        self.name: str = headers["task"]
        self.args: str = headers.get("argsrepr") or ""
        self.group: str | None = headers.get("group")  # of its chord
        self.place: int | None = headers.get("group_index")  # in that group
        self.body: dict[str, Any] | None = embedded.get("chord")  # of its chord
        self.traceparent: object = headers.get(tracing.HEADER)  # of its batch; unread, so it may be anything
        self.acknowledged = False
        self.begun = True  # False: its item was not even claimed, and the message goes back
        self.started = time.time()

    def info(self, safe: bool = False) -> dict[str, Any]:
        """What `inspect active` and Flower show."""
        return {
            "id": self.id,
            "name": self.name,
            "args": self.args,
            "kwargs": {},
            "type": self.name,
            "hostname": getattr(self.eventer, "hostname", None),
            "time_start": self.started,
            "acknowledged": self.acknowledged,
            "delivery_info": dict(self.message.delivery_info),
            "worker_pid": os.getpid(),
        }


class Deliveries:
    """Takes messages on the consumer's thread, has the items evaluated on the loop, settles on the consumer's thread.

    `stop_within` bounds, in seconds, how long a worker that stops waits for what is in flight.
    """

    def __init__(
        self,
        loop: LoopThread,
        evaluate: Callable[[ItemKey], Coroutine[Any, Any, None]],
        *,
        stop_within: float,
        backpressure: Backpressure | None = None,
        refused: Callable[[Exception], None] = lambda error: None,
        aside: Callable[[], int] = lambda: 0,
    ) -> None:
        """While there is trouble by the `backpressure` no message is taken.

        `refused` is told, on the loop, what the broker refuses to do. `aside` says, to any thread, how many items stand
        aside without a call: as many others are taken in their place.
        """
        self._aside = aside
        self._backpressure = backpressure or Backpressure()
        self._loop = loop
        self._refused = refused
        self._evaluate = evaluate
        self._stop_within = stop_within
        self._stopped_at: float | None = None  # when it began to stop; `time.monotonic`
        self._arrived: Mailbox[Delivery] = Mailbox(lambda: loop.call_soon(self._take))
        self._tasks: set[asyncio.Task[None]] = set()
        self.finished: ThreadMailbox[Delivery] = ThreadMailbox()
        self._unsettled: set[Delivery] = set()  # that came over the present connection
        self._unacknowledged: list[Delivery] = []  # of those that are settled: the broker did not answer
        self.taken = 0  # messages so far
        self.progress_at: float | None = None  # when the last one was taken, or its item was done; `time.monotonic`

    @property
    def held(self) -> int:
        """Messages that the broker counts as in flight here; may be asked from any thread."""
        return len(self._unsettled)

    @property
    def evaluating(self) -> int:
        """Items that are being evaluated; may be asked from any thread."""
        return len(self._tasks)

    @property
    def aside(self) -> int:
        """Messages held in whose place others are taken; may be asked from any thread."""
        return min(self._aside(), MOST_ASIDE)

    def install(self, app: Celery) -> None:
        """Have the workers of an application settle; each of its item tasks takes this object as its `Strategy`."""
        app.conf.worker_consumer = f"{ConsumerWithoutDelayQueues.__module__}:{ConsumerWithoutDelayQueues.__name__}"
        app.steps["consumer"].add(type("Settling", (_Settling,), {"deliveries": self}))

    def __call__(self, task: Any, app: Celery, consumer: Any) -> Callable[..., None]:
        """Celery's strategy: made once for each task and connection, what is given takes each message."""
        eventer = consumer.event_dispatcher

        def receive(message: Any, body: Any, ack: Any, reject: Any, callbacks: Any) -> None:
            self.taken += 1
            try:
                delivery = Delivery(message, task, eventer)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                log.warning("a message of %s is not an item's and is dropped: %s", task.name, error)
                message.ack_log_error(log, consumer.connection_errors)
                return
            self._count(delivery)
            self._arrived.put(delivery)

        return receive

    def holds_back(self) -> bool:
        """Whether no message is to be taken now; on the consumer's thread."""
        return self._backpressure.trouble is not None

    def await_broker(self) -> None:
        """Return when the broker serves again, or the worker is to stop; on the consumer's thread.

        Celery would try again and again, with a traceback each time or at ever longer intervals.
        """
        self.refused(ConnectionError("the connection was lost"))
        pause = threading.Event()
        pause.wait(RECONNECT_EVERY)  # the loop has heard of it by then
        while self._backpressure.in_trouble(Server.BROKER) and _goes_on():
            pause.wait(RECONNECT_EVERY)

    def refused(self, error: Exception) -> None:
        """The broker refuses to do something; on the consumer's thread."""
        self._loop.call_soon(lambda: self._refused(error))

    def settle(self) -> None:
        """Settle what is finished; on the consumer's thread."""
        finished = self.finished.take()
        for start in range(0, len(finished), SETTLED_AT_ONCE):
            group = finished[start : start + SETTLED_AT_ONCE]
            for delivery in group:
                state.active_requests.discard(delivery)
            # The others came over a connection that is gone: their messages come again, and cost nothing.
            mine = [delivery for delivery in group if delivery in self._unsettled]
            self._unsettled.difference_update(mine)
            mine = [delivery for delivery in mine if delivery.begun]  # what is not acknowledged goes back to its queue
            if mine:
                self._unacknowledged += settle(mine)

    def acknowledge_again(self) -> None:
        """Acknowledge what could not be acknowledged; on the consumer's thread.

        What stays unacknowledged counts as in flight for the consumer, and leaves it no room in the end: it would live
        on and consume nothing.
        """
        if self._unacknowledged:
            late, self._unacknowledged = self._unacknowledged, []
            self._unacknowledged = acknowledge(late)

    def forget(self) -> None:
        """The connection is lost, and with it the right to acknowledge what came over it."""
        self._unsettled.clear()
        self._unacknowledged.clear()

    def make_room(self, consumer: Any) -> None:
        """Have the broker hand out as many messages more as there are items that stand aside."""
        change = consumer.initial_prefetch_count + self.aside - consumer.qos.value
        if change > 0:
            consumer.qos.increment_eventually(change)
        elif change < 0:
            consumer.qos.decrement_eventually(-change)

    def finish(self) -> None:
        """Settle until nothing is in flight any more, or the time for it is over; on the consumer's thread."""
        while self._unsettled and self._has_time():
            self.finished.wait(LOOK_EVERY)
            self.settle()
        if self._unsettled:
            log.warning("%d items are left in flight; they are evaluated again elsewhere", len(self._unsettled))

    async def ended(self) -> None:
        """Return once no item is being evaluated, or the time for it is over; on the loop, before anything is closed.

        More than `finish`: items whose messages came over a connection that is lost are finished, too.
        """
        while self._tasks and self._has_time():
            await asyncio.wait(self._tasks, timeout=LOOK_EVERY)
        if self._tasks:
            log.warning("%d items are cut off; they are evaluated again elsewhere", len(self._tasks))

    def _has_time(self) -> bool:
        now = time.monotonic()
        self._stopped_at = self._stopped_at or now
        return now < self._stopped_at + self._stop_within and state.should_terminate is None

    def _count(self, delivery: Delivery) -> None:
        self.progress_at = time.monotonic()
        self._unsettled.add(delivery)
        state.active_requests.add(delivery)
        state.total_count[delivery.name] += 1
        state.all_total_count[0] += 1
        if delivery.eventer is not None and delivery.eventer.enabled:
            delivery.eventer.send(
                "task-received",
                uuid=delivery.id,
                name=delivery.name,
                args=delivery.args,
                kwargs="{}",
                root_id=delivery.id,
                parent_id=None,
                retries=0,
                eta=None,
                expires=None,
            )
            delivery.eventer.send("task-started", uuid=delivery.id)

    def _take(self) -> None:
        for delivery in self._arrived.take():
            task = asyncio.ensure_future(self._run(delivery))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, delivery: Delivery) -> None:
        tracing.attach(delivery.traceparent)  # for this task, which ends with the delivery
        try:
            await self._evaluate(delivery.key)
            self.progress_at = time.monotonic()
        except NotBegun:
            delivery.begun = False
        except Exception:  # the item stays pending in the ledger; the reconciler publishes it again
            log.exception("%s could not be evaluated", delivery.args)
        self.finished.put(delivery)


def _goes_on() -> bool:
    return state.should_stop is None and state.should_terminate is None


class _Settling(bootsteps.StartStopStep):  # type: ignore[misc] # Celery ships no types
    """Of the consumer: settles as long as there is a connection, and before the last one is closed."""

    requires = ("celery.worker.consumer.tasks:Tasks",)
    deliveries: ClassVar[Deliveries]

    def start(self, consumer: Any) -> None:
        if consumer.hub is None:
            raise ConfigurationError(
                "the worker needs Celery's event loop, which this platform or broker does not have"
            )
        install_resilient_qos(consumer.task_consumer.channel, self.deliveries.holds_back, self.deliveries.refused)
        consumer.hub.add_reader(self.deliveries.finished, self.deliveries.settle)
        eventer = consumer.event_dispatcher
        # By the dozen and at every turn of the hub, events cost more than the items that they tell of.
        eventer.buffer_limit = EVENTS_AT_ONCE
        eventer.on_send_buffered = None
        consumer.hub.timer.call_repeatedly(EVENTS_EVERY, eventer.flush)
        consumer.hub.timer.call_repeatedly(ACKNOWLEDGE_EVERY, self.deliveries.acknowledge_again)
        consumer.hub.timer.call_repeatedly(MAKE_ROOM_EVERY, self.deliveries.make_room, (consumer,))

    def stop(self, consumer: Any) -> None:
        if _goes_on():
            self.deliveries.forget()
            self.deliveries.await_broker()
            return
        if consumer.task_consumer:
            consumer.task_consumer.cancel()
        self.deliveries.finish()
        self.deliveries.acknowledge_again()
        if consumer.event_dispatcher:
            consumer.event_dispatcher.flush()
