"""What the strategy for awaited tasks hands over to Celery's own, when, and what of it is acknowledged."""

import asyncio
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery.exceptions import Ignore, InvalidTaskError
from celery.worker import state

from tamis_schemas import InvalidParameters, OperationFailed
from tamis_worker.celery_adapter import awaited_strategy
from tamis_worker.celery_adapter.awaited_strategy import ANSWER, AwaitedStrategy, SentTask, taken_answer
from tamis_worker.event_loop.loop import LoopThread

WITHIN = 5.0  # s
HOUR = timedelta(hours=1)


class Message:
    """A message as it comes from kombu."""

    def __init__(self, number: int = 0, **headers: Any) -> None:
        self.headers = {"id": f"id {number}", "task": "tamis.evaluate", **headers}
        self.payload: Any = ([], {"item": number}, {})
        self.released: list[str] = []

    def ack_log_error(self, logger: object, errors: object) -> None:
        self.released.append("acknowledged")

    def reject_log_error(self, logger: object, errors: object, requeue: bool = False) -> None:
        self.released.append("rejected")


class Worker:
    """A strategy whose loop runs, and Celery's own, which keeps what it is given until it is told to acknowledge."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loop = LoopThread()
        self.loop.start()
        self.asked: list[SentTask] = []
        self.given: dict[str, tuple[Any, Any]] = {}  # by the task's id: its answer, and what acknowledges it
        self.may_answer = asyncio.Event()
        monkeypatch.setattr(awaited_strategy, "default", lambda *_: self._usual)
        self.strategy = AwaitedStrategy(self.loop, self._answer)
        self.receive = self.strategy(
            SimpleNamespace(name="tamis.evaluate"), None, SimpleNamespace(connection_errors=())
        )

    def takes(self, message: Message) -> None:
        self.receive(message, None, None, None, None)

    def settles(self) -> None:
        self.strategy.due.wait(WITHIN)
        self.strategy.settle()

    def acknowledges(self, task_id: str) -> None:
        self.given[task_id][1](logging.getLogger(), ())

    async def _answer(self, sent: SentTask) -> Any:
        self.asked.append(sent)
        item = sent.kwargs["item"]
        if item == 7:
            await self.may_answer.wait()
        if isinstance(item, Exception):
            raise item
        return f"answer {item}"

    def _usual(self, message: Message, body: Any, ack: Any, reject: Any, callbacks: Any) -> None:
        assert message.headers["eta"] is None  # Celery would wait for it once more
        self.given[message.headers["id"]] = (message.headers[ANSWER], ack)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    worker = Worker(monkeypatch)
    yield worker
    worker.loop.stop()
    worker.strategy.due.close()


def test_an_answer_is_handed_over_and_its_message_acknowledged_on_the_consumers_thread(worker: Worker) -> None:
    message = Message(3)
    worker.takes(message)
    worker.settles()
    assert worker.given["id 3"][0] == "answer 3"
    worker.acknowledges("id 3")
    assert message.released == []  # on the pool's thread, which must not speak to the broker
    worker.settles()
    assert message.released == ["acknowledged"]
    worker.strategy.finish()  # at once: nothing is left


def test_a_worker_that_stops_waits_for_what_was_handed_over_and_not_for_what_has_no_answer(worker: Worker) -> None:
    answered, waiting = Message(3), Message(7)
    worker.takes(waiting)
    worker.takes(answered)
    worker.settles()
    worker.loop.call_soon(lambda: worker.acknowledges("id 3"))  # from another thread, a little later
    worker.strategy.finish()
    assert (answered.released, waiting.released) == (["acknowledged"], [])


def test_what_came_over_a_lost_connection_is_neither_handed_over_nor_acknowledged(worker: Worker) -> None:
    handed_over, waiting = Message(3), Message(7)
    worker.takes(handed_over)
    worker.settles()
    worker.takes(waiting)
    worker.strategy.forget()
    worker.acknowledges("id 3")
    worker.settles()
    worker.takes(again := Message(8))
    worker.settles()
    assert set(worker.given) == {"id 3", "id 8"}
    assert (handed_over.released, waiting.released, again.released) == ([], [], [])


@pytest.mark.parametrize(
    ("raised", "kind", "said"),
    [
        (InvalidParameters("item: what is wrong"), InvalidParameters, "item: what is wrong"),
        (RuntimeError("a record's text"), OperationFailed, "RuntimeError: see the worker's log"),
    ],
)
def test_an_error_is_an_answer_and_one_that_nobody_foresaw_tells_no_content(
    worker: Worker, raised: Exception, kind: type[Exception], said: str
) -> None:
    worker.takes(Message(raised))  # type: ignore[arg-type]
    worker.settles()
    ((answer, _),) = worker.given.values()
    assert (type(answer), str(answer)) == (kind, said)


def test_what_is_revoked_or_has_expired_is_handed_over_without_being_asked_about(worker: Worker) -> None:
    state.revoked.add("id 1")
    worker.takes(Message(1))
    worker.takes(Message(2, expires=(datetime.now(UTC) - HOUR).isoformat()))
    state.revoked.discard("id 1")
    assert set(worker.given) == {"id 1", "id 2"}  # Celery sees to them
    worker.takes(Message(3, expires=(datetime.now(UTC) + HOUR).isoformat()))
    worker.settles()
    assert [sent.id for sent in worker.asked] == ["id 3"]


def test_what_is_to_be_begun_later_is_not_asked_about_before(worker: Worker) -> None:
    worker.takes(Message(1, eta=(datetime.now() + timedelta(hours=1)).astimezone().isoformat()))  # noqa: DTZ005
    worker.takes(Message(2, eta=datetime.now(UTC).isoformat()))
    worker.settles()
    assert [sent.id for sent in worker.asked] == ["id 2"]


@pytest.mark.parametrize("payload", [None, ([], {}), ("no list", {}, {}), ([], "no dict", {})])
def test_a_message_that_cannot_be_read_is_refused(worker: Worker, payload: Any) -> None:
    message = Message()
    message.payload = payload
    for unreadable in (message, Message(eta="tomorrow")):
        with pytest.raises(InvalidTaskError, match="takes named arguments"):
            worker.takes(unreadable)
    assert worker.asked == []


class Task:
    """A task in whose place Celery runs a body, beside a backend that has a result, or none."""

    def __init__(self, status: str, *, answer: Any = "new", chord: Any = None) -> None:
        self.request = SimpleNamespace(id="an id", chord=chord, **{ANSWER: answer})
        self.backend = self
        self.parts: list[tuple[str, Any]] = []
        self._status = status

    def get_task_meta(self, task_id: str, cache: bool = True) -> dict[str, Any]:
        assert (task_id, cache) == ("an id", False)
        return {"status": self._status, "result": "old"}

    def on_chord_part_return(self, request: Any, status: str, result: Any) -> None:
        self.parts.append((status, result))


def test_a_body_returns_or_raises_its_answer() -> None:
    assert taken_answer(Task("PENDING")) == "new"
    with pytest.raises(OperationFailed, match=r"^refused: why$"):
        taken_answer(Task("STARTED", answer=OperationFailed("refused: why")))


@pytest.mark.parametrize("status", ["SUCCESS", "FAILURE"])
def test_a_task_that_has_its_result_sends_nothing_on_and_counts_its_part_once_more(status: str) -> None:
    for chord, parts in ((None, []), ({"task": "the body"}, [(status, "old")])):
        task = Task(status, chord=chord)
        with pytest.raises(Ignore):
            taken_answer(task)
        assert task.parts == parts
