"""What Celery's own state machine makes of the events of an item, whatever became of it."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from celery.events.state import State
from celery.worker import state

from tamis_schemas import ErrorKind
from tamis_worker.celery_adapter.delivery import MOST_RETRIES_TOLD
from tamis_worker.celery_adapter.item_strategy import ItemStrategy
from tamis_worker.engine.item_end import ItemDecided, ItemEnd, NoOutcome, Retried

BOUND = 5.0  # s


class Message:
    """An item's message, as it comes from kombu; RabbitMQ's, which are acknowledged one by one."""

    channel = None

    def __init__(self, name: str) -> None:
        self.headers = {"id": name, "task": "tamis.filter", "argsrepr": f"item={name}"}
        self.payload = ((str(uuid4()), 0), {}, {})
        self.delivery_info = {"routing_key": "items"}
        self.acknowledged = False

    def ack(self) -> None:
        self.acknowledged = True


class Monitor:
    """Keeps the events of a worker as Flower does: Celery's states, and how often each event came."""

    enabled = True
    hostname = "w"

    def __init__(self) -> None:
        self.state = State()
        self.counter: Counter[str] = Counter()
        self.sent: list[dict[str, Any]] = []

    def send(self, kind: str, **fields: Any) -> None:
        clock = len(self.sent)
        event = {"type": kind, "hostname": "w", "timestamp": clock, "local_received": clock, "clock": clock, **fields}
        self.sent.append(dict(event))
        self.counter[kind] += 1
        self.state.event(event)

    def task(self, name: str) -> Any:
        return self.state.tasks[name]


class Worker:
    """A strategy on the present loop; each item ends as it is told, after the calls that it is told to make again."""

    def __init__(self) -> None:
        self.monitor = Monitor()
        self.retries: list[ErrorKind] = []
        self.end: ItemEnd | Exception = NoOutcome.SKIPPED
        self.answered = asyncio.Event()  # the last call of each item is
        self.answered.set()
        loop: Any = SimpleNamespace(call_soon=lambda callback: callback())
        self.strategy = ItemStrategy(loop, self._evaluate, stop_within=BOUND)
        consumer = SimpleNamespace(event_dispatcher=self.monitor, connection_errors=())
        self._receive = self.strategy(SimpleNamespace(name="tamis.filter"), SimpleNamespace(), consumer)

    async def _evaluate(self, _: object, retried: Retried) -> ItemEnd:
        for kind in self.retries:
            retried(kind)
        await self.answered.wait()
        if isinstance(self.end, Exception):
            raise self.end
        return self.end

    def takes(self, message: Message, end: ItemEnd | Exception) -> None:
        self.end = end
        self._receive(message, None, None, None, None)

    async def settles(self) -> None:
        await self.strategy.ended()
        self.strategy.settle()

    async def delivers(self, message: Message, end: ItemEnd | Exception) -> None:
        self.takes(message, end)
        await self.settles()


@pytest.fixture
def worker() -> Iterator[Worker]:
    before = state.all_total_count[0]
    worker = Worker()
    yield worker
    worker.strategy.finished.close()
    state.active_requests.clear()
    state.all_total_count[0] = before
    state.total_count.pop("tamis.filter", None)


@pytest.mark.parametrize(
    ("end", "shown", "counted", "result", "exception"),
    [
        (ItemDecided("include 0.92"), "SUCCESS", "task-succeeded", "include 0.92", None),
        *((kind, "FAILURE", "task-failed", None, kind.value) for kind in ErrorKind),
        (NoOutcome.CANCELLED, "REVOKED", "task-revoked", None, None),
        (NoOutcome.RETURNED, "RETURNED", "task-returned", None, None),
        (NoOutcome.SKIPPED, "SKIPPED", "task-skipped", None, None),
        (NoOutcome.NOT_BEGUN, "RETRY", "task-retried", None, "not begun"),
        (ValueError("Abstract 7 says so"), "RETURNED", "task-returned", None, None),  # a fault of ours
    ],
)
async def test_each_end_of_an_item_has_its_own_state_and_counter(
    worker: Worker, end: Any, shown: str, counted: str, result: str | None, exception: str | None
) -> None:
    message = Message("a")
    await worker.delivers(message, end)
    task = worker.monitor.task("a")
    assert (task.state, task.result, task.exception, task.traceback) == (shown, result, exception, None)
    assert worker.monitor.counter == {"task-received": 1, "task-started": 1, counted: 1}
    assert message.acknowledged is (end is not NoOutcome.NOT_BEGUN)
    assert (state.total_count["tamis.filter"], list(state.active_requests)) == (1, [])


