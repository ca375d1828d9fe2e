"""Whoever can write into the broker cannot have a worker run anything: JSON alone is read, only our tasks are run."""

import json
import pickle
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from celery.exceptions import NotRegistered
from kombu import Connection, Exchange

from stage import House, WorkerProcess, abstracts, wait_until
from tamis_producer.transport.broker import make_app
from tamis_schemas import Filter
from tamis_schemas.batches import wire
from tamis_worker.celery_adapter.foreign_messages import SAID_A_MINUTE

QUEUE = "items.normal.0"


class Creates:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def put(house: House, body: bytes, content_type: str, encoding: str, *, queue: str = QUEUE, **headers: Any) -> None:
    """Into the queue as it is, past everything that our own producers do."""
    app = make_app(house.client.settings)
    with app.connection_for_write() as connection:
        assert isinstance(connection, Connection)
        connection.Producer().publish(
            body,
            routing_key=queue,
            content_type=content_type,
            content_encoding=encoding,
            headers={"id": str(uuid4()), "task": "tamis.filter", "lang": "py"} | headers,
        )


def waiting(house: House) -> int:
    """Messages in the queues, and those that are not acknowledged."""
    with redis.Redis.from_url(house.client.settings.broker) as server:
        names = [wire.KEY_PREFIX + name for name in (*wire.ITEM_QUEUES, wire.CONTROL_QUEUE)]
        return sum(int(server.llen(name)) for name in names) + int(server.hlen(f"{wire.KEY_PREFIX}unacked"))


YAML = b"!!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path ['%s']]"


def hostile(kind: str, made: Path) -> tuple[bytes, str, str]:
    match kind:
        case "pickle":
            return pickle.dumps([(str(uuid4()), 0), {}, Creates(made)]), "application/x-python-serialize", "binary"
        case "pickle that says it is JSON":
            return pickle.dumps([(str(uuid4()), 0), {}, Creates(made)]), "application/json", "binary"
        case "yaml":
            return YAML.replace(b"%s", str(made).encode()), "application/x-yaml", "utf-8"
        case "an unknown type":
            return b"<x/>", "application/x-of-nobody", "utf-8"
        case "nested without end":
            return b"[" * 200_000, "application/json", "utf-8"
        case "not an item's":
            return json.dumps([["no-uuid", "first"], {}, {}]).encode(), "application/json", "utf-8"
        case "an object":
            return json.dumps({"batch_id": "x"}).encode(), "application/json", "utf-8"
        case "a time that is none":
            return json.dumps([[str(uuid4()), 1, 0], {}, {}]).encode(), "application/json", "utf-8"
        case "nothing":
            return b"", "application/json", "utf-8"
        case "larger than what is shown":
            return json.dumps([["x" * 3_000_000, 1], {}, {}]).encode(), "application/json", "utf-8"
        case _:
            return json.dumps([[str(uuid4()), 10**30], {}, {"chord": "no body"}]).encode(), "application/json", "utf-8"


WRONG = {  # what is said of it
    "pickle": "its body is of the type 'application/x-python-serialize'",
    "pickle that says it is JSON": "its body cannot be read as JSON",
    "yaml": "its body is of the type 'application/x-yaml'",
    "an unknown type": "its body is of the type 'application/x-of-nobody'",
    "nested without end": "its body cannot be read as JSON",
    "not an item's": " takes a batch's id",
    "an object": " takes a batch's id",
    "a number beyond all others": " takes a batch's id",
    "a time that is none": " takes a batch's id",
    "nothing": " takes a batch's id",
    "larger than what is shown": " takes a batch's id",
}


def said(house: House) -> list[str]:
    """The lines of the worker's log about messages that it did not understand."""
    lines = [line for line in house.worker.text().splitlines() if "a message that no worker understands: " in line]
    return [json.loads(line)["event"] for line in lines]


