"""The strategy for items: a worker takes their messages, and settles each message after its outcome is committed.

Celery's own strategy uses a waiting thread and several exchanges with the broker for each item. Here the worker's one
event loop evaluates the items. The consumer's thread settles them in groups: it counts chord parts, sends events and
acknowledges messages.

`Revocations` cancels the items of tasks that a user revoked in Celery's tools. If a revoked task's message has not
arrived yet, the process remembers the task's id until the message comes.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Coroutine
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any

from celery import Celery
from celery.exceptions import InvalidTaskError
from celery.worker import state

from tamis_producer.process import tracing
from tamis_schemas import ErrorKind

from ..engine.backpressure import Backpressure, RequiredServer
from ..engine.item_end import ItemEnd, NoOutcome, Retried
from ..event_loop.loop import LoopThread, Mailbox, ThreadMailbox
from ..ledger.claims import ItemKey
from .delivery import MOST_RETRIES_TOLD, Delivery, acknowledge, settle
from .foreign_messages import wrong_arguments

SETTLED_AT_ONCE = 200
RECONNECT_EVERY = 0.2  # seconds between two checks for the broker's return
MOST_ASIDE = 2_000  # messages: a usual window of one batch, 4 shards of 500
LOOK_EVERY = 1.0  # seconds between two checks for items in flight while the worker stops
TAKES = "a batch's id, the index of an item, and Celery's own fields of a chord"

log = logging.getLogger(__name__)


@dataclass(eq=False)
class ItemStrategy:
    """The strategy for items. It takes and settles messages on the consumer's thread.

    The event loop evaluates the items. Properties may be read from any thread. Methods are called on the consumer's
    thread, except `ended`.

    `stop_within`: seconds that a stopping worker waits for its items in flight. While `backpressure` reports trouble
    with a server, no message is taken.
    """

    loop: LoopThread
    evaluate: Callable[[ItemKey, Retried], Coroutine[Any, Any, ItemEnd]]
    _: KW_ONLY
    stop_within: float
    backpressure: Backpressure = field(default_factory=Backpressure)
    tell_refused: Callable[[Exception], None] = lambda error: None  # receives the broker's refusals, on the loop
    # Number of items that wait without a call; as many others are taken. Called from any thread, as the next two:
    standing_aside: Callable[[], int] = lambda: 0
    foreign_taken: Callable[[], int] = lambda: 0  # number of messages refused so far
    foreign_held: Callable[[], int] = lambda: 0  # number of refused messages that are not acknowledged yet
    cancel: Callable[[ItemKey, bool], None] = lambda key, cut: None  # True: cut off the item's call too
    forget_item: Callable[[ItemKey], None] = lambda key: None

    def __post_init__(self) -> None:
        self.revocations = Revocations(self.loop, self.cancel, self.forget_item)
        self._stopped_at: float | None = None  # start of the worker's stop, by `time.monotonic`
        self._arrived: Mailbox[Delivery] = Mailbox(lambda: self.loop.call_soon(self._take))
        self._tasks: set[asyncio.Task[None]] = set()
        self.finished: ThreadMailbox[Delivery] = ThreadMailbox()
        self._unsettled: set[Delivery] = set()  # from the present connection
        self._retries: deque[tuple[Delivery, ErrorKind]] = deque()  # for Celery's events
        self._unacknowledged: list[Delivery] = []  # settled ones: the broker did not answer
        self.progress_at: float | None = None  # last receipt or finished item, by `time.monotonic`

    @property
    def taken(self) -> int:
        """The number of messages taken so far, including messages of tasks that close shards and refused messages."""
        return self.foreign_taken() + int(state.all_total_count[0])

    @property
    def in_flight(self) -> int:
        """The number of messages in flight. Items that wait without an open model call (`aside`) are not counted."""
        return len(self._unsettled) - self.aside + len(state.reserved_requests) + self.foreign_held()

    @property
    def evaluating(self) -> int:
        """The number of items that this process is evaluating."""
        return len(self._tasks)

    @property
    def aside(self) -> int:
        """The number of items that wait without an open model call. For each one, the worker takes another item."""
        return min(self.standing_aside(), MOST_ASIDE)

    def __call__(self, task: Any, app: Celery, consumer: Any) -> Callable[..., None]:
        """Return the receiver for a task's messages. Celery requests a receiver for each task and connection."""
        eventer = consumer.event_dispatcher

        def receive(message: Any, body: Any, ack: Any, reject: Any, callbacks: Any) -> None:
            try:
                delivery = Delivery(message, task, eventer)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise InvalidTaskError(wrong_arguments(task.name, TAKES, error)) from error
            self._count(delivery)
            self._arrived.put(delivery)

        return receive

    def holds_back(self) -> bool:
        """Return True if the worker must take no message now, because the ledger or the broker is in trouble."""
        return self.backpressure.trouble is not None

    def await_broker(self) -> None:
        """Wait until the broker works again, or the worker must stop.

        Celery's own code would retry for ever, with tracebacks or at growing intervals.
        """
        self.refused(ConnectionError("the connection was lost"))
        pause = threading.Event()
        pause.wait(RECONNECT_EVERY)  # by then the loop has received the error
        while self.backpressure.in_trouble(RequiredServer.BROKER) and goes_on():
            pause.wait(RECONNECT_EVERY)

    def refused(self, error: Exception) -> None:
        """Report on the event loop that the broker refused a command with this error."""
        self.loop.call_soon(lambda: self.tell_refused(error))

    def settle(self) -> None:
        """Settle finished items: count the items in their chords, send their events, acknowledge their messages."""
        finished = self.finished.take()
        self.tell_retries()  # before the ends of the same items, which were taken first: so no retry is late
        for start in range(0, len(finished), SETTLED_AT_ONCE):
            group = finished[start : start + SETTLED_AT_ONCE]
            for delivery in group:
                state.active_requests.discard(delivery)
                self.revocations.settled(delivery)
            # The others are from a lost connection: their messages come again, and cost nothing.
            mine = [delivery for delivery in group if delivery in self._unsettled]
            self._unsettled.difference_update(mine)
            if mine:
                self._unacknowledged += settle(mine)

    def tell_retries(self) -> None:
        """Send Celery's events for the failed model calls that were repeated."""
        while self._retries:
            delivery, kind = self._retries.popleft()
            if delivery in self._unsettled:
                delivery.send_retried(kind)

    def acknowledge_again(self) -> None:
        """Try once more to acknowledge the messages whose acknowledgement failed.

        The consumer counts each of these messages as in flight. At its limit, it would take no other messages.
        """
        if self._unacknowledged:
            late, self._unacknowledged = self._unacknowledged, []
            self._unacknowledged = acknowledge(late)

    def forget(self) -> None:
        """Drop the messages of a lost connection, which can no longer be acknowledged."""
        self._unsettled.clear()
        self._unacknowledged.clear()

    def make_room(self, consumer: Any) -> None:
        """Make the broker deliver one more message for each item that waits without an open model call."""
        change = consumer.initial_prefetch_count + self.aside - consumer.qos.value
        if change > 0:
            consumer.qos.increment_eventually(change)
        elif change < 0:
            consumer.qos.decrement_eventually(-change)

    def finish(self) -> None:
        """Settle finished items until no item is in flight, or until the time limit."""
        while self._unsettled and self._has_time():
            self.finished.wait(LOOK_EVERY)
            self.settle()
        if self._unsettled:
            log.warning("%d items are still in flight; another worker will evaluate them again", len(self._unsettled))

    async def ended(self) -> None:
        """Wait until no item is being evaluated, or until the time limit.

        Await this method on the event loop, before the objects that evaluate items are closed. Unlike `finish`, `ended`
        also waits for items whose messages came over a lost connection.
        """
        while self._tasks and self._has_time():
            await asyncio.wait(self._tasks, timeout=LOOK_EVERY)
        if self._tasks:
            log.warning("%d items are cut off; another worker will evaluate them again", len(self._tasks))

    def _has_time(self) -> bool:
        now = time.monotonic()
        self._stopped_at = self._stopped_at or now
        return now < self._stopped_at + self.stop_within and state.should_terminate is None

    def _count(self, delivery: Delivery) -> None:
        self.progress_at = time.monotonic()
        self._unsettled.add(delivery)
        state.active_requests.add(delivery)
        self.revocations.taken(delivery)
        state.total_count[delivery.name] += 1
        state.all_total_count[0] += 1
        delivery.send_received()

    def _take(self) -> None:
        for delivery in self._arrived.take():
            self.revocations.begins(delivery)
            task = asyncio.ensure_future(self._run(delivery))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(partial(self._ended, delivery))

    def _ended(self, delivery: Delivery, _: "asyncio.Task[None]") -> None:
        self.revocations.ended(delivery)

    async def _run(self, delivery: Delivery) -> None:
        tracing.attach(delivery.traceparent)  # for this task, which ends with the delivery
        try:
            delivery.end = await self.evaluate(delivery.key, partial(self._retried, delivery))
            if delivery.end is not NoOutcome.NOT_BEGUN:
                self.progress_at = time.monotonic()
        except Exception:  # the item stays pending in the ledger; the reconciler publishes it again
            log.exception("%s could not be evaluated", delivery.args)
        self.finished.put(delivery)

    def _retried(self, delivery: Delivery, kind: ErrorKind) -> None:
        delivery.retries += 1
        if delivery.retries <= MOST_RETRIES_TOLD:
            self._retries.append((delivery, kind))


