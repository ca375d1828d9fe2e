"""Pause, cancel and a wrong key under load (faults 18 and 21 in their short form)."""

from collections import Counter
from collections.abc import Callable

import pytest
from sqlalchemy import text

from llm_double import Double, Fault, Kind
from stage import Faults, WorkerProcess, abstracts, reckon, wait_until
from tamis_producer import Batch, Client
from tamis_schemas import BatchPaused, BatchStatus, Filter, PauseKind

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
EFFECTIVE_WITHIN = 5.0  # s, on all workers
StartWorker = Callable[..., WorkerProcess]


def rows_per_item(client: Client, batch: Batch) -> Counter[int]:
    with client.engine.connect() as connection:
        statement = text("SELECT idx FROM results WHERE batch_id = :id")
        return Counter(connection.execute(statement, {"id": batch.id}).scalars())


def summaries(client: Client, batch: Batch) -> int:
    with client.engine.connect() as connection:
        statement = text("SELECT count(*) FROM summaries WHERE batch_id = :id")
        return int(connection.execute(statement, {"id": batch.id}).scalar_one())


def under_way(client: Client, start_worker: StartWorker, double: Double) -> Batch:
    """120 items on two workers, a sixth of them decided, more waiting than being asked."""
    double.script(latency=0.4)
    for _ in range(2):
        start_worker(concurrency="30", limit_concurrency="8", lease_seconds="3", sweep_interval="1")
    batch = client.submit(ONCOLOGY, abstracts(120))
    wait_until(lambda: batch.status().counts.decided >= 20, within=60, what="a sixth is decided")
    return batch


def at_rest(batch: Batch) -> bool:
    counts = batch.status().counts
    assert counts.identity_holds
    return counts.running == 0


def test_a_pause_is_effective_on_all_workers_and_a_resume_loses_and_repeats_nothing(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    batch = under_way(client, start_worker, double)
    batch.pause()
    wait_until(lambda: at_rest(batch), within=EFFECTIVE_WITHIN, what="nothing runs any more")
    counts = batch.status().counts
    assert counts.decided == double.count(200) == double.count()  # what was in flight was finished and kept
    assert counts.decided + counts.pending == 120
    with client.engine.connect() as connection:
        claims = connection.execute(text("SELECT sum(attempts) FROM items WHERE state = 'pending'")).scalar_one()
    assert claims == 0  # given back is as never claimed
    batch.resume()
    assert batch.wait(timeout=60).decided == 120
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0
    faults.record(row=18, reckoning=reckoning, faults=1, note="paused and resumed")


def test_what_waits_for_a_rate_limit_or_for_a_retry_is_given_back_when_its_batch_is_paused(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(faults=[Fault(Kind.UNAVAILABLE, retry_after="600")])
    start_worker(concurrency="20")
    batch = client.submit(ONCOLOGY, abstracts(20))
    double.wait(calls=1)
    wait_until(lambda: batch.status().counts.running == 20, within=30, what="all items are claimed")
    batch.pause()
    wait_until(lambda: at_rest(batch), within=EFFECTIVE_WITHIN, what="nothing runs any more")
    assert batch.status().counts.pending == 20


@pytest.mark.night
def test_a_cancelled_batch_keeps_what_was_decided_and_is_summarised_once(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    batch = under_way(client, start_worker, double)
    batch.cancel()
    counts = batch.wait(timeout=EFFECTIVE_WITHIN)
    assert counts.decided == double.count(200) == double.count()
    assert counts.decided + counts.cancelled == 120
    wait_until(lambda: batch.summary() is not None, within=EFFECTIVE_WITHIN, what="the summary is written")
    summary = batch.summary()
    assert summary is not None
    assert summary.counts == counts
    assert summaries(client, batch) == 1
    other = client.submit(ONCOLOGY, abstracts(5))
    assert other.wait(timeout=30).decided == 5  # the workers go on


def test_a_batch_cancelled_with_nothing_in_flight_is_summarised_by_the_next_worker(
    client: Client, start_worker: StartWorker
) -> None:
    batch = client.submit(ONCOLOGY, abstracts(5))
    batch.cancel()
    start_worker()
    wait_until(lambda: batch.summary() is not None, within=EFFECTIVE_WITHIN, what="the summary is written")
    assert summaries(client, batch) == 1


@pytest.mark.night
def test_claims_of_a_worker_that_dies_in_a_cancelled_batch_are_cancelled(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=30.0)
    first = start_worker(concurrency="10", lease_seconds="2")
    batch = client.submit(ONCOLOGY, abstracts(20))
    wait_until(lambda: batch.status().counts.running == 10, within=30, what="ten items are claimed")
    batch.cancel()
    first.kill()
    start_worker(lease_seconds="2", sweep_interval="1")
    assert batch.wait(timeout=30).cancelled == 20
    wait_until(lambda: batch.summary() is not None, within=15, what="the summary is written")


def test_a_wrong_key_pauses_the_batch_after_a_handful_of_calls_and_no_item_is_lost(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    """The bound: three calls of each worker process, however many items are in flight."""
    double.script(api_key="sk-the-right-one")
    workers = [start_worker(concurrency="100", limit_concurrency="500") for _ in range(2)]
    batch = client.submit(ONCOLOGY, abstracts(250))
    with pytest.raises(BatchPaused) as paused:
        batch.wait(timeout=60)
    assert paused.value.pause.kind is PauseKind.AUTHENTICATION
    assert "TAMIS_LLM_API_KEY" in str(paused.value)
    assert "sk-" not in str(paused.value)
    assert 3 <= double.count() <= 3 * len(workers)
    assert batch.status().counts.pending == 250
    for worker in workers:
        worker.stop()
    assert batch.status().counts.pending == 250
    start_worker(llm_api_key="sk-the-right-one", limit_concurrency="500", lease_seconds="2", sweep_interval="1")
    batch.resume()
    assert batch.wait(timeout=60).decided == 250
    refused = double.count(401)
    reckoning = reckon(client, batch, double, refused=refused)
    assert reckoning.extra_calls == 0
    faults.record(row=21, reckoning=reckoning, faults=refused, note="wrong key; none of these calls is paid for")


@pytest.mark.night
def test_an_unknown_model_pauses_its_own_batch_and_no_other(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(models=["double-1"])
    start_worker()
    wrong = client.submit(ONCOLOGY, abstracts(40), model="dubble-1")
    right = client.submit(ONCOLOGY, abstracts(40))
    with pytest.raises(BatchPaused, match="model_not_found"):
        wrong.wait(timeout=60)
    assert right.wait(timeout=60).decided == 40
    assert double.count(404) == 3


@pytest.mark.night
def test_a_key_revoked_in_the_middle_fails_nothing(client: Client, start_worker: StartWorker, double: Double) -> None:
    concurrency = 20
    double.script(latency=0.3)
    start_worker(concurrency=str(concurrency), lease_seconds="2", sweep_interval="1")
    batch = client.submit(ONCOLOGY, abstracts(120))
    wait_until(lambda: batch.status().counts.decided >= 24, within=60, what="a fifth is decided")
    double.script(api_key="another one")
    with pytest.raises(BatchPaused):
        batch.wait(timeout=60)
    counts = batch.status().counts
    assert counts.failed == 0
    assert counts.decided == double.count(200)
    assert 3 <= double.count(401) <= concurrency + 3
    double.script(api_key=None)
    batch.resume()
    assert batch.status().state is BatchStatus.RUNNING
    assert batch.wait(timeout=60).decided == 120
    assert rows_per_item(client, batch) == Counter(range(120))
    assert double.count(200) == 120
