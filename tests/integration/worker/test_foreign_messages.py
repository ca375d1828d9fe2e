"""Whoever can write into the broker cannot have a worker run anything: JSON alone is read, only our tasks are run."""

import json
import pickle
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from kombu import Connection, Exchange

from stage import House, WorkerProcess, abstracts, wait_until
from tamis_producer.transport.broker import make_app
from tamis_schemas import Filter
from tamis_schemas.batches import wire

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
            headers={"id": str(uuid4()), "task": "tamis.filter", "lang": "py", **headers},
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
        case _:
            return json.dumps([[str(uuid4()), 10**30], {}, {"chord": "no body"}]).encode(), "application/json", "utf-8"


@pytest.mark.parametrize("queue", [QUEUE, wire.CONTROL_QUEUE])
@pytest.mark.parametrize(
    "kind",
    [
        "pickle",
        "pickle that says it is JSON",
        "yaml",
        "an unknown type",
        "nested without end",
        "not an item's",
        "an object",
        "a number beyond all others",
        "a time that is none",
    ],
)
def test_a_foreign_message_is_dropped_without_harm(house: House, tmp_path: Path, kind: str, queue: str) -> None:
    body, content_type, encoding = hostile(kind, tmp_path / "made")
    task = "tamis.filter" if queue == QUEUE else "tamis.aggregate"
    times = {"eta": "soon", "expires": "never"} if kind == "a time that is none" else {}
    put(house, body, content_type, encoding, queue=queue, task=task, **times)
    goes_on(house)
    assert not (tmp_path / "made").exists()


def test_a_task_that_is_not_ours_is_dropped(house: House) -> None:
    put(house, b"[[], {}, {}]", "application/json", "utf-8", task="os.system")
    goes_on(house)


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
