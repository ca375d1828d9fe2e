"""A producer killed in the middle of its submission (fault 5): nothing, or the whole batch."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from llm_double import Double
from stage import Faults, TcpProxy, WorkerProcess, abstracts, reckon, through, wait_until
from tamis_producer import Client
from tamis_schemas import Filter

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
KEY = "killed-in-the-middle"
StartWorker = Callable[..., WorkerProcess]

SUBMIT = f"""
from stage import abstracts
from tamis_producer import Client
from tamis_schemas import Filter
with Client() as client:
    client.submit(Filter(criteria={ONCOLOGY.criteria!r}), abstracts(160), shard_size=50, idempotency_key={KEY!r})
"""


@contextmanager
def submitting(environment: dict[str, str]) -> "Iterator[subprocess.Popen[bytes]]":
    tests = os.pathsep.join(sys.path)
    given = {name: value for name, value in environment.items() if name != "TAMIS_MODEL"}  # as the client here
    process = subprocess.Popen(
        [sys.executable, "-c", SUBMIT], env={**os.environ, **given, "PYTHONPATH": tests}, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def copies(client: Client) -> int:
    """How many submissions wait for a lock before they write their items; they have asked the broker already."""
    waiting = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'COPY%'")
    with client.engine.connect() as connection:
        return int(connection.execute(waiting).scalar_one())


def batches(client: Client) -> int:
    with client.engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM batches")).scalar_one())


@pytest.mark.night
def test_killed_while_it_writes_nothing_is_there_and_the_same_submission_can_be_made_again(
    client: Client, start_worker: StartWorker, double: Double, environment: dict[str, str], faults: Faults
) -> None:
    with submitting(environment) as producer:
        with client.engine.begin() as holding:
            holding.execute(text("LOCK TABLE items IN EXCLUSIVE MODE"))
            wait_until(lambda: copies(client) == 1, within=30, what="the items are being written")
            producer.kill()
            producer.wait()
        wait_until(lambda: copies(client) == 0, within=30, what="Postgres has noticed")
    assert batches(client) == 0
    again = client.submit(ONCOLOGY, abstracts(160), shard_size=50, idempotency_key=KEY)
    start_worker()
    assert again.wait(timeout=60).decided == 160
    reckoning = reckon(client, again, double)
    assert reckoning.extra_calls == 0
    faults.record(row=5, reckoning=reckoning, faults=1, note="while it submits")


def test_killed_while_it_dispatches_the_whole_batch_is_there_and_is_dispatched_by_a_worker(
    client: Client, start_worker: StartWorker, double: Double, environment: dict[str, str], faults: Faults
) -> None:
    broker = client.settings.broker
    with (
        TcpProxy(through(broker)) as proxy,
        submitting(environment | {"TAMIS_BROKER_URL": proxy.url(broker)}) as producer,
    ):
        with client.engine.begin() as holding:
            holding.execute(text("LOCK TABLE items IN EXCLUSIVE MODE"))
            wait_until(lambda: copies(client) == 1, within=30, what="the items are being written")
            proxy.hold()
        dispatched = text("SELECT count(*) FROM shards WHERE state = 'dispatched'")

        def begun() -> bool:
            with client.engine.connect() as connection:
                return bool(connection.execute(dispatched).scalar_one())

        wait_until(begun, within=30, what="the first shard is being published")
        producer.kill()
        producer.wait()
    start_worker(lease_seconds="2", sweep_interval="1")
    batch = client.submit(ONCOLOGY, abstracts(160), shard_size=50, idempotency_key=KEY)  # the same one
    assert batches(client) == 1
    assert batch.wait(timeout=60).decided == 160
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0
    faults.record(row=5, reckoning=reckoning, faults=1, note="while it dispatches")
