"""What is told of workers: in the ledger, in Redis while the ledger is away, on the command line, in the alive file."""

import json
import os
import signal
import socket
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
import redis

from llm_double import Double, Fault, Kind
from stage import Finished, WorkerProcess, abstracts, tamis, wait_until
from tamis_producer import Client
from tamis_producer.ledger.worker_view import NO_WORKER, WorkerState
from tamis_schemas import Filter, LedgerUnavailable
from tamis_schemas.batches import wire

ONCOLOGY = Filter(criteria="Is this about oncology?")
AWAY = "postgresql+psycopg://tamis@127.0.0.1:1/tamis"
StartWorker = Callable[..., WorkerProcess]


def test_a_worker_says_what_it_is_and_how_far_it_has_come(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    worker = start_worker(concurrency="7", lease_seconds="1.5")
    (view,) = client.workers()
    assert (view.host, view.pid, view.version) == (socket.gethostname(), worker.process.pid, version("tamis"))
    assert (view.concurrency, view.in_flight, view.state, view.reason) == (7, 0, WorkerState.WORKING, None)
    assert view.progress_at is None
    double.script(latency=30.0)
    client.submit(ONCOLOGY, abstracts(20))
    wait_until(lambda: client.workers()[0].in_flight == 7, within=20, what="it says that its places are taken")
    assert client.workers()[0].progress_at is not None


def test_while_the_ledger_is_away_workers_are_known_by_what_they_say_in_redis(
    client: Client, start_worker: StartWorker
) -> None:
    worker = start_worker(lease_seconds="1.5")
    with Client(client.settings.model_copy(update={"database_url": AWAY})) as cut_off:
        wait_until(cut_off.workers, within=10, what="the worker told Redis of itself")
        assert [view.pid for view in cut_off.workers()] == [worker.process.pid]
        worker.stop()
        assert cut_off.workers() == []  # a farewell; nobody waits for a lease
    away = {"database_url": AWAY, "broker_url": "redis://127.0.0.1:1/0"}
    with (
        Client(client.settings.model_copy(update=away)) as nowhere,
        pytest.raises(LedgerUnavailable, match="Redis does not answer either"),
    ):
        nowhere.workers()


def test_what_a_killed_worker_said_is_forgotten_with_its_lease(client: Client, start_worker: StartWorker) -> None:
    worker = start_worker(lease_seconds="1.5")
    batch = client.submit(ONCOLOGY, abstracts(1))
    batch.wait(timeout=30)
    worker.kill()
    with redis.Redis.from_url(client.settings.broker) as server:
        wait_until(lambda: not client.workers(), within=10, what="the lease is over")
        wait_until(lambda: not server.keys(f"{wire.WORKER_KEYS}*"), within=10, what="Redis has forgotten it")
    assert client.submit(ONCOLOGY, abstracts(1)).status().waits_for == NO_WORKER


def test_a_batch_says_that_its_endpoint_asked_to_wait_until_a_person_unblocks_the_model(
    client: Client, environment: dict[str, str], start_worker: StartWorker, double: Double, tmp_path: Path
) -> None:
    double.script(faults=[Fault(Kind.RATE_LIMITED, retry_after="200", limit=1)])
    start_worker(lease_seconds="1.5")
    batch = client.submit(ONCOLOGY, abstracts(5))
    wait_until(lambda: batch.status().waits_for, within=20, what="the batch says why it waits")
    line = batch.status().waits_for or ""
    until, _, why = line.partition(" UTC ")
    assert until.startswith("1 worker is waiting: no calls to double-1 until 20")
    assert why.startswith("(`tamis unblock double-1` lifts this): the endpoint asks to wait since ")

    def run(*arguments: str) -> Finished:
        return tamis(*arguments, env=environment, cwd=tmp_path)

    assert f"{until.partition(': ')[2]} UTC: the endpoint asks to wait" in run("doctor", "--no-call").out
    wrong = run("unblock", "gpt-9")
    assert (wrong.code, "'gpt-9' is not blocked: no calls to double-1 until 20" in wrong.err) == (2, True)
    assert "double-1 is no longer blocked" in run("unblock", "double-1").out
    assert batch.wait(timeout=30).decided == 5
    assert "'double-1' is not blocked: no model is blocked" in run("unblock", "double-1").err
    away = tamis("unblock", "double-1", env=environment | {"TAMIS_LIMITER_URL": "redis://127.0.0.1:1/0"}, cwd=tmp_path)
    assert (away.code, "the limiter's Redis at 127.0.0.1:1 does not answer" in away.err) == (2, True)


def test_a_paused_batch_says_why_by_itself(client: Client) -> None:
    batch = client.submit(ONCOLOGY, abstracts(5))
    assert batch.status().waits_for == NO_WORKER
    batch.pause()
    assert batch.status().waits_for is None


def test_a_worker_that_stops_says_so_while_it_finishes_its_calls(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    client.submit(ONCOLOGY, abstracts(1), use_cache=False)
    worker = start_worker(lease_seconds="9", concurrency="4")
    double.wait(calls=1)
    double.script(latency=4.0)
    client.submit(ONCOLOGY, abstracts(4), use_cache=False)
    double.wait(in_flight=1)
    worker.process.send_signal(signal.SIGTERM)
    wait_until(
        lambda: [view.state for view in client.workers()] == [WorkerState.STOPPING],
        within=2.5,  # at once, not with the next heartbeat
        what="it says that it stops",
    )
    assert worker.stop() == 0


@pytest.mark.night
def test_the_command_line_lists_workers_and_open_batches(
    client: Client, environment: dict[str, str], start_worker: StartWorker, tmp_path: Path
) -> None:
    nobody = tamis("workers", env=environment, cwd=tmp_path)
    assert (nobody.code, NO_WORKER in nobody.out) == (0, True)
    batch = client.submit(ONCOLOGY, abstracts(3), label="trial.ris")
    waiting = tamis("status", env=environment, cwd=tmp_path)
    assert NO_WORKER in waiting.out
    assert batch.id[: wire.SHORT_ID] in waiting.out
    assert NO_WORKER in tamis("status", batch.id, env=environment, cwd=tmp_path).out
    assert json.loads(tamis("status", batch.id, "--json", env=environment, cwd=tmp_path).out)["waits_for"] == NO_WORKER
    worker = start_worker()
    batch.wait(timeout=60)
    listed = json.loads(tamis("workers", "--json", env=environment, cwd=tmp_path).out)
    assert [one["pid"] for one in listed] == [worker.process.pid]
    assert f"{worker.process.pid}@" in tamis("workers", env=environment, cwd=tmp_path).out
    assert "no batch is open" in tamis("status", env=environment, cwd=tmp_path).out
    away = tamis("status", env=environment | {"TAMIS_DATABASE_URL": AWAY}, cwd=tmp_path)
    assert away.code == 2  # a server does not answer
    assert f"{worker.process.pid}@" in away.out
    assert "Postgres does not answer" in away.err


def test_a_probe_tells_a_worker_that_works_from_one_that_was_stopped(
    environment: dict[str, str], start_worker: StartWorker, tmp_path: Path
) -> None:
    missing = tamis("health", "no-such-file", env=environment, cwd=tmp_path)
    assert (missing.code, "no worker writes this file" in missing.out) == (1, True)
    worker = start_worker(stalled_after_seconds="6")
    alive = worker.alive_file
    wait_until(alive.exists, within=20, what="the watchdog has looked once")
    well = tamis("health", str(alive), env=environment, cwd=tmp_path)
    assert (well.code, well.out) == (0, f"worker {worker.process.pid} is working\n")
    os.kill(worker.process.pid, signal.SIGSTOP)
    try:
        wait_until(
            lambda: tamis("health", str(alive), "--within", "2", env=environment, cwd=tmp_path).code == 1,
            within=20,
            what="the probe finds the worker stopped",
        )
    finally:
        os.kill(worker.process.pid, signal.SIGCONT)
