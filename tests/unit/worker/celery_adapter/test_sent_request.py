"""What Celery's events and `celery inspect` show of a service's task, beside what its sender gets."""

import asyncio
import os
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery
from celery.result import AsyncResult
from celery.worker import state

from tamis_schemas import InvalidParameters, OperationFailed, TamisError
from tamis_worker.celery_adapter.awaited_strategy import AwaitedStrategy
from tamis_worker.celery_adapter.remote_control import RemoteControl
from tamis_worker.process.run import register

ITEM = {"id": "rec-14", "title": "Sleep of owls"}
FILTER = {"operation": "filter", "params": {"criteria": "Is it about sleep?"}}
ANSWER = {"item_id": "rec-14", "value": True, "confidence": 0.9, "reasoning": "Owls are said to sleep.", "error": None}
ANIMALS = {"type": "object", "properties": {"animal": {"type": "string"}, "n": {"type": "integer"}}}
CONTENT = ("owls", "sleep", "json object", "traceback (most")
BOUND = 5.0  # s
BATCH = "3f2a91c0-0000-4000-8000-000000000000"


class Message:
    """A message as the sender's Celery makes it, which shows the arguments in its headers."""

    def __init__(self, task: str, args: list[Any], kwargs: dict[str, Any]) -> None:
        self.headers = {
            "id": str(uuid4()),
            "task": task,
            "argsrepr": repr(args),
            "kwargsrepr": repr(kwargs),
            "root_id": None,
            "parent_id": None,
            "group": None,
            "retries": 0,
        }
        self.payload = self.body = (args, kwargs, {})
        self.content_type = self.content_encoding = None
        self.delivery_info = {"routing_key": "tamis"}
        self.properties: dict[str, Any] = {}

    def ack_log_error(self, *_: object) -> None:
        pass

    reject_log_error = ack_log_error


class Worker:
    """The two tasks in an application of Celery's, with its own strategy; what is asked is answered at once."""

    enabled = True  # as a dispatcher of events

    def __init__(self) -> None:
        self.app = Celery("a worker", broker="memory://", backend="cache+memory://", set_as_current=False)
        self.answer: Any = None
        self.events: list[dict[str, Any]] = []
        self.inspected: list[Any] = []  # while the task runs
        loop: Any = SimpleNamespace(call_soon=lambda callback: callback())
        self.strategy = AwaitedStrategy(loop, self._answer)
        runtime: Any = SimpleNamespace(deliveries=None, sent=self.strategy, foreign=None)
        register(self.app, runtime)

    def send(self, kind: str, **fields: Any) -> None:
        self.events.append({"type": kind, **fields})

    def apply_async(self, target: Any, args: Any, accept_callback: Any, callback: Any, **_: object) -> None:
        accept_callback(os.getpid(), time.monotonic())
        control: Any = RemoteControl(None, None)  # type: ignore[arg-type] # of no item
        ((_, found),) = control.query_task(None, args[1]).values()
        self.inspected = [found, *control.active(None), *control.active(None, safe=True)]
        callback(target(*args, app=self.app))

    async def takes(self, name: str, *args: Any, answer: Any, **kwargs: Any) -> AsyncResult:
        self.answer = answer
        message = Message(name, list(args), kwargs)
        consumer = SimpleNamespace(
            hostname="w",
            connection_errors=(),
            event_dispatcher=self,
            pool=self,
            timer=SimpleNamespace(call_at=None),
            apply_eta_task=None,
            task_buckets={},
            disable_rate_limits=True,
            _limit_task=None,
            _limit_post_eta=None,
            on_task_request=lambda request: request.execute_using_pool(self),
            controller=SimpleNamespace(state=state),
        )
        self.strategy(self.app.tasks[name], self.app, consumer)(message, None, None, None, None)
        await asyncio.to_thread(self.strategy.due.wait, BOUND)
        self.strategy.settle()
        return self.app.AsyncResult(message.headers["id"])

    async def _answer(self, _: object) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def shown(self) -> tuple[Any, ...]:
        """What the events tell: of what is asked, and of what it came to. Nothing else in them has content."""
        received, started, ended = self.events
        assert (received["type"], started["type"]) == ("task-received", "task-started")
        told = str([*self.events, *self.inspected]).lower()
        assert [word for word in CONTENT if word in told] == []
        assert {(one["args"], str(one["kwargs"])) for one in self.inspected} == {(received["args"], "{}")}
        assert received["kwargs"] == "{}"
        return received["args"], ended["type"], ended.get("result", ended.get("exception")), ended.get("traceback")


@pytest.fixture
def worker() -> Iterator[Worker]:
    counted = state.all_total_count[0]
    worker = Worker()
    yield worker
    worker.strategy.due.close()
    state.all_total_count[0] = counted
    for kept in (state.requests, state.active_requests, state.reserved_requests, state.total_count):
        kept.clear()


