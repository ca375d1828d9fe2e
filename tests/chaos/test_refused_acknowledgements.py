"""Redis refuses acknowledgements for a while: the worker keeps its room, and goes on (a cause of fault 20).

To kombu an unacknowledged message is one in flight. Were it not acknowledged later, a worker that met this with all its
places taken would live on, answer pings and consume nothing.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from llm_double import Double
from stage import WorkerProcess, abstracts, reckon, wait_until
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client, ProducerSettings
from tamis_schemas import Filter

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
StartWorker = Callable[..., WorkerProcess]


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Valkey]:
    """A server whose permissions nobody else depends on."""
    with Valkey(tmp_path / "redis") as server:
        yield server


def test_a_worker_whose_acknowledgements_were_refused_goes_on_when_they_are_taken_again(
    own_redis: Valkey, settings: ProducerSettings, start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.1)
    with (
        Client(settings.model_copy(update={"broker_url": own_redis.url})) as client,
        redis.Redis.from_url(own_redis.url) as server,
    ):
        worker = start_worker(broker_url=own_redis.url, concurrency="8", sweep_interval="1", lease_seconds="3")
        batch = client.submit(ONCOLOGY, abstracts(120))
        wait_until(lambda: batch.status().counts.decided >= 20, within=60, what="a sixth is decided")
        server.execute_command("ACL", "SETUSER", "default", "-zrem")
        wait_until(
            lambda: "could not be acknowledged" in worker.text() and batch.status().counts.running == 0,
            within=30,
            what="every place is taken by a message that cannot be acknowledged",
        )
        assert not batch.status().finished
        server.execute_command("ACL", "SETUSER", "default", "+zrem")
        assert batch.wait(timeout=30).decided == 120
        assert worker.process.poll() is None
        reckon(client, batch, double)
        assert double.count() == 120