@dataclass(eq=False)
class Revocations:
    """The revocation of tasks in one worker process: it finds the items of revoked tasks, and cancels them.

    `cancel(key, cut)` ends an item as cancelled. If `cut` is True, `cancel` also cuts off the item's call in flight.

    `cancel`, `forget`, `begins` and `ended` are called on the event loop. All other methods are called on the
    consumer's thread.
    """

    loop: LoopThread
    cancel: Callable[[ItemKey, bool], None]
    forget: Callable[[ItemKey], None]
    _open: set[Delivery] = field(init=False, default_factory=set)  # taken, not ended; changed on the loop only

    def taken(self, delivery: Delivery) -> None:
        """Record a received message."""
        state.requests[delivery.id] = delivery

    def settled(self, delivery: Delivery) -> None:
        """Forget a settled message."""
        if state.requests.get(delivery.id) is delivery:  # the message may have been delivered again
            del state.requests[delivery.id]

    def deliveries(self) -> list[Delivery]:
        """Return the unsettled deliveries."""
        return [request for request in state.requests.values() if isinstance(request, Delivery)]

    def revoke(self, deliveries: Collection[Delivery], *, cut: bool) -> list[Delivery]:
        """Cancel the items of these deliveries, and return the deliveries that had not ended before.

        If `cut` is True, also cut off the items' calls in flight.
        """
        going_on = [delivery for delivery in deliveries if delivery in self._open]
        for delivery in deliveries:  # the loop takes an unseen delivery before it runs this
            self.loop.call_soon(partial(self._revoked, delivery, cut))
        return going_on

    def begins(self, delivery: Delivery) -> None:
        """Record the start of an item's evaluation. If the item's task was revoked before, cancel the item."""
        self._open.add(delivery)
        if delivery.id in state.revoked:
            self.cancel(delivery.key, False)

    def ended(self, delivery: Delivery) -> None:
        """Record that an item is finished in this process."""
        self._open.discard(delivery)
        self.forget(delivery.key)

    def _revoked(self, delivery: Delivery, cut: bool) -> None:
        if delivery in self._open:
            self.cancel(delivery.key, cut)


def goes_on() -> bool:
    """Return True if the worker has not been asked to stop."""
    return state.should_stop is None and state.should_terminate is None
