"""SIGTERM under load: no loss, no call paid twice, an exit within the bound (fault 6)."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from llm_double import Double
from stage import Crew, Faults, WorkerProcess, abstracts, reckon, wait_until
from tamis_producer import Client
from tamis_schemas import Filter

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
EXIT_WITHIN = 15.0  # s; a call of the double takes one, Celery's own farewell a few
StartWorker = Callable[..., WorkerProcess]


def test_a_stopping_worker_finishes_its_calls_and_gives_the_rest_back(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=1.0)
    batch = client.submit(ONCOLOGY, abstracts(40))
    first = start_worker(concurrency="30", limit_concurrency="4")
    double.wait(in_flight=4)
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(EXIT_WITHIN) == 0
    counts = batch.status().counts
    assert counts.running == 0
    assert counts.identity_holds
    assert counts.decided == double.count()
    with client.engine.connect() as connection:
        claimed = connection.execute(text("SELECT sum(attempts) FROM items WHERE state = 'pending'")).scalar_one()
    assert claimed == 0  # given back is as never claimed
    double.script(latency=0.0)
    start_worker(lease_seconds="2", sweep_interval="1")
    assert batch.wait(timeout=60).decided == 40
    assert double.count() == 40


@pytest.mark.night
def test_a_deploy_under_load_loses_nothing_and_pays_nothing_twice(
    client: Client, environment: dict[str, str], double: Double, tmp_path: Path, faults: Faults
) -> None:
    double.script(latency=2.0)  # half a minute of work: the second worker is stopped in the middle of it, too
    given = {"TAMIS_CONCURRENCY": "16", "TAMIS_LEASE_SECONDS": "3", "TAMIS_SWEEP_INTERVAL": "1"}
    crew = Crew(tmp_path, environment | given, 2)
    try:
        batch = client.submit(ONCOLOGY, abstracts(400), shard_size=50)
        for _ in range(2):
            double.wait(calls=double.count() + 32, bound=30)
            crew.stop_oldest()  # the new one works before the old one goes
        assert batch.wait(timeout=120).decided == 400
    finally:
        crew.end()
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0
    faults.record(row=6, reckoning=reckoning, faults=2)


def test_a_worker_that_waits_for_a_rate_limit_stops_at_once(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    batch = client.submit(ONCOLOGY, abstracts(20))
    worker = start_worker(limit_rpm="1")
    wait_until(lambda: batch.status().counts.running > 10, within=30, what="items wait for a permit")
    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait(EXIT_WITHIN) == 0
    assert batch.status().counts.running == 0
