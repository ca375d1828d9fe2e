"""Machines whose clocks differ by ten minutes (fault 19): leases and limits go by the servers' clocks alone."""

import re
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import text

import shifted_clock
from llm_double import Double
from stage import Faults, WorkerProcess, abstracts, python_path, reckon, wait_until
from tamis_producer import Batch, Client
from tamis_schemas import Filter

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
SHIFT = 300  # s, ahead and behind
StartWorker = Callable[..., WorkerProcess]


@pytest.fixture
def start_shifted(environment: dict[str, str], start_worker: StartWorker) -> StartWorker:
    """Starts workers whose clock is some seconds ahead."""

    def start(ahead: int, **changes: str) -> WorkerProcess:
        environment["PYTHONPATH"] = python_path(Path(shifted_clock.__file__).parent)
        environment["SHIFTED_CLOCK"] = str(ahead)
        worker = start_worker(**changes)
        told = re.search(r'"timestamp": "([^"]+)"', worker.text())
        assert told is not None
        off = datetime.fromisoformat(told.group(1)).timestamp() - time.time()
        assert abs(off - ahead) < 60  # the clock is shifted indeed
        return worker

    return start


@pytest.mark.night
def test_a_batch_completes_exactly_on_machines_whose_clocks_differ(
    client: Client, start_shifted: StartWorker, double: Double, faults: Faults
) -> None:
    double.script(latency=0.1)
    for ahead in (SHIFT, -SHIFT):
        start_shifted(ahead, lease_seconds="3", sweep_interval="1", concurrency="8", limit_concurrency="6")
    batch = client.submit(ONCOLOGY, abstracts(120))
    wait_until(lambda: batch.status().counts.decided >= 30, within=60, what="a quarter is decided")
    both = client.workers()
    assert len(both) == 2
    for worker in both:  # told by ages, shown by the reader's clock
        assert abs(time.time() - worker.started_at.timestamp()) < 60
    most = 0

    def finished() -> bool:
        nonlocal most
        most = max(most, double.in_flight())
        return batch.status().finished

    wait_until(finished, within=60, what="all is decided")
    assert batch.wait(timeout=60).decided == 120
    assert 0 < most <= 6  # the limit holds for both together
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0  # nobody took a living worker for a dead one
    assert took_over(client, batch) == 0
    faults.record(row=19, reckoning=reckoning, faults=2, note=f"clocks {2 * SHIFT} s apart")


def test_a_dead_workers_items_are_taken_over_in_a_lease_by_one_whose_clock_is_behind(
    client: Client, start_shifted: StartWorker, double: Double, faults: Faults
) -> None:
    """Its lease was written by a machine ten minutes ahead; by that clock it would hold for ten minutes more."""
    double.script(latency=0.3)
    ahead = start_shifted(SHIFT, lease_seconds="2", sweep_interval="1", concurrency="8")
    batch = client.submit(ONCOLOGY, abstracts(60))
    wait_until(lambda: batch.status().counts.decided >= 10, within=60, what="some are decided")
    ahead.kill()
    start_shifted(-SHIFT, lease_seconds="2", sweep_interval="1", concurrency="8")
    since = time.monotonic()
    assert batch.wait(timeout=60).decided == 60
    # a lease and two sweeps, and 50 items by eights of 0.3 s; the rest is for a machine that is busy
    assert time.monotonic() - since < 2 + 2 + 2.1 + 20
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls <= 8
    faults.record(row=19, reckoning=reckoning, faults=1, note="and a kill -9")


def took_over(client: Client, batch: Batch) -> int:
    """Items that were claimed more than once."""
    with client.engine.connect() as connection:
        statement = text("SELECT count(*) FROM items WHERE batch_id = :id AND fence > 1")
        return int(connection.execute(statement, {"id": batch.id}).scalar_one())
