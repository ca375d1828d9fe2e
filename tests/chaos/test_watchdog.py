"""A worker that lives and does not work (fault 20): it notices and is replaced, and nothing waits for it for long."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from llm_double import Double
from stage import Faults, WorkerProcess, abstracts, reckon, wait_until
from stage.proven_dialect import prove_dialect
from tamis_cli.embedded.stack import Stack
from tamis_producer import Client
from tamis_producer.transport.broker import make_app
from tamis_schemas import Filter
from tamis_schemas.batches import wire
from tamis_worker.config.settings import WorkerSettings
from tamis_worker.ledger.connection import IDLE_WITHIN
from tamis_worker.liveness.watchdog import EXIT_STALLED

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
STALLED_AFTER = 3.0  # s
StartWorker = Callable[..., WorkerProcess]


def make_deaf(client: Client, workers: int = 1) -> None:
    """Have the workers consume nothing any more. They stay alive and answer pings, as after an outage gone wrong."""
    app = make_app(client.settings)
    try:
        for queue in (*wire.ITEM_QUEUES, wire.CONTROL_QUEUE):
            assert len(app.control.cancel_consumer(queue, reply=True, timeout=5, limit=workers)) == workers
        assert len(app.control.ping(timeout=5, limit=workers)) == workers
    finally:
        app.close()


def test_a_worker_that_answers_pings_and_consumes_nothing_ends_itself_and_the_next_one_goes_on(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    deaf = start_worker(stalled_after_seconds=str(STALLED_AFTER), lease_seconds="2", sweep_interval="1")
    make_deaf(client)
    batch = client.submit(ONCOLOGY, abstracts(120))
    since = time.monotonic()
    assert deaf.process.wait(STALLED_AFTER + 20) == EXIT_STALLED
    noticed = time.monotonic() - since
    assert "took no message for" in deaf.text()
    assert double.count() == 0
    assert client.workers() == []  # its lease is given back
    start_worker(lease_seconds="2", sweep_interval="1")
    assert batch.wait(timeout=60).decided == 120
    faults.record(row=20, reckoning=reckon(client, batch, double), faults=1, note=f"noticed after {noticed:.1f} s")


@pytest.mark.night
def test_calls_in_flight_of_a_deaf_worker_are_finished_before_it_ends(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    deaf = start_worker(
        stalled_after_seconds=str(STALLED_AFTER), concurrency="8", lease_seconds="2", sweep_interval="1"
    )
    client.submit(ONCOLOGY, abstracts(1), label="the first answer opens the gate").wait(timeout=60)
    double.script(latency=6.0)  # twice as long as it takes to notice
    first = client.submit(ONCOLOGY, abstracts(4), use_cache=False)
    double.wait(in_flight=4)
    make_deaf(client)
    second = client.submit(ONCOLOGY, abstracts(20), use_cache=False)
    assert deaf.process.wait(30) == EXIT_STALLED
    assert first.status().counts.decided == 4  # paid for, and kept
    double.script(latency=0.0)
    start_worker(lease_seconds="2", sweep_interval="1")
    assert second.wait(timeout=60).decided == 20
    assert first.wait(timeout=60).decided == 4
    assert double.count() == 1 + 4 + 20


@pytest.mark.night
def test_the_stack_starts_a_deaf_worker_again_and_says_why(
    client: Client, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, double: Double
) -> None:
    for name, value in (
        environment | {"TAMIS_STALLED_AFTER_SECONDS": str(STALLED_AFTER), "TAMIS_SWEEP_INTERVAL": "1"}
    ).items():
        monkeypatch.setenv(name, value)
    told: list[str] = []
    settings = WorkerSettings.load().model_copy(update={"home": tmp_path / "home"})
    with Stack(settings, workers=1, llm="remote", flower=False, announce=told.append):
        make_deaf(client)
        prove_dialect(environment)
        batch = client.submit(ONCOLOGY, abstracts(50))
        assert batch.wait(timeout=60).decided == 50
    assert any(line.startswith("worker-1 took no message for") and "restarts in" in line for line in told), told
    assert double.count() == 50


@pytest.mark.night
def test_nothing_waits_longer_than_a_lease_for_a_worker_that_is_stopped_as_a_whole(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    """SIGSTOP: no thread of it could notice. The lease runs out, and others take over what it held."""
    double.script(latency=0.2)
    lease, concurrency = 2.0, 8
    frozen, _ = (
        start_worker(lease_seconds=str(lease), sweep_interval="1", concurrency=str(concurrency)) for _ in range(2)
    )
    batch = client.submit(ONCOLOGY, abstracts(120))
    wait_until(lambda: batch.status().counts.decided >= 24, within=60, what="a fifth is decided")
    os.kill(frozen.process.pid, signal.SIGSTOP)
    try:
        since = time.monotonic()
        left = 120 - batch.status().counts.finished
        assert batch.wait(timeout=60).decided == 120
        took = time.monotonic() - since
    finally:
        os.kill(frozen.process.pid, signal.SIGCONT)
    # alone the other one takes 0.2 s for each 8 items; then what was held: the locks of a transaction that was stopped
    # in the middle, or the lease, a sweep and a call; and half as much again for a machine that is busy
    assert took <= 1.5 * (left / concurrency * 0.2 + max(IDLE_WITHIN, lease) + 1 + 0.2) + 5
    wait_until(lambda: alive_and_working(client, 2), within=20, what="the stopped worker is back")
    assert frozen.process.poll() is None  # it took no time that it slept for a stall
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls <= concurrency
    faults.record(row=20, reckoning=reckoning, faults=1, note=f"completed {took:.1f} s after SIGSTOP")


def alive_and_working(client: Client, n: int) -> bool:
    return len(client.workers()) == n


@pytest.mark.night
def test_one_deaf_worker_of_two_is_no_reason_to_wait(client: Client, start_worker: StartWorker, double: Double) -> None:
    double.script(latency=0.3)
    deaf = start_worker(
        stalled_after_seconds=str(STALLED_AFTER), lease_seconds="2", sweep_interval="1", concurrency="4"
    )
    make_deaf(client)
    start_worker(stalled_after_seconds="60", lease_seconds="2", sweep_interval="1", concurrency="4")
    batch = client.submit(ONCOLOGY, abstracts(120))
    assert deaf.process.wait(STALLED_AFTER + 20) == EXIT_STALLED
    assert batch.wait(timeout=60).decided == 120
    assert double.count() == 120