ONE = "operation=filter item=rec-14 service=celery"


@pytest.mark.parametrize(
    ("asked", "answer", "shown", "told"),
    [
        (FILTER, ANSWER, ONE, "true 0.90"),
        (
            {
                "operation": "inclusion",
                "params": {"criteria": {"research_question": "Do owls?", "inclusion_criteria": ["They sleep."]}},
            },
            ANSWER | {"value": "include", "confidence": 0.92, "detail": {"why": "owls"}},
            "operation=inclusion item=rec-14 service=celery",
            "include 0.92",
        ),
        (
            {"operation": "extract", "params": {"instruction": "Which animals sleep?"}},
            ANSWER | {"value": "owls"},
            "operation=extract item=rec-14 service=celery",
            "a value 0.90",
        ),
        (
            {"operation": "extract_fields", "params": {"schema": ANIMALS, "instructions": "What it says of sleep"}},
            {"item_id": "rec-14", "fields": {"animal": "owls", "n": None}, "confidence": 0.5, "reasoning": "Sleep."},
            "operation=extract_fields item=rec-14 service=celery",
            "1 of 2 fields 0.50",
        ),
    ],
)
async def test_an_answer_is_shown_as_its_decision_and_given_whole_to_its_sender(
    worker: Worker, asked: dict[str, Any], answer: dict[str, Any], shown: str, told: str
) -> None:
    result = await worker.takes("tamis.evaluate", answer=answer, item=ITEM, **asked)
    assert worker.shown() == (shown, "task-succeeded", told, None)
    assert result.get() == answer


async def test_a_record_that_a_chain_hands_on_is_shown_by_its_id(worker: Worker) -> None:
    await worker.takes("tamis.evaluate", ITEM, answer=ANSWER, **FILTER)
    assert worker.shown()[0] == ONE


@pytest.mark.parametrize("args", [(), ([ITEM, ITEM],)])
async def test_a_batch_is_shown_by_its_size_and_its_id(worker: Worker, args: tuple[Any, ...]) -> None:
    items = {} if args else {"items": [ITEM, ITEM]}
    result = await worker.takes("tamis.submit", *args, answer=BATCH, label="Sleep of owls", **items, **FILTER)
    assert worker.shown() == ("operation=filter items=2", "task-succeeded", BATCH, None)
    assert result.get() == BATCH


@pytest.mark.parametrize(
    ("error", "raised", "told"),
    [
        (OperationFailed("malformed: no JSON object in 'Owls'"), OperationFailed, "malformed"),
        (OperationFailed("Owls: a beginning that is no kind"), OperationFailed, "OperationFailed"),
        (InvalidParameters("item: 'Owls' is no record"), InvalidParameters, "InvalidParameters"),
        (InvalidParameters("timeout: 'Owls'"), InvalidParameters, "InvalidParameters"),
        (RuntimeError("Owls"), OperationFailed, "OperationFailed"),
    ],
)
async def test_an_error_is_shown_as_its_kind_and_given_whole_to_its_sender(
    worker: Worker, error: Exception, raised: type[TamisError], told: str
) -> None:
    result = await worker.takes("tamis.evaluate", answer=error, item=ITEM, **FILTER)
    assert worker.shown() == (ONE, "task-failed", told, None)
    with pytest.raises(raised) as given:
        result.get()
    assert str(given.value) == (str(error) if isinstance(error, TamisError) else "RuntimeError: see the worker's log")
    assert "taken_answer" in result.traceback


async def test_an_answer_that_cannot_be_kept_is_shown_as_the_error_that_this_is(worker: Worker) -> None:
    await worker.takes("tamis.evaluate", answer=ANSWER | {"reasoning": {"owls"}}, item=ITEM, **FILTER)
    assert worker.shown()[1:] == ("task-failed", "EncodeError", None)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ({"item": "Owls", "operation": "Do owls sleep?"}, "operation=unknown item=unknown service=celery"),
        ({"item": {"title": "Owls"}, "operation": ["owls"]}, "operation=unknown item=unknown service=celery"),
        ({}, "operation=unknown item=unknown service=celery"),
        ({"item": {"id": "a\nb" + 99 * "c"}, **FILTER}, f"operation=filter item=a\ufffdb{77 * 'c'} service=celery"),
    ],
)
async def test_arguments_that_are_none_are_not_shown_either(worker: Worker, asked: dict[str, Any], shown: str) -> None:
    await worker.takes("tamis.evaluate", answer=InvalidParameters("owls"), **asked)
    assert worker.shown() == (shown, "task-failed", "InvalidParameters", None)
    await worker.takes("tamis.submit", answer=InvalidParameters("owls"), items="Owls")
    worker.events = worker.events[3:]
    assert worker.shown()[0] == "operation=unknown items=unknown"
