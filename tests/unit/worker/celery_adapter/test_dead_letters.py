"""Foreign messages on their way to the ledger: what is kept, what is counted, and when each is acknowledged."""

import threading
from collections.abc import Iterator, Sequence

import pytest

from tamis_schemas import LedgerUnavailable
from tamis_worker.celery_adapter import dead_letters
from tamis_worker.celery_adapter.dead_letters import Allowance, DeadLetterBox
from tamis_worker.event_loop.loop import LoopThread
from tamis_worker.ledger.dead_letters import Gathered

WITHIN = 10.0  # s


class Message:
    """A foreign message, and whether it was acknowledged."""

    def __init__(self, name: str) -> None:
        self.headers = {"task": name}
        self.properties: dict[str, object] = {}
        self.delivery_info: dict[str, object] = {}
        self.content_type = self.content_encoding = self.channel = None
        self.body = b"[]"
        self.acknowledged = 0
        self.fails = False

    def ack(self) -> None:
        if self.fails:
            raise ConnectionError("the broker is away")
        self.acknowledged += 1


class Ledger:
    """A ledger that takes letters where `answers` is set, and raises `error` where there is one."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.answers.set()
        self.error: Exception | None = None
        self.tasks: list[str | None] = []
        self.more = 0

    async def record(self, gathered: Sequence[Gathered]) -> Sequence[None]:
        if not self.answers.is_set():
            raise LedgerUnavailable("it is away")
        if self.error is not None:
            raise self.error
        self.tasks += [letter.task for one in gathered for letter in one.letters]
        self.more += sum(one.more for one in gathered)
        return [None] * len(gathered)


class Stage:
    """A box on a loop of its own, with room for three letters a minute."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ledger = Ledger()
        self.loop = LoopThread()
        self.box = DeadLetterBox(self.loop, self.ledger.record, str, allowance=Allowance(3, clock=lambda: self.now))
        self.loop.start()
        self.loop.run(self.box.commit.start())

    def keeps(self, *names: str) -> list[Message]:
        messages = [Message(name) for name in names]
        for message in messages:
            self.box.keep(message, "it is foreign")
        return messages

    def settled(self) -> None:
        """Return once every message is acknowledged, as the consumer's thread sees to it."""
        for _ in range(100):
            if not self.box.held:
                return
            self.box.written.wait(WITHIN / 100)
            self.box.settle()
        raise AssertionError(f"{self.box.held} are held")


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.ledger.answers.set()
    stage.loop.run(stage.box.close())
    stage.loop.stop()
    stage.box.written.close()


def test_a_message_is_acknowledged_once_its_letter_is_written(stage: Stage) -> None:
    stage.ledger.answers.clear()
    messages = stage.keeps("a", "b")
    stage.box.settle()
    assert (stage.box.held, stage.box.taken) == (2, 2)
    assert [message.acknowledged for message in messages] == [0, 0]  # the ledger is away
    stage.ledger.answers.set()
    stage.settled()
    assert stage.ledger.tasks == ["a", "b"]
    assert [message.acknowledged for message in messages] == [1, 1]


def test_what_is_beyond_the_minutes_allowance_is_counted_and_acknowledged_without_the_ledger(stage: Stage) -> None:
    kept = stage.keeps("a", "b", "c")
    stage.settled()
    stage.ledger.answers.clear()
    counted = stage.keeps("d", "e")
    stage.settled()
    assert [message.acknowledged for message in kept + counted] == [1] * 5
    stage.ledger.answers.set()
    stage.box.tell_counted()
    stage.box.tell_counted()
    stage.loop.run(stage.box.close())
    assert (stage.ledger.tasks, stage.ledger.more, stage.box.taken) == (["a", "b", "c"], 2, 5)


def test_the_allowance_begins_anew_a_minute_after_its_first_letter() -> None:
    now = [100.0]
    allowance = Allowance(2, clock=lambda: now[0])
    assert [allowance.take() for _ in range(3)] == [True, True, False]
    now[0] = 159.9
    assert not allowance.take()
    now[0] = 160.0
    assert [allowance.take() for _ in range(3)] == [True, True, False]


def test_what_came_over_a_lost_connection_is_not_acknowledged(stage: Stage) -> None:
    stage.ledger.answers.clear()
    (message,) = stage.keeps("a")
    stage.box.forget()
    assert stage.box.held == 0
    stage.ledger.answers.set()
    stage.box.written.wait(WITHIN)
    stage.box.settle()
    assert (stage.ledger.tasks, message.acknowledged) == (["a"], 0)


def test_an_acknowledgement_that_failed_is_made_again(stage: Stage) -> None:
    message = Message("a")
    message.fails = True
    stage.box.keep(message, "it is foreign")
    stage.settled()
    message.fails = False
    stage.box.acknowledge_again()
    stage.box.acknowledge_again()
    assert message.acknowledged == 1


def test_a_letter_that_the_ledger_refuses_holds_no_message(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.ledger.error = ValueError("no such table")
    (message,) = stage.keeps("a")
    stage.settled()
    assert message.acknowledged == 1
    assert "no such table" in caplog.text
    assert "it is foreign" in caplog.text


def test_bytes_that_are_no_message_are_kept_and_nothing_is_acknowledged(stage: Stage) -> None:
    stage.box.keep_bytes("items", b"hello", "it is no message")
    assert stage.box.held == 0
    stage.box.written.wait(WITHIN)
    stage.box.settle()
    assert stage.ledger.tasks == [None]


def test_a_worker_that_stops_leaves_what_is_not_written_unacknowledged(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "STOP_WITHIN", 0.05)
    (written,) = stage.keeps("a")
    stage.settled()
    stage.ledger.answers.clear()
    (left,) = stage.keeps("b")
    stage.box.finish()
    assert (written.acknowledged, left.acknowledged, stage.box.held) == (1, 0, 1)
