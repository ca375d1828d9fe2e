"""The servers and workers that a benchmark measures. They use a temporary folder, and end with the benchmark.

The kernel ends every part when the benchmark ends, even after a crash.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import FrameType
from uuid import uuid4

import psutil
import psycopg
import redis

from llm_double import Double
from tamis_cli.embedded.postgres import Postgres
from tamis_cli.embedded.programs import WorkerProgram
from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client, ProducerSettings
from tamis_schemas.ledger.migrate import upgrade

from .records import MODEL

API_KEY = "sk-of-the-double"
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Cpu:
    """The CPU seconds, user and system, that the parts have used."""

    workers: float
    postgres: float
    valkey: float
    double: float

    def __sub__(self, earlier: "Cpu") -> "Cpu":
        return Cpu(
            self.workers - earlier.workers,
            self.postgres - earlier.postgres,
            self.valkey - earlier.valkey,
            self.double - earlier.double,
        )


@dataclass(frozen=True)
class Ledger:
    """An empty ledger and an empty Redis, with a client for them."""

    client: Client
    settings: ProducerSettings


class Parts:
    """A Postgres and a Valkey, and on request ledgers and workers."""

    def __init__(self, folder: Path, postgres: Postgres, valkey: Valkey) -> None:
        self.folder = folder
        self.postgres = postgres
        self.valkey = valkey
        self._numbers = count(1)

    @contextmanager
    def ledger(self, **settings: int) -> Iterator[Ledger]:
        """Yield a ledger in a new database, which is dropped afterwards. All data in Redis are deleted first."""
        with redis.Redis.from_url(self.valkey.url) as broker:
            broker.flushall()
        name = f"bench_{uuid4().hex[:12]}"
        server = self.postgres.url.replace("postgresql+psycopg://", "postgresql://")
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        url = self.postgres.url.replace("/tamis?", f"/{name}?")
        try:
            upgrade(url)
            producer = ProducerSettings.model_validate(
                {"broker_url": self.valkey.url, "database_url": url, "model": MODEL, **settings}
            )
            with Client(producer) as client:
                yield Ledger(client, producer)
        finally:
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    @contextmanager
    def workers(self, processes: int, ledger: Ledger, double: Double, **settings: object) -> Iterator[list[int]]:
        """Start worker processes, and yield their process ids when they are ready.

        `settings`: settings of a worker, by their names in small letters.

        Raises:
            RuntimeError: a worker ended before the end of the block.
        """
        given = {
            "broker_url": ledger.settings.broker,
            "database_url": ledger.settings.database,
            "llm_base_url": double.base_url,
            "llm_api_key": API_KEY,
            "model": MODEL,
            **settings,
        }
        environment = clean_environment({f"TAMIS_{name.upper()}": str(value) for name, value in given.items()})
        home = self.folder / f"workers-{uuid4().hex[:8]}"
        started = [WorkerProgram(number, home, environment) for number in range(1, processes + 1)]
        with ExitStack() as stack:
            for worker in started:
                worker.launch()
                stack.callback(worker.process.kill)  # nothing that it could still finish counts
            for worker in started:
                worker.wait_until_healthy()
            yield [worker.process.pid for worker in started]
            for worker in started:
                if not worker.process.running:
                    raise RuntimeError(f"{worker.name} ended before its time:\n{worker.process.tail()}")

    @contextmanager
    def fresh_valkey(self) -> Iterator["Parts"]:
        """Yield the same parts with a new Valkey, so that its peak of memory is that of the block."""
        with Valkey(self.folder / f"valkey-{next(self._numbers)}") as valkey:
            yield Parts(self.folder, self.postgres, valkey)

    def cpu(self, workers: Sequence[int], double: Double) -> Cpu:
        """Return the CPU seconds of workers (process ids) and servers so far."""
        return Cpu(
            workers=sum(_seconds(pid) for pid in workers),
            postgres=_seconds(self.postgres.process.pid),
            valkey=_seconds(self.valkey.process.pid),
            double=_seconds(double.pid),
        )


@contextmanager
def parts() -> Iterator[Parts]:
    """Yield the servers, and stop them at the end of the block, even if SIGTERM ends it."""

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    earlier = signal.signal(signal.SIGTERM, end)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="tamis-bench-") as folder,
            Postgres(Path(folder) / "postgres") as postgres,
            Valkey(Path(folder) / "valkey") as valkey,
        ):
            yield Parts(Path(folder), postgres, valkey)
    finally:
        signal.signal(signal.SIGTERM, earlier)


def clean_environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with `more`, but without the shell's variables for servers, models and keys."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TAMIS_", "OPENAI_"))}
    paths = [str(ROOT), *filter(None, [kept.get("PYTHONPATH")])]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), **more}


def _seconds(pid: int) -> float:
    """Return the CPU seconds of a process and its children. Children that have ended count too."""
    process = psutil.Process(pid)
    own = process.cpu_times()
    seconds = own.user + own.system + own.children_user + own.children_system
    for child in process.children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue  # counted with its parent the next time
        seconds += times.user + times.system
    return float(seconds)
