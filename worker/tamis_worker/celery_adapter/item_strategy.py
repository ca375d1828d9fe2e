"""The strategy for items: how their messages come in from Celery, and are settled once the outcome is committed.

Celery's own way keeps a thread for every item, which waits for it, and speaks to the broker several times for each.
Here the worker's one event loop takes the items, and the consumer's thread settles in groups: the parts of chords, the
acknowledgements, the events. It stands on two of Celery's extension points: a task's `Strategy`, which takes its
messages, and a bootstep of the consumer.

`Revocations` knows which items here are to end as cancelled, because somebody revoked their tasks in Celery's tools. An
id is all that Celery's tools know. Of an item that is here it is known whose it is; of one whose message still waits in
a queue nobody knows, so the id is remembered, as Celery itself does, and found again when the message comes.
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
RECONNECT_EVERY = 0.2  # seconds between two looks whether the broker is back
MOST_ASIDE = 2_000  # messages: a usual window of one batch, 4 shards of 500
LOOK_EVERY = 1.0  # seconds, while it stops: whether it shall stop at once
TAKES = "a batch's id and the index of an item, and what Celery sends with them in a chord"

log = logging.getLogger(__name__)


@dataclass(eq=False)
class ItemStrategy:
    """Takes messages on the consumer's thread, has the items evaluated on the loop, settles on the consumer's thread.

    `stop_within` bounds, in seconds, how long a worker that stops waits for what is in flight. While there is trouble
    by the `backpressure` no message is taken.
    """

    loop: LoopThread
    evaluate: Callable[[ItemKey, Retried], Coroutine[Any, Any, ItemEnd]]
    _: KW_ONLY
    stop_within: float
    backpressure: Backpressure = field(default_factory=Backpressure)
    tell_refused: Callable[[Exception], None] = lambda error: None  # told, on the loop, what the broker refuses to do
    # Items that stand aside without a call: as many others are taken in their place. Asked from any thread, as are:
    standing_aside: Callable[[], int] = lambda: 0
    foreign_taken: Callable[[], int] = lambda: 0  # messages that were refused so far
    foreign_held: Callable[[], int] = lambda: 0  # of these, the ones that are not acknowledged yet
    cancel: Callable[[ItemKey, bool], None] = lambda key, cut: None  # see `Revocations`, also for the next one
    forget_item: Callable[[ItemKey], None] = lambda key: None

    def __post_init__(self) -> None:
        self.revocations = Revocations(self.loop, self.cancel, self.forget_item)
        self._stopped_at: float | None = None  # when it began to stop; `time.monotonic`
        self._arrived: Mailbox[Delivery] = Mailbox(lambda: self.loop.call_soon(self._take))
        self._tasks: set[asyncio.Task[None]] = set()
        self.finished: ThreadMailbox[Delivery] = ThreadMailbox()
        self._unsettled: set[Delivery] = set()  # that came over the present connection
        self._retries: deque[tuple[Delivery, ErrorKind]] = deque()  # that Celery's events are to be told of
        self._unacknowledged: list[Delivery] = []  # of those that are settled: the broker did not answer
        self.progress_at: float | None = None  # when the last one was taken, or its item was done; `time.monotonic`

    @property
    def taken(self) -> int:
        """Messages so far, of items, of aggregates and foreign ones; may be asked from any thread."""
        return self.foreign_taken() + int(state.all_total_count[0])

    @property
    def in_flight(self) -> int:
        """Messages, of all kinds, in whose place no others are taken; may be asked from any thread."""
        return len(self._unsettled) - self.aside + len(state.reserved_requests) + self.foreign_held()

    @property
    def evaluating(self) -> int:
        """Items that are being evaluated; may be asked from any thread."""
        return len(self._tasks)

    @property
    def aside(self) -> int:
        """Messages held in whose place others are taken; may be asked from any thread."""
        return min(self.standing_aside(), MOST_ASIDE)

    def __call__(self, task: Any, app: Celery, consumer: Any) -> Callable[..., None]:
        """Return what takes each message of a task; Celery asks once for each task and connection."""
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
        """Whether no message is to be taken now; on the consumer's thread."""
        return self.backpressure.trouble is not None

    def await_broker(self) -> None:
        """Return when the broker serves again, or the worker is to stop; on the consumer's thread.

        Celery would try again and again, with a traceback each time or at ever longer intervals.
        """
        self.refused(ConnectionError("the connection was lost"))
        pause = threading.Event()
        pause.wait(RECONNECT_EVERY)  # the loop has heard of it by then
        while self.backpressure.in_trouble(RequiredServer.BROKER) and goes_on():
            pause.wait(RECONNECT_EVERY)

    def refused(self, error: Exception) -> None:
        """Pass on what the broker refuses to do; on the consumer's thread."""
        self.loop.call_soon(lambda: self.tell_refused(error))

    def settle(self) -> None:
        """Settle what is finished; on the consumer's thread."""
        finished = self.finished.take()
        self.tell_retries()  # before the ends of the same items, which were taken first: none is late
        for start in range(0, len(finished), SETTLED_AT_ONCE):
            group = finished[start : start + SETTLED_AT_ONCE]
            for delivery in group:
                state.active_requests.discard(delivery)
                self.revocations.settled(delivery)
            # The others came over a connection that is gone: their messages come again, and cost nothing.
            mine = [delivery for delivery in group if delivery in self._unsettled]
            self._unsettled.difference_update(mine)
            if mine:
                self._unacknowledged += settle(mine)

    def tell_retries(self) -> None:
        """Tell Celery's events of the calls that are made again; on the consumer's thread."""
        while self._retries:
            delivery, kind = self._retries.popleft()
            if delivery in self._unsettled:
                delivery.send_retried(kind)

    def acknowledge_again(self) -> None:
        """Acknowledge what could not be acknowledged; on the consumer's thread.

        What stays unacknowledged counts as in flight for the consumer, and leaves it no room in the end: it would live
        on and consume nothing.
        """
        if self._unacknowledged:
            late, self._unacknowledged = self._unacknowledged, []
            self._unacknowledged = acknowledge(late)

    def forget(self) -> None:
        """Forget what came over a connection that is lost, and with it the right to acknowledge that."""
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
    """The items of one worker process, by the ids of their tasks.

    `cancel` has an item end as cancelled, and its call in flight be cut off where True; both are called on the loop.
    """

    loop: LoopThread
    cancel: Callable[[ItemKey, bool], None]
    forget: Callable[[ItemKey], None]
    _open: set[Delivery] = field(
        init=False, default_factory=set
    )  # taken and not at their end; changed on the loop only

    def taken(self, delivery: Delivery) -> None:
        """Note a message that came; on the consumer's thread."""
        state.requests[delivery.id] = delivery

    def settled(self, delivery: Delivery) -> None:
        """Forget a message that is settled; on the consumer's thread."""
        if state.requests.get(delivery.id) is delivery:  # it may have been delivered again meanwhile
            del state.requests[delivery.id]

    def deliveries(self) -> list[Delivery]:
        """Return what is here and not settled; on the consumer's thread."""
        return [request for request in state.requests.values() if isinstance(request, Delivery)]

    def revoke(self, deliveries: Collection[Delivery], *, cut: bool) -> list[Delivery]:
        """Cancel the items; return those that were not at their end already. On the consumer's thread."""
        going_on = [delivery for delivery in deliveries if delivery in self._open]
        for delivery in deliveries:  # one that the loop has not seen yet is taken before this is heard
            self.loop.call_soon(partial(self._revoked, delivery, cut))
        return going_on

    def begins(self, delivery: Delivery) -> None:
        """Note that an item begins to be evaluated; on the loop."""
        self._open.add(delivery)
        if delivery.id in state.revoked:
            self.cancel(delivery.key, False)

    def ended(self, delivery: Delivery) -> None:
        """Note that nothing more happens to an item; on the loop."""
        self._open.discard(delivery)
        self.forget(delivery.key)

    def _revoked(self, delivery: Delivery, cut: bool) -> None:
        if delivery in self._open:
            self.cancel(delivery.key, cut)


def goes_on() -> bool:
    """Whether the worker was not told to stop."""
    return state.should_stop is None and state.should_terminate is None
