"""Retrying under faults: stragglers of an old round are fenced off (fault 17), and a round survives who began it."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from sqlalchemy import text

from llm_double import Double, Fault, Kind
from stage import Faults, WorkerProcess, abstracts, reckon, tamis, wait_until
from tamis_producer import Batch, Client
from tamis_producer.transport.broker import make_app
from tamis_review import read_failures
from tamis_schemas import BatchStatus, ErrorKind, Filter
from tamis_schemas.batches import wire

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
IN_FLIGHT = 8
StartWorker = Callable[..., WorkerProcess]


def sql(client: Client, statement: str, **values: object) -> list[tuple[object, ...]]:
    with client.engine.begin() as connection:
        return [tuple(row) for row in connection.execute(text(statement), values)]


def rows_per_item(client: Client, batch: Batch) -> Counter[object]:
    return Counter(row[0] for row in sql(client, "SELECT idx FROM results WHERE batch_id = :id", id=batch.id))


def with_failures(
    client: Client, start_worker: StartWorker, double: Double, items: int, **settings: str
) -> tuple[WorkerProcess, Batch]:
    """A batch in which every item whose number ends in 7 failed, and its worker, which is free again."""
    faults = [Fault(Kind.CONTEXT_LENGTH, contains=f"number {n}.") for n in range(items) if n % 10 == 7]
    double.script(faults=faults)
    worker = start_worker(lease_seconds="2", sweep_interval="1", **settings)
    batch = client.submit(ONCOLOGY, abstracts(items))
    assert batch.wait(timeout=60).failed == items // 10
    double.script(faults=[])
    return worker, batch


def stragglers(client: Client, start_worker: StartWorker, double: Double, items: int) -> tuple[WorkerProcess, Batch]:
    """A worker that sleeps with answered calls in hand; its items were given up, and the batch completed without it."""
    double.script(latency=2.0)
    asleep = start_worker(lease_seconds="2", sweep_interval="1", max_claims="1", concurrency=str(IN_FLIGHT))
    batch = client.submit(ONCOLOGY, abstracts(items))
    double.wait(in_flight=IN_FLIGHT)
    asleep.process.send_signal(signal.SIGSTOP)
    double.script(latency=0.0)
    start_worker(lease_seconds="2", sweep_interval="1", max_claims="1")
    counts = batch.wait(timeout=60)
    assert (counts.decided, counts.failed) == (items - IN_FLIGHT, IN_FLIGHT)
    assert {row.error_kind for row in batch.results() if row.status == "failed"} == {ErrorKind.ATTEMPTS_EXHAUSTED}
    return asleep, batch


def test_stale_writes_of_an_old_rounds_worker_are_fenced_off_in_the_new_round(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    """Fault 17: retry while stragglers of the old round still run."""
    items = 120
    asleep, batch = stragglers(client, start_worker, double, items)
    double.script(latency=1.5)
    assert batch.retry() == IN_FLIGHT
    wait_until(lambda: batch.status().counts.running > 0, within=30, what="the new round asks")
    asleep.process.send_signal(signal.SIGCONT)  # it writes what it was answered, under the fence of the old round
    assert batch.wait(timeout=60).decided == items
    wait_until(
        lambda: asleep.text().count("another claim replaced this one") == IN_FLIGHT,
        within=30,
        what="the old round's worker was told that its claims are gone",
    )
    assert rows_per_item(client, batch) == Counter(range(items))
    fences = sql(
        client, "SELECT DISTINCT i.fence, r.fence FROM items i JOIN results r USING (batch_id, idx) WHERE r.round = 2"
    )
    assert fences == [(2, 2)]
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls <= IN_FLIGHT
    faults.record(row=17, reckoning=reckoning, faults=1)


@pytest.mark.night
def test_stale_chord_parts_and_aggregates_of_an_old_round_do_not_close_the_new_one(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    _, batch = with_failures(client, start_worker, double, 100)
    double.script(latency=30.0)
    assert batch.retry() == 10
    wait_until(lambda: batch.status().counts.running == 10, within=30, what="the new round asks")
    app = make_app(client.settings)  # as a worker of the old round would send them
    for shard in (0, 1):
        app.send_task(wire.AGGREGATE, args=(batch.id, 1, shard), queue=wire.CONTROL_QUEUE, ignore_result=True)
    for index in (7, 17):
        app.send_task(wire.task_name("filter"), args=(batch.id, index), queue="items.normal.0", ignore_result=True)
    with redis.Redis.from_url(client.settings.broker) as broker:
        wait_until(
            lambda: (
                not broker.llen(f"{wire.KEY_PREFIX}{wire.CONTROL_QUEUE}") and not broker.llen("tamis:items.normal.0")
            ),
            within=30,
            what="the stale messages are taken",
        )
    view = batch.status()
    assert (view.state, view.round, view.counts.running) == (BatchStatus.RUNNING, 2, 10)
    assert len(batch.summaries()) == 1
    batch.cancel()


@pytest.mark.night
def test_the_only_worker_killed_in_the_middle_of_a_round_loses_and_repeats_nothing(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    """Fault 17, and fault 1 in its round: the next worker goes on with it."""
    items = 300
    worker, batch = with_failures(client, start_worker, double, items, concurrency="4")
    decided = "SELECT idx, md5(r::text), md5(i::text) FROM results r JOIN items i USING (batch_id, idx) " \
        "WHERE r.round = 1 AND i.state = 'decided' ORDER BY idx"  # fmt: skip
    before, paid = sql(client, decided), double.count()
    assert len(before) == items - items // 10
    double.script(latency=0.5)
    assert batch.retry() == items // 10
    wait_until(lambda: batch.status().ended_in_round, within=30, what="the new round has its first decisions")
    double.wait(in_flight=4)
    worker.kill()
    assert batch.status().counts.identity_holds
    start_worker(lease_seconds="2", sweep_interval="1", concurrency="8")
    assert batch.wait(timeout=60).decided == items
    assert sql(client, decided) == before  # byte for byte
    assert rows_per_item(client, batch) == Counter(range(items))
    assert [summary.counts.failed for summary in batch.summaries()] == [items // 10, 0]
    assert double.count() - paid <= items // 10 + 4  # those in flight at the kill are asked again
    reckoning = reckon(client, batch, double, asked_again=items // 10)  # a tenth was asked about in both rounds
    assert reckoning.extra_calls <= 4
    faults.record(row=17, reckoning=reckoning, faults=1, note="killed in round 2")


@pytest.mark.night
def test_of_two_who_retry_at_once_one_begins_the_round_and_the_other_is_told(
    client: Client, start_worker: StartWorker, double: Double, environment: dict[str, str], tmp_path: Path
) -> None:
    _, batch = with_failures(client, start_worker, double, 50)
    double.script(latency=30.0)
    command = [sys.executable, "-m", "tamis_cli", "retry", batch.id]
    both = [
        subprocess.Popen(
            command, env={**os.environ, **environment}, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    said = [(*process.communicate(timeout=60), process.returncode) for process in both]
    assert sorted(code for *_, code in said) == [0, 2], said
    (refusal,) = (errors for _, errors, code in said if code == 2)
    assert f"batch {batch.id} is still running (round 2)" in refusal
    assert batch.status().round == 2
    assert sql(client, "SELECT count(*), count(DISTINCT idx) FROM past_failures") == [(5, 5)]
    double.script(latency=0.0)
    batch.cancel()


@pytest.mark.night
def test_ctrl_c_while_a_round_is_followed_leaves_it_to_the_workers(
    client: Client, start_worker: StartWorker, double: Double, environment: dict[str, str], tmp_path: Path
) -> None:
    _, batch = with_failures(client, start_worker, double, 50)
    double.script(latency=3.0)  # it is still going on when the signal comes, on a busy machine too
    following = subprocess.Popen(
        [sys.executable, "-m", "tamis_cli", "retry", batch.id, "--watch"],
        env={**os.environ, **environment}, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert following.stdout is not None
    lines = [following.stdout.readline(), following.stdout.readline()]  # the second is of the progress
    assert "round 2 asks about 5 items" in lines[0]
    assert "/50" in lines[1]
    following.send_signal(signal.SIGINT)
    said, errors = following.communicate(timeout=30)
    assert following.returncode == 130
    assert f"Detached; the batch continues. Watch it with tamis status {batch.id} --watch" in " ".join(said.split())
    assert "Traceback" not in errors
    assert batch.wait(timeout=60).decided == 50
    shown = tamis("status", batch.id, env=environment, cwd=tmp_path)
    assert "round 1  decided 45, failed 5: context_length 5" in shown.out
    assert "round 2  decided 5, failed 0" in shown.out
    reckon(client, batch, double)


@pytest.mark.night
def test_a_round_that_was_begun_without_a_broker_is_dispatched_by_a_worker(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    """As where `tamis retry` is killed between its commit and its first message."""
    _, batch = with_failures(client, start_worker, double, 50)
    with Client(client.settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})) as cut_off:
        assert cut_off.batch(batch.id).retry() == 5
    assert batch.wait(timeout=60).decided == 50


@pytest.mark.night
def test_round_after_round_with_a_worker_asleep_over_the_end_of_each(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    """Fault 17, its long form: a worker sleeps from the middle of each round to the middle of the next."""
    items, concurrency = 2000, 16
    # Drawn anew each time that a record is asked about: a third of what is left fails in each round.
    double.script(latency=0.1, faults=[Fault(Kind.CONTEXT_LENGTH, probability=0.33)])
    workers = [
        start_worker(lease_seconds="2", sweep_interval="1", max_claims="50", concurrency=str(concurrency))
        for _ in range(2)
    ]
    batch = client.submit(ONCOLOGY, abstracts(items))
    asleep: WorkerProcess | None = None
    sleeps = 0
    while True:
        view = batch.status()
        share = (view.counts.pending + view.counts.running) // 3
        wait_until(
            lambda at_least=share: (batch.status().ended_in_round or 0) >= at_least,
            within=120,
            what=f"a third of round {view.round} is over",
        )
        if asleep is not None:
            asleep.process.send_signal(signal.SIGCONT)
        asleep = workers[sleeps % 2]
        asleep.process.send_signal(signal.SIGSTOP)
        sleeps += 1
        failed = batch.wait(timeout=120).failed
        if not failed:
            break
        assert batch.retry() == failed
    asleep.process.send_signal(signal.SIGCONT)
    assert rows_per_item(client, batch) == Counter(range(items))
    ((asked_again,),) = sql(client, "SELECT count(*) FROM past_failures")
    bias = read_failures(batch)
    assert [one.round for one in bias.rounds] == list(range(1, view.round + 1))
    assert sum(one.failed for one in bias.rounds) == asked_again
    assert sum(one.evaluated for one in bias.rounds) == items + int(str(asked_again))
    reckoning = reckon(client, batch, double, asked_again=int(str(asked_again)))
    assert reckoning.extra_calls <= sleeps * concurrency
    faults.record(row=17, reckoning=reckoning, faults=sleeps, note=f"{view.round} rounds")
