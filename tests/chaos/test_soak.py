"""Everything at once: workers killed again and again, Redis emptied and Postgres killed, while a batch runs."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis

from llm_double import Double
from stage import Crew, Faults, abstracts, reckon, wait_until
from tamis_producer import Batch, Client, ProducerSettings
from tamis_schemas import Filter, Unavailable
from tamis_schemas.ledger.migrate import upgrade
from tamis_worker.embedded.postgres import Postgres
from tamis_worker.embedded.valkey import Valkey

pytestmark = pytest.mark.chaos

ONCOLOGY = Filter(criteria="Is this about oncology?")
CONCURRENCY = 16  # calls in flight of one worker
READ_EVERY = 0.4  # s


@dataclass(frozen=True)
class Course:
    """What a soak does to a batch of so many items."""

    items: int
    workers: int
    kill_every: float  # s
    flushes: tuple[float, ...]  # when so large a part of the items is decided, Redis is emptied
    restarts: tuple[float, ...]  # and Postgres is killed and started again
    latency: float
    reads: int  # of the accounting identity, at least
    bound: float  # s


SHORT = Course(1_500, 2, 4.0, flushes=(0.3,), restarts=(0.6,), latency=0.1, reads=10, bound=120)
WHOLE = Course(20_000, 3, 5.0, flushes=(0.2, 0.6), restarts=(0.4, 0.8), latency=0.2, reads=100, bound=1_200)


@dataclass
class Reader(threading.Thread):
    """Reads the identity again and again; a read that Postgres does not answer is no read."""

    batch: Batch
    done: threading.Event = field(default_factory=threading.Event)
    reads: int = 0
    broken: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(name="reader of the identity", daemon=True)

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        while not self.done.wait(READ_EVERY):
            try:
                counts = self.batch.status().counts
            except Unavailable:
                continue
            self.reads += 1
            if not counts.identity_holds:
                self.broken.append(counts)


@pytest.fixture
def own_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    with Postgres(tmp_path_factory.mktemp("soaked-postgres")) as server:
        upgrade(server.url)
        yield server


@pytest.fixture
def own_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with Valkey(tmp_path_factory.mktemp("soaked-valkey")) as server:
        yield server


@pytest.mark.parametrize(
    "course",
    [
        pytest.param(SHORT, id="short"),
        pytest.param(WHOLE, id="whole", marks=[pytest.mark.slow, pytest.mark.timeout(1_500)]),
    ],
)
def test_every_item_ends_once_whatever_is_killed_or_emptied(
    course: Course, own_postgres: Postgres, own_valkey: Valkey, double: Double, tmp_path: Path, faults: Faults
) -> None:
    double.script(latency=course.latency, remember=False)
    settings = ProducerSettings(broker_url=own_valkey.url, database_url=own_postgres.url, shard_size=250, window=4)
    environment = {
        "TAMIS_BROKER_URL": own_valkey.url,
        "TAMIS_DATABASE_URL": own_postgres.url,
        "TAMIS_LLM_BASE_URL": double.base_url,
        "TAMIS_LLM_API_KEY": "sk-test-of-the-double",
        "TAMIS_MODEL": "double-1",
        "TAMIS_CONCURRENCY": str(CONCURRENCY),
        "TAMIS_LIMIT_CONCURRENCY": str(CONCURRENCY * course.workers),
        "TAMIS_LEASE": "3",
        "TAMIS_SWEEP": "1",
        "TAMIS_MAX_CLAIMS": "20",  # here a dead worker says nothing of its items
    }
    crew = Crew(tmp_path, environment, course.workers)
    try:
        with Client(settings) as client:
            began = time.monotonic()
            batch = client.submit(ONCOLOGY, abstracts(course.items))
            reader = Reader(batch)
            reader.start()
            kills = 0
            flushes, restarts = list(course.flushes), list(course.restarts)
            next_kill = began + course.kill_every
            while (counts := batch.status().counts).decided + counts.failed < course.items:
                assert time.monotonic() - began < course.bound, counts
                share = counts.decided / course.items
                if flushes and share >= flushes[0]:
                    flushes.pop(0)
                    with redis.Redis.from_url(own_valkey.url) as broker:
                        broker.flushall()
                if restarts and share >= restarts[0]:
                    restarts.pop(0)
                    own_postgres.process.kill()
                    own_postgres.start()
                if time.monotonic() >= next_kill:
                    next_kill = time.monotonic() + course.kill_every
                    kills += 1
                    crew.kill_oldest()
                reader.done.wait(READ_EVERY)
            batch.wait(timeout=60)
            seconds = time.monotonic() - began
            wait_until(lambda: reader.reads >= course.reads, within=120, what="the identity was read often enough")
            reader.done.set()
            reader.join()
            assert not flushes + restarts
            assert kills >= 1
            assert reader.broken == []
            reckoning = reckon(client, batch, double)
            # A call is in flight until its answer is committed: the double, which has answered, sees fewer of them.
            assert reckoning.extra_calls <= kills * CONCURRENCY
            faults.record(
                row=1,
                reckoning=reckoning,
                faults=kills + len(course.flushes) + len(course.restarts),
                note=f"{kills} kills, {len(course.flushes)} FLUSHALL, {len(course.restarts)} Postgres killed; "
                f"{reader.reads} reads; {seconds:.0f} s",
            )
    finally:
        crew.end()
