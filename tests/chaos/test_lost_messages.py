"""Messages that Redis loses, keeps or gives out twice (faults 2, 3, 14 and 15): the ledger knows what is left to do."""

from collections.abc import Callable

import pytest
import redis
from sqlalchemy import text

from llm_double import Double
from stage import Faults, TcpProxy, WorkerProcess, abstracts, reckon, through, wait_until
from tamis_producer import Client
from tamis_producer.config.settings import next_database
from tamis_producer.transport.broker import make_app
from tamis_schemas import Filter, Priority
from tamis_schemas.batches import wire

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
QUEUE = f"{wire.KEY_PREFIX}{wire.ItemQueue(Priority.NORMAL, lane=0).name}"
StartWorker = Callable[..., WorkerProcess]


@pytest.fixture
def broker(client: Client) -> redis.Redis:
    return redis.Redis.from_url(client.settings.broker)


def test_messages_lost_between_their_fetch_and_its_record_are_published_again(
    client: Client, start_worker: StartWorker, double: Double, broker: redis.Redis, faults: Faults
) -> None:
    batch = client.submit(ONCOLOGY, abstracts(100), shard_size=50)
    lost = [broker.lrange(QUEUE, place, place)[0] for place in range(0, 100, 10)]
    for message in lost:  # as a worker would leave it that is killed between the two
        assert broker.lrem(QUEUE, 1, message) == 1
    start_worker(lease_seconds="2", sweep_interval="1")
    assert batch.wait(timeout=60).decided == 100
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0
    faults.record(row=2, reckoning=reckoning, faults=len(lost))


@pytest.mark.night
def test_a_worker_killed_between_a_result_and_its_chord_leaves_a_shard_that_is_finished(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    backend = next_database(client.settings.broker, 1)
    with TcpProxy(through(backend)) as proxy:
        silent = start_worker(lease_seconds="2", sweep_interval="3600", result_backend_url=proxy.url(backend))
        proxy.hold()
        # The first result that is counted holds up whoever takes messages: by then all of them are taken.
        double.script(latency=3.0)
        batch = client.submit(ONCOLOGY, abstracts(30), shard_size=30)
        wait_until(lambda: batch.status().counts.decided == 30, within=30, what="every result is committed")
        silent.kill()
        assert batch.summary() is None
    start_worker(lease_seconds="2", sweep_interval="1")
    assert batch.wait(timeout=60).decided == 30
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0
    faults.record(row=3, reckoning=reckoning, faults=1)


@pytest.mark.night
def test_a_call_slower_than_the_visibility_timeout_is_made_once(
    client: Client, start_worker: StartWorker, double: Double, faults: Faults
) -> None:
    double.script(latency=12.0)  # a worker looks for messages to restore every ten seconds
    for _ in range(2):
        start_worker(visibility_timeout="1", concurrency="8", lease_seconds="2", sweep_interval="1")
    batch = client.submit(ONCOLOGY, abstracts(6), shard_size=6)
    assert batch.wait(timeout=60).decided == 6
    again = deliveries(client) - 6
    assert again > 0
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0
    faults.record(row=14, reckoning=reckoning, faults=again)


def deliveries(client: Client) -> int:
    """Messages of items that the running workers took."""
    app = make_app(client.settings)
    told = app.control.inspect(timeout=5.0, limit=2).stats()
    app.close()
    return sum(worker["total"].get(wire.task_name("filter"), 0) for worker in told.values())


def test_every_message_delivered_twice_at_once_is_one_call_and_one_row(
    client: Client, start_worker: StartWorker, double: Double, broker: redis.Redis, faults: Faults
) -> None:
    double.script(latency=0.1)
    batch = client.submit(ONCOLOGY, abstracts(120), shard_size=50)
    messages = broker.lrange(QUEUE, 0, -1)
    broker.delete(QUEUE)
    broker.rpush(QUEUE, *(message for message in messages for _ in range(2)))  # side by side: both are in flight
    for _ in range(2):
        start_worker(lease_seconds="2", sweep_interval="1", concurrency="16")
    assert batch.wait(timeout=60).decided == 120
    reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0
    faults.record(row=15, reckoning=reckoning, faults=len(messages))


@pytest.mark.night
def test_the_only_worker_dies_with_everything_that_it_fetched(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=30.0)
    first = start_worker(lease_seconds="2", sweep_interval="1", concurrency="20")
    batch = client.submit(ONCOLOGY, abstracts(20))
    double.wait(calls=20, in_flight=20, bound=30)
    first.kill()
    double.script(latency=0.0)
    start_worker(lease_seconds="2", sweep_interval="1", concurrency="20")
    assert batch.wait(timeout=30).decided == 20  # long before the visibility timeout
    assert reckon(client, batch, double).extra_calls == 20
    with client.engine.connect() as connection:
        fences = text("SELECT DISTINCT fence FROM results WHERE batch_id = :id")
        assert list(connection.execute(fences, {"id": batch.id}).scalars()) == [2]
