"""RabbitMQ in the place of Redis as the broker: batches, chords, retries, and a broker that is silent or goes away."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from celery import Celery, group

from llm_double import Double, Fault, Kind
from nursery import shared
from stage import Crew, TcpProxy, abstracts, reckon, through, wait_until
from stage.rabbitmq import CONSUMER_TIMEOUT, RabbitMq, needs_rabbitmq
from tamis_cli.doctor.examination import examine
from tamis_cli.doctor.finding import Level
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Batch, Client, ProducerSettings
from tamis_producer.config.settings import next_database
from tamis_producer.transport import broker as broker_module
from tamis_producer.transport.broker import make_app, waiting_messages
from tamis_schemas import BrokerUnavailable, Filter, Priority
from tamis_schemas.batches import wire
from tamis_worker.config.settings import WorkerSettings

pytestmark = [
    needs_rabbitmq,
    pytest.mark.timeout(400),
    pytest.mark.built_from("producer/tamis_producer/transport", "worker/tamis_worker/celery_adapter"),
]

ONCOLOGY = Filter(criteria="Is this about oncology?")
CONCURRENCY = 8
RESULTS, LIMITER = 4, 5  # databases of the Redis beside it
WORDS = iter(range(40, 1000))  # of abstracts: each batch asks what the cache does not know


@dataclass(frozen=True)
class Beside:
    """What stands beside RabbitMQ for all the tests of this file; each ends its batches, so its queues are empty."""

    rabbitmq: RabbitMq
    client: Client
    double: Double
    environment: dict[str, str]  # of workers

    def submit(self, items: int, *, latency: float = 0.0) -> Batch:
        self.double.reset()
        self.double.script(latency=latency)
        return self.client.submit(ONCOLOGY, abstracts(items, words=next(WORDS)))


@pytest.fixture(scope="module")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMq]:
    server = RabbitMq(tmp_path_factory.mktemp("rabbitmq"))
    try:
        with server:
            yield server
    finally:
        server.end_names()


@pytest.fixture(scope="module")
def beside(rabbitmq: RabbitMq, module_database_url: str, valkey: Valkey) -> Iterator[Beside]:
    settings = ProducerSettings(
        broker_url=rabbitmq.url,
        result_backend_url=next_database(valkey.url, RESULTS),
        database_url=module_database_url,
        shard_size=50,
        shard_window=2,
    )
    with Double.start(nursery=shared()) as double, Client(settings) as client:
        environment = {
            "TAMIS_BROKER_URL": settings.broker,
            "TAMIS_RESULT_BACKEND_URL": settings.result_backend,
            "TAMIS_LIMITER_URL": next_database(valkey.url, LIMITER),
            "TAMIS_DATABASE_URL": settings.database,
            "TAMIS_LLM_BASE_URL": double.base_url,
            "TAMIS_LLM_API_KEY": "sk-test-of-the-double",
            "TAMIS_MODEL": "double-1",
            "TAMIS_SHARD_SIZE": str(settings.shard_size),
            "TAMIS_CONCURRENCY": str(CONCURRENCY),
            "TAMIS_LEASE_SECONDS": "2",
            "TAMIS_SWEEP_INTERVAL": "1",
        }
        yield Beside(rabbitmq, client, double, environment)


@pytest.fixture(scope="module")
def crew(beside: Beside, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """Not there for the first tests, whose messages are to wait."""
    running = Crew(tmp_path_factory.mktemp("crew"), beside.environment, 2)
    yield running
    running.end()


def test_queues_that_nobody_has_declared_are_empty_and_messages_that_wait_are_counted(beside: Beside) -> None:
    app = make_app(beside.client.settings)
    try:
        assert set(waiting_messages(app, within=5)) == {*wire.ITEM_QUEUES, wire.CONTROL_QUEUE}
        batch = beside.client.submit(ONCOLOGY, abstracts(27), priority=Priority.HIGH)
        waiting = {name: n for name, n in waiting_messages(app, within=5).items() if n}
        assert waiting == {"items.high.0": 27}
        batch.cancel()
        with app.connection_for_write() as connection:
            for name in ("items.high.0", wire.CONTROL_QUEUE):
                app.amqp.queues[name](connection.default_channel).purge()
    finally:
        app.close()


def test_the_doctor_says_what_is_wrong_with_the_broker(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in beside.environment.items():
        monkeypatch.setenv(name, value)

    def said(broker: str) -> tuple[Level, str]:
        settings = WorkerSettings.load().model_copy(update={"broker_url": broker})
        found = list(examine(settings))
        assert "s3cret" not in repr(found)
        return next((one.level, one.what) for one in found if one.subject == "broker")

    right = beside.rabbitmq.url
    assert said(right)[0] is Level.OK
    for wrong, says in (
        (right.replace("guest:guest", "guest:s3cret"), "refuses this user or its password"),
        (right.removesuffix("//") + "/nowhere", "does not have this virtual host"),
        ("amqp://guest:s3cret@127.0.0.1:1//", "does not answer"),
    ):
        level, what = said(wrong)
        assert (level, says in what) == (Level.FAILURE, True), what


@pytest.mark.night
@pytest.mark.timeout(90)
def test_nobody_waits_for_ever_for_a_broker_that_says_nothing(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = broker_module._depth

    def depth_of_what_falls_silent(connection: Any, queue: str) -> int:
        assert connection.default_channel.is_open
        proxy.hold("replies")
        return depth(connection, queue)

    with TcpProxy(through(beside.rabbitmq.url)) as proxy:
        settings = beside.client.settings.model_copy(update={"broker_url": proxy.url(beside.rabbitmq.url)})
        monkeypatch.setitem(broker_module.ON_AMQP, "read_timeout", 120)
        app = make_app(settings)  # more patient than it is asked to be below
        monkeypatch.setitem(broker_module.ON_AMQP, "read_timeout", 1)
        with Client(settings) as client:
            client.submit(ONCOLOGY, abstracts(3)).cancel()  # its connection is open now
            monkeypatch.setattr(broker_module, "_depth", depth_of_what_falls_silent)
            with pytest.raises(BrokerUnavailable, match="does not answer"):
                waiting_messages(app, within=1)
            batch = client.submit(ONCOLOGY, abstracts(3, words=next(WORDS)))
            assert batch.status().counts.pending == 3  # the ledger has it; workers would dispatch it
            batch.cancel()
        app.close()


def test_a_batch_of_several_shards_completes_by_its_chords_with_one_call_an_item(beside: Beside, crew: Crew) -> None:
    batch = beside.submit(220)
    assert batch.wait(timeout=120).decided == 220
    assert reckon(beside.client, batch, beside.double).extra_calls == 0
    assert all("delayed" not in worker.text() for worker in crew.workers)  # no queues but those that are named


def test_failed_items_are_asked_again_in_a_second_round(beside: Beside, crew: Crew) -> None:
    beside.double.reset()
    beside.double.script(faults=[Fault(Kind.REFUSAL, contains="record number 3.", limit=1)])
    batch = beside.client.submit(ONCOLOGY, abstracts(10, words=next(WORDS)))
    assert batch.wait(timeout=60).failed == 1
    batch.retry()
    assert batch.wait(timeout=60).decided == 10


@pytest.mark.night
def test_a_service_with_celery_alone_has_its_results_in_order(beside: Beside, crew: Crew) -> None:
    beside.double.reset()
    beside.double.script(latency=0.2)
    settings = beside.client.settings
    app = Celery(broker=settings.broker, backend=settings.result_backend, set_as_current=False)
    app.conf.result_backend_transport_options = {"global_keyprefix": wire.KEY_PREFIX}
    asked = {"operation": "filter", "params": {"criteria": ONCOLOGY.criteria}}
    items = abstracts(3 * CONCURRENCY, words=next(WORDS))  # more than the workers take of items at a time
    evaluate = [app.signature(wire.EVALUATE, args=(item,), kwargs=asked, queue=wire.DOOR_QUEUE) for item in items]
    results = group(evaluate, app=app)().get(timeout=60)
    assert [result["item_id"] for result in results] == [str(item["id"]) for item in items]
    assert beside.double.count() == len(items)
    wait_until(lambda: _held(beside) == 0, within=20, what="every message is acknowledged")
    app.close()


def _held(beside: Beside) -> int:
    """Messages of services that wait, or are not acknowledged."""
    lines = beside.rabbitmq.ctl("list_queues", "name", "messages").splitlines()
    return int(dict(line.split("\t") for line in lines)[wire.DOOR_QUEUE])


@pytest.mark.night
def test_an_item_that_takes_longer_than_rabbitmq_waits_for_its_message_is_asked_once(
    beside: Beside, crew: Crew
) -> None:
    batch = beside.submit(2 * CONCURRENCY, latency=2 * CONSUMER_TIMEOUT)
    assert batch.wait(timeout=90).decided == 2 * CONCURRENCY
    assert reckon(beside.client, batch, beside.double).extra_calls == 0
    assert "delivery acknowledgement" in beside.rabbitmq.process.command.log.read_text("utf-8", "replace")


def test_messages_that_nobody_understands_are_refused(beside: Beside, crew: Crew) -> None:
    queue = "items.normal.0"
    sent: dict[str, tuple[bytes, str, dict[str, Any]]] = {
        "os.system": (b'[["ls"], {}, {}]', "application/json", {"id": "an id"}),
        "tamis.filter": (b"", "application/json", {"id": "an id"}),
        "tamis.score": (pickle.dumps(1), "application/x-python-serialize", {"id": 7}),
        "tamis.extract": (
            b"x" * 3_000_000,
            "application/json",
            {"raw": b"\xff", "at": datetime(2026, 1, 1, tzinfo=UTC)},
        ),
    }
    app = make_app(beside.client.settings)
    with app.connection_for_write() as connection:
        for task, (body, content_type, headers) in sent.items():
            connection.Producer().publish(
                body, routing_key=queue, content_type=content_type, headers=headers | {"task": task}
            )
    wait_until(lambda: not any(waiting_messages(app, within=5).values()), within=30, what="the queues are empty")
    app.close()
    assert beside.submit(4).wait(timeout=60).decided == 4


@pytest.mark.night
@pytest.mark.chaos
def test_a_killed_worker_and_a_broker_that_goes_away_lose_nothing(beside: Beside, crew: Crew) -> None:
    batch = beside.submit(240, latency=0.3)
    wait_until(lambda: batch.status().counts.decided >= 40, within=60, what="a sixth is decided")
    crew.kill_oldest()
    wait_until(lambda: batch.status().counts.decided >= 100, within=60, what="two fifths are decided")
    beside.rabbitmq.process.kill()
    beside.rabbitmq.start()
    assert batch.wait(timeout=200).decided == 240
    assert reckon(beside.client, batch, beside.double).extra_calls <= CONCURRENCY
    after = beside.submit(20)  # over a connection of before, which is lost
    assert after.wait(timeout=60).decided == 20
    for worker in crew.workers:
        worker.check()


@pytest.mark.night
@pytest.mark.chaos
def test_a_batch_submitted_while_rabbitmq_is_short_of_memory_is_kept_and_completes_once_there_is_some(
    beside: Beside, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(broker_module.ON_AMQP, "read_timeout", 2)
    beside.double.reset()
    beside.rabbitmq.ctl("set_vm_memory_high_watermark", "absolute", "1")
    with Client(beside.client.settings) as client:
        batch = client.submit(ONCOLOGY, abstracts(120, words=next(WORDS)))
        assert batch.status().counts.n_items == 120
    beside.rabbitmq.ctl("set_vm_memory_high_watermark", "0.4")
    batch = beside.client.batch(batch.id)
    assert batch.wait(timeout=120).decided == 120
    assert reckon(beside.client, batch, beside.double).extra_calls == 0


@pytest.mark.night
@pytest.mark.chaos
def test_a_worker_that_rabbitmq_falls_silent_for_is_replaced_by_others_and_comes_back(
    beside: Beside, crew: Crew, tmp_path: Path
) -> None:
    with TcpProxy(through(beside.rabbitmq.url)) as proxy:
        far = Crew(tmp_path, beside.environment | {"TAMIS_BROKER_URL": proxy.url(beside.rabbitmq.url)}, 1)
        batch = beside.submit(300, latency=0.5)
        wait_until(lambda: batch.status().counts.decided >= 60, within=60, what="a fifth is decided")
        proxy.hold()
        assert batch.wait(timeout=200).decided == 300
        assert reckon(beside.client, batch, beside.double).extra_calls <= CONCURRENCY
        proxy.cut()
        proxy.let_go()
        crew.end()
        after = beside.submit(20)
        assert after.wait(timeout=120).decided == 20  # by the one that was away, as no other is left
        far.workers[0].check()
        far.end()
