"""Two workers, one started by `tamis worker` and one by `celery worker`, and what Celery's tools ask them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redis
from celery import Celery
from celery.bin.celery import celery as command
from click.testing import CliRunner, Result
from sqlalchemy import Row, text

from llm_double import Double
from nursery import shared
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Batch, Client, ProducerSettings
from tamis_producer.config.settings import next_database
from tamis_producer.transport.broker import make_app
from tamis_schemas import Filter
from tamis_schemas.batches import wire
from tamis_worker.celery import _app

from .celery_command import APP, CeleryWorker
from .items import abstracts
from .worker_process import WorkerProcess

DATABASES = 6  # the first of three that no other module's workers use
OF_THIS_PROCESS = {"NO_COLOR": "1", "FLOWER_ADDRESS": "127.0.0.1"}  # put back after each command
AT_ONCE = 4  # items in each worker
MODEL = "double-1"
SECOND = "second@tour"
KEY = "sk-a-key-that-nobody-is-shown"
WITHIN = 30.0  # s


@dataclass(frozen=True)
class Tour:
    """What a Celery user has at hand."""

    client: Client
    double: Double
    app: Celery
    workers: tuple[WorkerProcess, CeleryWorker]
    environment: dict[str, str]
    folder: Path

    def ask(self, name: str, **arguments: Any) -> list[Any]:
        """The replies of both workers, that of `celery worker` first."""
        replies = self.app.control.broadcast(name, arguments=arguments, reply=True, limit=2, timeout=WITHIN)
        by_name = {worker: reply for one in replies for worker, reply in one.items()}
        assert len(by_name) == 2, (name, replies)
        return [by_name[worker] for worker in sorted(by_name)]

    def celery(self, *arguments: str) -> Result:
        """`celery -A tamis_worker.celery ...` as its own command line reads it, in this process."""
        _app.cache_clear()
        result = CliRunner().invoke(command, ["-A", APP, *arguments], env={**self.environment, **OF_THIS_PROCESS})
        for secret in (KEY, urlsplit(self.client.settings.broker).password):
            assert secret
            assert secret not in result.output, arguments
        return result

    def prove_the_key(self) -> None:
        """Have each worker be answered once, so that its circuit breaker is closed and it makes all of its calls."""
        self.double.reset()
        while any(stats["tamis"]["circuit_breakers"].get(MODEL) != "closed" for stats in self.ask("stats")):
            items = abstracts(4 * AT_ONCE)
            self.client.submit(Filter(criteria="Is the key taken?"), items, use_cache=False).wait(WITHIN)

    def active(self) -> dict[int, str]:
        """The ids of what both workers evaluate, by the items' places."""
        shown = [item for items in self.ask("active") for item in items]
        return {int(item["stamps"]["item"].rpartition("/")[2]): item["id"] for item in shown}

    def queued(self) -> dict[int, str]:
        """The ids of the messages that wait in Redis, by the items' places."""
        with redis.Redis.from_url(self.client.settings.broker) as server:
            raw = [one for name in wire.ITEM_QUEUES for one in server.lrange(wire.KEY_PREFIX + name, 0, -1)]
        headers = [json.loads(one)["headers"] for one in raw]
        return {int(header["argsrepr"].split("index=")[1].split()[0]): header["id"] for header in headers}

    def bill(self, batch: Batch, index: int) -> Row[Any] | None:
        """What stands in the ledger of an item's calls."""
        statement = text("SELECT calls, unanswered, cost, value FROM results WHERE batch_id = :id AND idx = :idx")
        with self.client.engine.connect() as connection:
            return connection.execute(statement, {"id": batch.id, "idx": index}).one_or_none()


@contextmanager
def celery_tour(folder: Path, database_url: str, valkey: Valkey) -> Iterator[Tour]:
    """Two workers over servers that are there, of which nobody else uses these databases."""
    broker = next_database(valkey.url, DATABASES)
    for offset in range(3):
        with redis.Redis.from_url(next_database(broker, offset)) as server:
            server.flushdb()
    settings = ProducerSettings(broker_url=broker, database_url=database_url, shard_size=50, shard_window=2)
    with Double.start(nursery=shared()) as double, Client(settings) as client:
        environment = {
            "TAMIS_BROKER_URL": broker,
            "TAMIS_DATABASE_URL": database_url,
            "TAMIS_LLM_BASE_URL": double.base_url,
            "TAMIS_LLM_API_KEY": KEY,
            "TAMIS_MODEL": MODEL,
            "TAMIS_CONCURRENCY": str(AT_ONCE),
            "TAMIS_LEASE_SECONDS": "3",
            "TAMIS_SWEEP_INTERVAL": "1",
        }
        first = WorkerProcess(folder, "worker", environment)
        second = CeleryWorker(folder, environment, "-n", SECOND, "-l", "info")
        try:
            yield Tour(client, double, make_app(settings), (first, second), environment, folder)
        finally:
            first.kill()
            second.kill()
