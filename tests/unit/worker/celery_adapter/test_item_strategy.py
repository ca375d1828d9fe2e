"""What the item strategy counts of the messages that it takes, and tells Celery's events of them."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from celery.exceptions import InvalidTaskError
from celery.worker import state

from tamis_worker.celery_adapter.item_strategy import MOST_ASIDE, ItemStrategy, goes_on


class Message:
    """An item's message, as it comes from kombu."""

    def __init__(self, *args: object) -> None:
        self.headers = {"id": "an id", "task": "tamis.filter", "argsrepr": "b#0", "group": "g", "group_index": 0}
        self.payload = (args, {}, {"chord": {"task": "the body"}})
        self.delivery_info = {"routing_key": "items"}


class Worker:
    """A strategy whose loop takes nothing, and the events that it sends."""

    def __init__(self) -> None:
        self.aside = 0
        self.foreign = 0
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.eventer = SimpleNamespace(
            enabled=True, hostname="h", send=lambda kind, **fields: self.sent.append((kind, fields))
        )
        loop: Any = SimpleNamespace(call_soon=lambda callback: None)
        evaluate: Any = None
        self.strategy = ItemStrategy(
            loop, evaluate, stop_within=1.0, standing_aside=lambda: self.aside, **self.of_nobody()
        )
        consumer = SimpleNamespace(event_dispatcher=self.eventer, connection_errors=())
        self.receive = self.strategy(SimpleNamespace(name="tamis.filter"), SimpleNamespace(), consumer)

    def of_nobody(self) -> dict[str, Callable[[], int]]:
        return {"foreign_taken": lambda: self.foreign, "foreign_held": lambda: self.foreign}

    def takes(self, message: Message) -> None:
        self.receive(message, None, None, None, None)


@pytest.fixture
def worker() -> Iterator[Worker]:
    before = state.all_total_count[0]
    worker = Worker()
    yield worker
    worker.strategy.finished.close()
    state.active_requests.clear()
    state.all_total_count[0] = before
    state.total_count.pop("tamis.filter", None)


def test_messages_of_items_of_aggregates_and_of_nobody_are_counted_once(worker: Worker) -> None:
    before = worker.strategy.taken
    worker.takes(Message(str(uuid4()), 0))
    with pytest.raises(InvalidTaskError, match="takes a batch's id, the index of an item"):
        worker.takes(Message("no uuid", 0))  # Celery hands it to the consumer
    state.all_total_count[0] += 1  # as Celery counts an aggregate that begins
    worker.foreign = 1
    assert worker.strategy.taken - before == 3
    assert worker.strategy.in_flight == 2


def test_items_that_stand_aside_take_no_place_and_aggregates_that_wait_do(worker: Worker) -> None:
    for index in range(5):
        worker.takes(Message(str(uuid4()), index))
    assert worker.strategy.in_flight == 5
    worker.aside = 2
    assert worker.strategy.in_flight == 3
    aggregate = Worker()  # whatever can be held weakly
    state.reserved_requests.add(aggregate)
    assert worker.strategy.in_flight == 4
    state.reserved_requests.discard(aggregate)
    aggregate.strategy.finished.close()
    worker.aside = MOST_ASIDE + 1
    assert worker.strategy.in_flight == 5 - MOST_ASIDE


def test_celery_is_told_of_an_item_where_it_listens(worker: Worker) -> None:
    worker.takes(Message(str(uuid4()), 0))
    (delivery,) = state.active_requests
    assert [kind for kind, _ in worker.sent] == ["task-received", "task-started"]
    assert {fields["uuid"] for _, fields in worker.sent} == {"an id"}
    shown = delivery.info(safe=True)
    assert (shown["id"], shown["args"], shown["hostname"], shown["acknowledged"]) == ("an id", "b#0", "h", False)
    worker.eventer.enabled = False
    worker.takes(Message(str(uuid4()), 1))
    assert len(worker.sent) == 2


@pytest.mark.parametrize("name", ["should_stop", "should_terminate"])
def test_a_worker_that_was_told_to_stop_does_not_go_on(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert goes_on()
    monkeypatch.setattr(state, name, 0)
    assert not goes_on()