async def test_of_a_decision_the_time_is_told_that_it_took(worker: Worker) -> None:
    await worker.delivers(Message("a"), ItemDecided("true 0.78"))
    assert 0 <= worker.monitor.task("a").runtime < BOUND


async def test_a_message_that_comes_twice_shows_the_outcome_and_not_the_skipped_delivery(worker: Worker) -> None:
    await worker.delivers(Message("a"), ItemDecided("true 0.78"))
    await worker.delivers(Message("a"), NoOutcome.SKIPPED)
    await worker.delivers(Message("b"), NoOutcome.SKIPPED)
    await worker.delivers(Message("b"), ErrorKind.TIMEOUT)
    assert (worker.monitor.task("a").state, worker.monitor.task("b").state) == ("SUCCESS", "FAILURE")


async def test_a_message_that_goes_back_to_its_queue_is_shown_begun_by_whoever_takes_it_next(worker: Worker) -> None:
    shown = []
    await worker.delivers(Message("a"), NoOutcome.NOT_BEGUN)
    shown.append(worker.monitor.task("a").state)
    for kind in ("task-received", "task-started"):
        worker.monitor.send(kind, uuid="a")
        shown.append(worker.monitor.task("a").state)
    assert shown == ["RETRY", "RECEIVED", "STARTED"]


async def test_calls_that_are_made_again_are_told_in_order_and_up_to_a_bound(worker: Worker) -> None:
    worker.retries = [ErrorKind.SERVER, ErrorKind.TIMEOUT, *[ErrorKind.RATE_LIMITED] * 50]
    await worker.delivers(Message("a"), ItemDecided("true 0.78"))
    kinds = [event["exception"] for event in worker.monitor.sent if event["type"] == "task-retried"]
    assert MOST_RETRIES_TOLD == 3
    assert kinds == ["server", "timeout", "rate_limited"]
    assert [event["type"] for event in worker.monitor.sent][-1] == "task-succeeded"
    assert worker.monitor.task("a").state == "SUCCESS"


async def test_while_an_item_waits_for_its_next_call_that_is_shown(worker: Worker) -> None:
    worker.retries = [ErrorKind.TIMEOUT]
    worker.answered.clear()
    worker.takes(Message("a"), ItemDecided("true 0.78"))
    await asyncio.sleep(0)  # its first call has failed by then
    worker.strategy.tell_retries()
    task = worker.monitor.task("a")
    assert (task.state, task.exception) == ("RETRY", "timeout")
    worker.answered.set()
    await worker.settles()
    assert task.state == "SUCCESS"


async def test_of_what_a_lost_connection_brought_nothing_more_is_told(worker: Worker) -> None:
    worker.retries = [ErrorKind.TIMEOUT]
    worker.takes(Message("a"), ItemDecided("true 0.78"))
    worker.strategy.forget()
    await worker.settles()
    assert worker.monitor.counter == {"task-received": 1, "task-started": 1}


@pytest.mark.parametrize("listening", [True, False])
async def test_events_are_sent_where_somebody_listens(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, *, listening: bool
) -> None:
    monkeypatch.setattr(Monitor, "enabled", listening)
    worker.retries = [ErrorKind.TIMEOUT]
    await worker.delivers(Message("a"), ErrorKind.TIMEOUT)
    assert bool(worker.monitor.sent) is listening
