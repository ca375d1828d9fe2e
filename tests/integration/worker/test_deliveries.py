"""What a worker makes of its messages: delivered twice, or held back by a rate limit."""

from collections.abc import Callable

import redis

from llm_double import Double, Fault, Kind
from stage import WorkerProcess, abstracts
from tamis_producer import Client
from tamis_schemas import Filter, wire

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
        queue = f"{wire.KEY_PREFIX}{wire.QUEUE}"
        for message in broker.lrange(queue, 0, -1):
            broker.lpush(queue, message)
        assert broker.llen(queue) == 40
    start_worker()
    start_worker()
    assert batch.wait(timeout=60).decided == 20
    assert double.count() == 20
