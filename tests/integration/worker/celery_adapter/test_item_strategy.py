"""What a worker makes of its messages: delivered twice, or held back by a rate limit."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from uuid import uuid4

import redis

from llm_double import Double, Fault, Kind
from stage import WorkerProcess, abstracts, wait_until
from tamis_producer import Client
from tamis_producer.transport.broker import make_app
from tamis_schemas import Filter, Priority
from tamis_schemas.batches import wire

ONCOLOGY = Filter(criteria="Is this about oncology?")
StartWorker = Callable[..., WorkerProcess]


def test_a_rate_limit_costs_no_attempt_and_fails_nothing(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(faults=[Fault(Kind.RATE_LIMITED, limit=5, retry_after_ms=200)])
    start_worker(max_calls="1")
    batch = client.submit(ONCOLOGY, abstracts(10))
    assert batch.wait(timeout=60).decided == 10


def test_a_message_delivered_twice_is_one_call_and_one_row(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.3)
    batch = client.submit(ONCOLOGY, abstracts(20))
    with redis.Redis.from_url(client.settings.broker) as broker:
        queue = f"{wire.KEY_PREFIX}{wire.ItemQueue(Priority.NORMAL, lane=wire.LANES - 1).name}"
        for message in broker.lrange(queue, 0, -1):
            broker.lpush(queue, message)
        assert broker.llen(queue) == 40
    start_worker(lease_seconds="2", sweep_interval="0.5")
    start_worker(lease_seconds="2", sweep_interval="0.5")
    assert batch.wait(timeout=60).decided == 20
    assert double.count() == 20


def test_a_message_that_is_no_items_is_refused_and_the_worker_goes_on(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    app = make_app(client.settings)
    task = wire.task_name("filter")
    queue = wire.ItemQueue(Priority.NORMAL, lane=0).name
    for args in [("no-uuid", 0), (), (str(uuid4()), "first"), (str(uuid4()), 0)]:  # the last one: of no batch
        app.send_task(task, args=args, queue=queue)
    app.close()
    worker = start_worker()
    assert client.submit(ONCOLOGY, abstracts(10)).wait(timeout=60).decided == 10
    assert double.count() == 10
    refused = lambda: worker.text().count("a message that no worker understands")  # noqa: E731
    wait_until(lambda: refused() == 3, within=20, what="three of them are refused")


def test_shards_follow_each_other_without_the_reconciler_and_leave_nothing_in_redis(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    start_worker(sweep_interval="3600", concurrency="64")
    batch = client.submit(ONCOLOGY, abstracts(130), shard_size=20, window=2)
    assert batch.wait(timeout=60).decided == 130
    with redis.Redis.from_url(client.settings.broker) as broker:
        left = [
            f"{wire.KEY_PREFIX}{name}" for name in ("unacked", "unacked_index", *wire.ITEM_QUEUES, wire.CONTROL_QUEUE)
        ]
        wait_until(lambda: not broker.exists(*left), within=10, what="every message is acknowledged")


def test_every_item_is_told_of_in_celerys_events_and_aggregates_stand_apart(
    client: Client, start_worker: StartWorker, double: Double
) -> None:
    told: Counter[str] = Counter()
    double.script(faults=[Fault(Kind.TRUNCATED, contains="record number 7."), Fault(Kind.SERVER_ERROR, calls=(1,))])
    app = make_app(client.settings)
    with app.connection() as connection:
        receiver = app.events.Receiver(connection, handlers={"*": lambda event: told.update([event["type"]])})
        with receiver.consumer_context() as (listening, _, _):

            def listen() -> None:
                with suppress(TimeoutError):
                    listening.drain_events(timeout=0.1)

            def all_told() -> bool:
                listen()
                return told["task-succeeded"] + told["task-failed"] >= 30 and told["task-aggregated"] >= 1

            listen()  # the subscription is made by the first look
            start_worker()
            batch = client.submit(ONCOLOGY, abstracts(30))
            assert batch.wait(timeout=60).decided == 29

            wait_until(all_told, within=20, what="30 items and one aggregate are told of")
    app.close()
    assert {event: count for event, count in told.items() if event.startswith("task-")} == {
        "task-received": 30,
        "task-started": 30,
        "task-retried": 2,  # the first call, and the one whose answer was cut off: once more with a larger budget
        "task-succeeded": 29,
        "task-failed": 1,
        "task-aggregated": 1,
    }
