"""kill -9 of a worker: the batch completes without help, every item once (fault 1 in its short form)."""

from collections import Counter
from collections.abc import Callable

import pytest
import redis
from sqlalchemy import text

from llm_double import Double
from stage import Faults, WorkerProcess, abstracts, reckon, wait_until
from tamis_producer import Batch, Client
from tamis_schemas import ErrorKind, Filter

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
StartWorker = Callable[..., WorkerProcess]


def rows_per_item(client: Client, batch: Batch) -> Counter[int]:
    with client.engine.connect() as connection:
        statement = text("SELECT idx FROM results WHERE batch_id = :id")
        return Counter(connection.execute(statement, {"id": batch.id}).scalars())


def test_a_batch_completes_though_one_of_two_workers_is_killed_in_the_middle(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    double.script(latency=0.2)
    concurrency = 16
    workers = [start_worker(lease="2", sweep="1", concurrency=str(concurrency)) for _ in range(2)]
    batch = client.submit(ONCOLOGY, abstracts(400))
    wait_until(lambda: batch.status().counts.decided >= 100, within=60, what="a quarter is decided")
    workers[0].kill()
    assert batch.wait(timeout=90).decided == 400
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls <= concurrency
    faults.record(row=1, reckoning=reckoning, faults=1)


def test_the_only_worker_killed_is_replaced_by_the_next(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.2)
    first = start_worker(lease="2", sweep="1", concurrency="16")
    batch = client.submit(ONCOLOGY, abstracts(200))
    wait_until(lambda: batch.status().counts.decided >= 50, within=60, what="a quarter is decided")
    first.kill()
    assert batch.status().counts.identity_holds
    start_worker(lease="2", sweep="1", concurrency="16")
    assert batch.wait(timeout=90).decided == 200
    assert rows_per_item(client, batch) == Counter(range(200))


def test_an_item_whose_workers_keep_dying_is_given_up_and_the_batch_finishes(
    client: Client, start_worker: StartWorker
) -> None:
    batch = client.submit(ONCOLOGY, abstracts(3))
    with client.engine.begin() as connection:  # as three workers would leave it that died with the item
        connection.execute(
            text("UPDATE items SET state = 'running', attempts = 3, fence = 3, worker = 'dead' WHERE idx = 1")
        )
    start_worker(lease="2", sweep="1", max_claims="3")
    counts = batch.wait(timeout=60)
    assert (counts.decided, counts.failed) == (2, 1)
    assert list(batch.results())[1].error_kind is ErrorKind.ATTEMPTS_EXHAUSTED


def test_a_batch_goes_on_after_everything_in_redis_is_lost(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.1)
    start_worker(lease="2", sweep="1", concurrency="8")
    batch = client.submit(ONCOLOGY, abstracts(200))
    wait_until(lambda: batch.status().counts.decided >= 40, within=60, what="a fifth is decided")
    flush(client)
    assert batch.wait(timeout=90).decided == 200
    assert rows_per_item(client, batch) == Counter(range(200))
    assert double.count() == 200


def test_messages_lost_before_any_worker_saw_them_are_published_again(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    batch = client.submit(ONCOLOGY, abstracts(120))
    flush(client)
    start_worker(lease="2", sweep="1")
    assert batch.wait(timeout=60).decided == 120
    assert double.count() == 120


def test_a_batch_submitted_without_a_broker_is_dispatched_by_a_worker(
    client: Client, start_worker: StartWorker
) -> None:
    away = client.settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})
    with Client(away) as cut_off:
        batch_id = cut_off.submit(ONCOLOGY, abstracts(5)).id
    start_worker(lease="2", sweep="1")
    assert client.batch(batch_id).wait(timeout=60).decided == 5


def flush(client: Client) -> None:
    with redis.Redis.from_url(client.settings.broker) as broker:
        broker.flushall()
