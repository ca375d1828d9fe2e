"""Servers, workers and a double of a test file's own, whose servers may be taken away."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import psutil
from sqlalchemy import text

from llm_double import Double
from nursery import shared
from tamis_cli.embedded.part import Part
from tamis_cli.embedded.postgres import Postgres
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Batch, Client, ProducerSettings
from tamis_schemas import Filter
from tamis_schemas.ledger.migrate import upgrade

from .items import abstracts
from .waiting import wait_until
from .worker_process import WorkerProcess

ONCOLOGY = Filter(criteria="Is this about oncology?")
CONCURRENCY = 16  # items in flight in one worker
RECOVERED_WITHIN = 60.0  # s after the server is back
SEEN_WITHIN = 30.0  # s; a silent server is noticed after five


@dataclass(frozen=True)
class FaultHouse:
    """The same workers live through all the faults of a file."""

    postgres: Postgres
    valkey: Valkey
    client: Client
    double: Double
    workers: list[WorkerProcess]
    environment: Mapping[str, str]  # of the workers

    def begin(self, items: int, *, latency: float = 0.2, decided: int | None = None) -> Batch:
        """A new batch, of which so many items are decided: a quarter where nothing is said."""
        self.double.reset()
        self.double.script(latency=latency, remember=False)
        with self.client.engine.begin() as connection:
            connection.execute(text("DELETE FROM llm_cache"))
        batch = self.client.submit(ONCOLOGY, abstracts(items))
        enough = items // 4 if decided is None else decided
        wait_until(lambda: batch.status().counts.decided >= enough, within=60, what=f"{enough} items are decided")
        return batch

    def said(self, words: str) -> list[int]:
        """How often each worker said so in its log up to now."""
        return [worker.text().count(words) for worker in self.workers]

    def wait_until_all_say(self, words: str, before: list[int]) -> None:
        """Return when each worker has said so once more than before."""
        wait_until(
            lambda: all(now > then for now, then in zip(self.said(words), before, strict=True)),
            within=SEEN_WITHIN,
            what=f"every worker says: {words}",
        )

    def wait_until_calls_begin(self) -> float:
        """Seconds from now until a call is made; fails the test after `RECOVERED_WITHIN`."""
        began, calls = time.monotonic(), self.double.count()
        wait_until(lambda: self.double.count() > calls, within=RECOVERED_WITHIN, what="calls are made again")
        return time.monotonic() - began

    def check_workers(self) -> None:
        """Fail the test where a worker is not the process any more that it was at the beginning."""
        for worker in self.workers:
            worker.check()


def _usual_database(server: Postgres) -> str:
    return server.url


@contextmanager
def fault_house(
    folder: Path,
    *,
    workers: int = 2,
    database: Callable[[Postgres], str] = _usual_database,
    valkey: Valkey | None = None,
    broker: str | None = None,
    **changes: str,
) -> Iterator[FaultHouse]:
    """Settings of the workers are keywords (`lease_seconds="2"`); `database` makes another one than the usual.

    `valkey`: a running server, and `broker` its URL where that is another one.
    """
    with (
        Postgres(folder / "postgres") as postgres,
        nullcontext(valkey) if valkey else Valkey(folder / "valkey") as valkey,
        Double.start(nursery=shared()) as double,
    ):
        database_url = database(postgres)
        upgrade(database_url)
        settings = ProducerSettings(
            broker_url=broker or valkey.url, database_url=database_url, shard_size=50, shard_window=4
        )
        with Client(settings) as client:
            environment = _environment(settings, double, changes)
            house = FaultHouse(postgres, valkey, client, double, [], environment)
            try:
                for number in range(workers):
                    house.workers.append(WorkerProcess(folder, f"worker-{number}", environment))
                yield house
            finally:
                for worker in house.workers:
                    worker.kill()


@contextmanager
def frozen(part: Part) -> Iterator[None]:
    """A server that is there and says nothing: SIGSTOP for all its processes, SIGCONT at the end."""
    server = psutil.Process(part.process.pid)
    stopped = [server, *server.children(recursive=True)]
    for process in stopped:
        process.suspend()
    try:
        yield
    finally:
        for process in stopped:
            process.resume()


def _environment(settings: ProducerSettings, double: Double, changes: Mapping[str, str]) -> dict[str, str]:
    usual = {
        "concurrency": str(CONCURRENCY),
        "lease_seconds": "2",
        "sweep_interval": "1",
        "shard_size": str(settings.shard_size),
    }
    return {
        "TAMIS_BROKER_URL": settings.broker,
        "TAMIS_DATABASE_URL": settings.database,
        "TAMIS_LLM_BASE_URL": double.base_url,
        "TAMIS_LLM_API_KEY": "sk-test-of-the-double",
        "TAMIS_MODEL": "double-1",
        **{f"TAMIS_{name.upper()}": value for name, value in {**usual, **changes}.items()},
    }