@pytest.mark.parametrize("queue", [QUEUE, wire.CONTROL_QUEUE])
def test_a_foreign_message_of_any_kind_is_refused_and_does_no_harm(house: House, tmp_path: Path, queue: str) -> None:
    task = "tamis.filter" if queue == QUEUE else "tamis.aggregate"
    for kind in WRONG:
        body, content_type, encoding = hostile(kind, tmp_path / "made")
        times = {"eta": "soon", "expires": "never"} if kind == "a time that is none" else {}
        put(house, body, content_type, encoding, queue=queue, task=task, id=kind, **times)
    goes_on(house)
    assert not (tmp_path / "made").exists()
    lines = [line for line in said(house) if f"queue='{queue}' task='{task}'" in line]
    for kind, why in WRONG.items():
        assert [line for line in lines if f"id={kind!r} " in line and why in line], (kind, lines)


def test_a_task_that_is_not_ours_is_refused_and_whoever_waits_for_it_is_told(house: House) -> None:
    app = make_app(house.client.settings)
    asked = app.send_task("os.system", ("ls",), queue=QUEUE, ignore_result=False)
    with pytest.raises(NotRegistered, match=r"os\.system"):
        asked.get(timeout=20)
    goes_on(house)
    (line,) = [line for line in said(house) if f"id='{asked.id}'" in line]
    assert "has no task 'os.system'" in line


def test_what_is_no_message_at_all_is_refused(house: House) -> None:
    elements = [b"hello", b"[]", b'{"properties": {}}', b"\xff\x00", json.dumps({"headers": {"task": ["a"]}}).encode()]
    before = len(said(house))
    with redis.Redis.from_url(house.client.settings.broker) as server:
        server.lpush(f"{wire.KEY_PREFIX}{QUEUE}", *elements)
    put(house, b"[[], {}, {}]", "application/json", "utf-8", id=str(uuid4()), task=["a", "list"])
    goes_on(house)
    lines = said(house)[before:]
    assert len([line for line in lines if "it is not a message" in line]) == len(elements)
    assert len([line for line in lines if "names no task" in line]) == 1


@pytest.mark.parametrize("flood", [400, pytest.param(10_000, marks=[pytest.mark.night, pytest.mark.timeout(900)])])
def test_a_flood_is_acknowledged_and_leaves_items_their_room(house: House, flood: int) -> None:
    headers = {"id": "an id", "task": "of.nobody", "lang": "py", "ignore_result": True}
    before = len(said(house))
    with make_app(house.client.settings).connection_for_write() as connection:
        producer = connection.Producer()
        with producer.batch(1_000):
            for _ in range(flood):
                producer.publish(b"[[], {}, {}]", routing_key=QUEUE, content_type="application/json", headers=headers)
    wait_until(lambda: waiting(house) == 0, within=600, what="the queues are empty")
    goes_on(house)
    assert len(said(house)) - before <= SAID_A_MINUTE * (1 + flood // 400)  # a long flood lasts longer than a minute


def test_a_pickled_control_message_is_not_read(house: House, tmp_path: Path) -> None:
    app = make_app(house.client.settings)
    with app.connection_for_write() as connection:
        channel = connection.default_channel
        exchange = Exchange("celery.pidbox", type="fanout", channel=channel)
        exchange.declare()
        connection.Producer(channel).publish(
            pickle.dumps({"method": "ping", "arguments": Creates(tmp_path / "made"), "destination": None}),
            exchange=exchange,
            content_type="application/x-python-serialize",
            content_encoding="binary",
        )
    goes_on(house)
    assert not (tmp_path / "made").exists()


def goes_on(house: House) -> None:
    """The same process evaluates the next batch, and nothing is left over."""
    batch = house.client.submit(Filter(criteria="Is it a trial?"), abstracts(2), use_cache=False)
    assert batch.wait(60).decided == 2
    assert house.worker.process.poll() is None
    wait_until(lambda: waiting(house) == 0, within=20, what=f"the queues are empty; {log_of(house.worker)}")


def log_of(worker: WorkerProcess) -> str:
    return worker.text()[-1500:]
