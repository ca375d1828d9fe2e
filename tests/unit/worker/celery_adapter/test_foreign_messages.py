"""Messages that no worker understands: what is said of them, what is counted, and when each is acknowledged."""

from collections.abc import Iterator

import pytest

from tamis_producer.config.redaction import Redaction
from tamis_worker.celery_adapter.foreign_messages import BEYOND, SHOWN, ForeignMessages, LogAllowance
from tamis_worker.telemetry.measures import Measures

SECRET = "hunter2-hunter2-hunter2"


class Message:
    """A foreign message, and how often it was acknowledged."""

    def __init__(self, task: object, body: object = b"[]") -> None:
        self.headers: object = {"task": task, "id": "an id"}
        self.delivery_info: object = {"routing_key": "items.normal.0"}
        self.channel = None
        self.body = body
        self.acknowledged = 0
        self.fails = False

    def ack(self) -> None:
        if self.fails:
            raise ConnectionError("the broker is away")
        self.acknowledged += 1


class Count(Measures):
    """How many were counted."""

    def __init__(self) -> None:
        self.refused = 0

    def refused_message(self) -> None:
        self.refused += 1


class Stage:
    """Three log lines a minute."""

    def __init__(self) -> None:
        self.now = 0.0
        self.count = Count()
        redact = Redaction([SECRET])
        self.foreign = ForeignMessages(redact, measures=self.count, allowance=LogAllowance(3, clock=lambda: self.now))

    def refuses(self, *tasks: object) -> list[Message]:
        messages = [Message(task) for task in tasks]
        for message in messages:
            self.foreign.refuse(message, "it is foreign")
        return messages


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.foreign.refused.close()


def test_a_message_is_described_counted_and_acknowledged(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    messages = stage.refuses("a", "b")
    assert (stage.foreign.held, stage.foreign.taken, stage.count.refused) == (2, 2, 2)
    stage.foreign.settle()
    assert (stage.foreign.held, [message.acknowledged for message in messages]) == (0, [1, 1])
    assert caplog.messages[0] == (
        "a message that no worker understands: it is foreign. queue='items.normal.0' task='a' id='an id' body='[]'"
    )


def test_what_is_beyond_the_minutes_allowance_is_counted_and_told_in_one_line(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    messages = stage.refuses("a", "b", "c", "d", "e")
    stage.foreign.settle()
    assert [message.acknowledged for message in messages] == [1] * 5
    assert (len(caplog.messages), stage.count.refused) == (3, 5)
    stage.foreign.tell_unsaid()
    stage.foreign.tell_unsaid()
    assert caplog.messages[3:] == ["2 more messages that no worker understands"]


def test_the_allowance_begins_anew_a_minute_after_its_first_line() -> None:
    now = [100.0]
    allowance = LogAllowance(2, clock=lambda: now[0])
    assert [allowance.take() for _ in range(3)] == [True, True, False]
    now[0] = 159.9
    assert not allowance.take()
    now[0] = 160.0
    assert [allowance.take() for _ in range(3)] == [True, True, False]


def test_what_came_over_a_lost_connection_is_not_acknowledged(stage: Stage) -> None:
    (message,) = stage.refuses("a")
    stage.foreign.forget()
    stage.foreign.settle()
    assert (stage.foreign.held, message.acknowledged) == (0, 0)


def test_an_acknowledgement_that_failed_is_made_again(stage: Stage) -> None:
    (message,) = stage.refuses("a")
    message.fails = True
    stage.foreign.settle()
    assert stage.foreign.held == 1
    message.fails = False
    stage.foreign.acknowledge_again()
    stage.foreign.acknowledge_again()
    assert (stage.foreign.held, message.acknowledged) == (0, 1)


def test_bytes_that_are_no_message_are_described_and_nothing_is_acknowledged(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.foreign.refuse_bytes("items", b"hello\xff", "it is no message")
    assert (stage.foreign.held, stage.foreign.taken) == (0, 1)
    assert caplog.messages == [
        "a message that no worker understands: it is no message. queue='items' task=- id=- body='hello\\\\xff'"
    ]


def test_a_worker_that_stops_acknowledges_what_it_refused(stage: Stage) -> None:
    (message,) = stage.refuses("a")
    stage.foreign.finish()
    assert message.acknowledged == 1


@pytest.mark.parametrize("before", [0, SHOWN - 5, SHOWN + BEYOND - 5])
def test_no_secret_is_said_wherever_it_stands(stage: Stage, caplog: pytest.LogCaptureFixture, before: int) -> None:
    stage.foreign.refuse(Message("t", "x" * before + SECRET), "it is foreign")
    stage.foreign.refuse(Message(SECRET), f"no task {SECRET}")
    assert SECRET[:7] not in caplog.text
    assert all(len(message) < 10 * SHOWN for message in caplog.messages)


def test_parts_of_any_type_are_shown_on_one_line(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    broken = Message(nested, "two\nlines")
    stage.foreign.refuse(broken, "it is foreign")
    broken.headers, broken.delivery_info, broken.body = ["no mapping"], "nowhere", 7
    stage.foreign.refuse(broken, "it is foreign")
    assert "task='list'" in caplog.messages[0]
    assert "queue=- task=- id=- body='7'" in caplog.messages[1]
    assert not any("\n" in message for message in caplog.messages)
