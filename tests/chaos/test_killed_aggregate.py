"""Killed while it aggregates, before and after its commit (fault 4): one summary, and the batch goes on."""

from collections.abc import Callable

import pytest
from sqlalchemy import text

from llm_double import Double
from stage import Faults, WorkerProcess, abstracts, reckon, wait_until
from tamis_producer import Client
from tamis_schemas import Filter

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
StartWorker = Callable[..., WorkerProcess]

WAITS_FOR_A_LOCK = text("SELECT count(*) FROM pg_locks WHERE NOT granted")


def waiting(client: Client) -> int:
    with client.engine.connect() as connection:
        return int(connection.execute(WAITS_FOR_A_LOCK).scalar_one())


@pytest.mark.night
def test_killed_before_its_commit_the_aggregate_is_done_by_another(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    first = start_worker(lease_seconds="2", sweep_interval="3600")
    double.script(latency=0.5)
    batch = client.submit(ONCOLOGY, abstracts(30), shard_size=30)
    double.wait(calls=1, bound=30)
    with client.engine.begin() as holding:  # whoever closes a shard wants the batch's row first
        holding.execute(text("SELECT FROM batches WHERE id = :id FOR NO KEY UPDATE"), {"id": batch.id})
        wait_until(lambda: waiting(client) == 1, within=30, what="the aggregate waits for the batch's row")
        assert batch.status().counts.decided == 30
        first.kill()
    assert batch.summary() is None
    start_worker(lease_seconds="2", sweep_interval="1")
    assert batch.wait(timeout=60).decided == 30
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0
    faults.record(row=4, reckoning=reckoning, faults=1, note="before its commit")


def test_killed_after_its_commit_the_next_shard_is_dispatched_by_another(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    first = start_worker(lease_seconds="2", sweep_interval="3600")
    batch = client.submit(ONCOLOGY, abstracts(60), shard_size=30, window=1)
    with client.engine.begin() as holding:  # whoever dispatches the second shard wants its row
        held = text("SELECT FROM shards WHERE batch_id = :id AND shard = 1 FOR UPDATE")
        holding.execute(held, {"id": batch.id})
        closed = text("SELECT state FROM shards WHERE batch_id = :id AND shard = 0")

        def first_is_closed() -> bool:
            with client.engine.connect() as connection:
                return bool(connection.execute(closed, {"id": batch.id}).scalar_one() == "aggregated")

        wait_until(lambda: first_is_closed() and waiting(client) == 1, within=30, what="the next shard is wanted")
        first.kill()
    assert double.count() == 30
    start_worker(lease_seconds="2", sweep_interval="1")
    assert batch.wait(timeout=60).decided == 60
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0
    faults.record(row=4, reckoning=reckoning, faults=1, note="after its commit")
