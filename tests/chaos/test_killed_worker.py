"""kill -9 of a worker: the batch completes without help, every item once (fault 1 in its short form)."""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
import redis
from sqlalchemy import text

from llm_double import Double, Fault, Kind, Scripted
from stage import Crew, Faults, WorkerProcess, abstracts, reckon, wait_until
from tamis_producer import Batch, Client
from tamis_schemas import ErrorKind, Filter

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
StartWorker = Callable[..., WorkerProcess]


def rows_per_item(client: Client, batch: Batch) -> Counter[int]:
    with client.engine.connect() as connection:
        statement = text("SELECT idx FROM results WHERE batch_id = :id")
        return Counter(connection.execute(statement, {"id": batch.id}).scalars())


def test_a_batch_completes_though_one_of_two_workers_is_killed_in_the_middle_and_says_what_its_bill_may_lack(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults, tmp_path: Path
) -> None:
    # Every answer is the same, and only answers are paid for: so each call costs as much as any other.
    answer = {"reasoning": "because it says so", "value": True, "confidence": 0.9}
    double.script(latency=0.2, answers=[Scripted("record number", answer)])
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  double-1: {input: 0, output: 20}\n", "utf-8")
    concurrency = 16
    given = {"lease_seconds": "2", "sweep_interval": "1", "concurrency": str(concurrency), "prices": str(prices)}
    workers = [start_worker(**given) for _ in range(2)]
    wait_until(lambda: len(client.workers()) == 2, within=60, what="both are there")
    batch = client.submit(ONCOLOGY, abstracts(200))
    wait_until(lambda: batch.status().counts.decided >= 50, within=60, what="a quarter is decided")
    workers[0].kill()
    assert batch.wait(timeout=90).decided == 200
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls <= concurrency
    faults.record(row=1, reckoning=reckoning, faults=1)
    summary = batch.summary()
    assert summary is not None
    assert summary.cost is not None
    assert summary.possibly_unbilled_cost is not None
    assert 0 < summary.lost_claims <= concurrency
    account = double.account().of().completion_tokens * Decimal(20) / 1_000_000
    assert summary.cost <= account <= summary.cost + summary.possibly_unbilled_cost
    claims = "1 claim" if summary.lost_claims == 1 else f"{summary.lost_claims} claims"
    assert f"({claims} whose worker died)" in (summary.unbilled_words or "")


@pytest.mark.night
@pytest.mark.timeout(600)
def test_a_batch_completes_though_a_worker_is_killed_again_and_again_at_full_load(
    client: Client, environment: dict[str, str], double: Double, tmp_path: Path, faults: Faults
) -> None:
    double.script(latency=0.5)
    concurrency, killed = 32, 0
    given = {"CONCURRENCY": str(concurrency), "LEASE_SECONDS": "2", "SWEEP_INTERVAL": "1", "MAX_CLAIMS": "50"}
    crew = Crew(tmp_path, environment | {f"TAMIS_{name}": value for name, value in given.items()}, 2)
    try:
        batch = client.submit(ONCOLOGY, abstracts(8_000), shard_size=500, window=4)
        # On a busy machine a worker takes long to start, and the other one gets far meanwhile.
        while killed < 25 and batch.status().counts.decided < 7_000:
            seen = double.count()
            double.wait(calls=seen + 4 * concurrency, bound=60)  # it works at full load again
            crew.kill_oldest()
            killed += 1
        assert batch.wait(timeout=300).decided == 8_000
    finally:
        crew.end()
    reckoning = reckon(client, batch, double)
    assert killed >= 5
    assert reckoning.extra_calls <= killed * concurrency
    faults.record(row=1, reckoning=reckoning, faults=killed, note=f"{concurrency} in flight at each")


# tests/chaos/test_lost_messages.py kills the only worker with all that it fetched, which is more.
@pytest.mark.night
def test_the_only_worker_killed_is_replaced_by_the_next(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.2)
    first = start_worker(lease_seconds="2", sweep_interval="1", concurrency="16")
    batch = client.submit(ONCOLOGY, abstracts(120))
    wait_until(lambda: batch.status().counts.decided >= 30, within=60, what="a quarter is decided")
    first.kill()
    assert batch.status().counts.identity_holds
    start_worker(lease_seconds="2", sweep_interval="1", concurrency="16")
    assert batch.wait(timeout=90).decided == 120
    assert rows_per_item(client, batch) == Counter(range(120))


def test_an_item_that_kills_its_worker_every_time_is_given_up_and_the_batch_finishes(
    client: Client, environment: dict[str, str], double: Double, tmp_path: Path, faults: Faults
) -> None:
    poison = "record number 17."
    double.script(faults=[Fault(Kind.SLOW, contains=poison, delay=30.0)])
    given = {"CONCURRENCY": "4", "LEASE_SECONDS": "2", "SWEEP_INTERVAL": "0.5", "MAX_CLAIMS": "3"}
    crew = Crew(tmp_path, environment | {f"TAMIS_{name}": value for name, value in given.items()}, 1)
    try:
        batch = client.submit(ONCOLOGY, abstracts(40))
        for swallowed in range(1, 4):

            def is_swallowed(times: int = swallowed) -> bool:
                return sum(poison in call.prompt for call in double.calls()) == times

            wait_until(is_swallowed, within=30, what=f"the item is asked for {swallowed} times")
            wait_until(lambda: batch.status().counts.decided == 39, within=30, what="it is the only one left")
            crew.kill_oldest()
        counts = batch.wait(timeout=60)
    finally:
        crew.end()
    assert (counts.decided, counts.failed) == (39, 1)
    assert list(batch.results())[17].error_kind is ErrorKind.ATTEMPTS_EXHAUSTED
    assert batch.status().lost_claims == 3
    reckoning = reckon(client, batch, double, failed=1)
    assert reckoning.extra_calls == 2  # three for the one that was given up
    faults.record(row=16, reckoning=reckoning, faults=3)


# tests/chaos/test_redis_outages.py empties it in the middle of a batch, too, and holds the reckoning against it.
@pytest.mark.night
def test_a_batch_goes_on_after_everything_in_redis_is_lost(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.1)
    start_worker(lease_seconds="2", sweep_interval="1", concurrency="8")
    batch = client.submit(ONCOLOGY, abstracts(120))
    wait_until(lambda: batch.status().counts.decided >= 24, within=60, what="a fifth is decided")
    flush(client)
    assert batch.wait(timeout=90).decided == 120
    assert rows_per_item(client, batch) == Counter(range(120))
    assert double.count() == 120


@pytest.mark.night
def test_messages_lost_before_any_worker_saw_them_are_published_again(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    batch = client.submit(ONCOLOGY, abstracts(120))
    flush(client)
    start_worker(lease_seconds="2", sweep_interval="1")
    assert batch.wait(timeout=60).decided == 120
    assert double.count() == 120


@pytest.mark.night
def test_a_batch_submitted_without_a_broker_is_dispatched_by_a_worker(
    client: Client, start_worker: StartWorker
) -> None:
    away = client.settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})
    with Client(away) as cut_off:
        batch_id = cut_off.submit(ONCOLOGY, abstracts(5)).id
    start_worker(lease_seconds="2", sweep_interval="1")
    assert client.batch(batch_id).wait(timeout=60).decided == 5


def flush(client: Client) -> None:
    with redis.Redis.from_url(client.settings.broker) as broker:
        broker.flushall()
