"""Everything at once: workers killed again and again, Redis emptied and Postgres killed, while a batch runs."""

import threading
import time
from dataclasses import dataclass, field

import pytest
import redis

from stage import Crew, Faults, abstracts, reckon
from stage.fault_house import CONCURRENCY, ONCOLOGY, FaultHouse, fault_house
from tamis_producer import Batch
from tamis_schemas import Unavailable

pytestmark = pytest.mark.chaos

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


SHORT = Course(360, 2, 3.0, flushes=(0.3,), restarts=(0.6,), latency=0.4, reads=10, bound=120)
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


def do_the_worst(house: FaultHouse, crew: Crew, batch: Batch, course: Course) -> int:
    """What the course says, until every item has ended; the number of workers killed."""
    began = time.monotonic()
    kills = 0
    flushes, restarts = list(course.flushes), list(course.restarts)
    next_kill = began + course.kill_every
    pause = threading.Event()
    while (counts := batch.status().counts).decided + counts.failed < course.items:
        assert time.monotonic() - began < course.bound, counts
        share = counts.decided / course.items
        if flushes and share >= flushes[0]:
            flushes.pop(0)
            with redis.Redis.from_url(house.valkey.url) as broker:
                broker.flushall()
        if restarts and share >= restarts[0]:
            restarts.pop(0)
            house.postgres.process.kill()
            house.postgres.start()
        if time.monotonic() >= next_kill:
            next_kill = time.monotonic() + course.kill_every
            kills += 1
            crew.kill_oldest()
        pause.wait(READ_EVERY)
    assert not flushes + restarts
    return kills


@pytest.mark.parametrize(
    "course",
    [
        pytest.param(SHORT, id="short"),
        pytest.param(WHOLE, id="whole", marks=[pytest.mark.night, pytest.mark.timeout(1_500)]),
    ],
)
def test_every_item_ends_once_whatever_is_killed_or_emptied(
    course: Course, tmp_path_factory: pytest.TempPathFactory, faults: Faults
) -> None:
    given = {
        "lease_seconds": "3",
        "limit_concurrency": str(CONCURRENCY * course.workers),
        "max_claims": "20",  # here a dead worker says nothing of its items
    }
    folder = tmp_path_factory.mktemp("soak")
    with fault_house(folder, workers=0, **given) as house:
        house.double.script(latency=course.latency, remember=False)
        crew = Crew(folder, house.environment, course.workers)
        try:
            batch = house.client.submit(ONCOLOGY, abstracts(course.items), shard_size=250)
            reader = Reader(batch)
            reader.start()
            began = time.monotonic()
            kills = do_the_worst(house, crew, batch, course)
            seconds, reads = time.monotonic() - began, reader.reads
            batch.wait(timeout=60)
        finally:
            crew.end()
        reader.done.set()
        reader.join()
        assert kills >= 1
        assert reads >= course.reads  # while it ran
        assert reader.broken == []
        reckoning = reckon(house.client, batch, house.double)
        # A call is in flight until its answer is committed: the double, which has answered, sees fewer of them.
        assert reckoning.extra_calls <= kills * CONCURRENCY
        faults.record(
            row=1,
            reckoning=reckoning,
            faults=kills + len(course.flushes) + len(course.restarts),
            note=f"{kills} kills, {len(course.flushes)} FLUSHALL, {len(course.restarts)} Postgres killed; "
            f"{reads} reads; {seconds:.0f} s",
        )
