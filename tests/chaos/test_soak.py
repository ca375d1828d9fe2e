"""Everything at once: workers are killed again and again, while servers, the endpoint and people disturb the batches.

The second soak draws its faults and commands from a seed, and logs the seed. `SOAK_SEED=N` repeats them.
"""

import logging
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace
from itertools import islice

import pytest
import redis
from sqlalchemy import text

from llm_double import Double, Fault, Kind
from stage import Crew, Faults, Reckoning, abstracts, reckon, wait_until
from stage.fault_house import CONCURRENCY, ONCOLOGY, FaultHouse, fault_house
from tamis_producer import Batch, Client
from tamis_schemas import BatchStatus, IllegalTransition, InvalidRequest, Priority, Unavailable

pytestmark = pytest.mark.chaos

LOG = logging.getLogger(__name__)
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


SHORT = Course(100, 2, 2.5, flushes=(0.2,), restarts=(0.5,), latency=0.5, reads=8, bound=120)
WHOLE = Course(20_000, 3, 5.0, flushes=(0.2, 0.6), restarts=(0.4, 0.8), latency=0.2, reads=100, bound=1_200)


@dataclass
class Reader(threading.Thread):
    """Reads all batches again and again; a read that Postgres does not answer is no read."""

    client: Client
    done: threading.Event = field(default_factory=threading.Event)
    reads: int = 0
    broken: list[object] = field(default_factory=list)  # counts that do not add up; batches that paused themselves

    def __post_init__(self) -> None:
        super().__init__(name="reader of the identity", daemon=True)

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        while not self.done.wait(READ_EVERY):
            try:
                views = self.client.batches(limit=100)
            except Unavailable:
                continue
            self.reads += 1
            self.broken += [view for view in views if not view.counts.identity_holds]
            self.broken += [view for view in views if view.pause is not None and view.pause.by_itself]


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
            reader = Reader(house.client)
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


MODELS = ("double-1", "other-1")  # the second one also has storms
OUTAGES = (Kind.SERVER_ERROR, Kind.UNAVAILABLE, Kind.BAD_GATEWAY, Kind.DROPPED)
STORM = Fault(Kind.RATE_LIMITED, model=MODELS[1], retry_after="2")
TROUBLE = (6.0, 10.0)  # s, of an outage or storm: the workers' probes are up to 4 s apart
CALM = (15.0, 18.0)  # s, between two of them: the probe that ends an outage is valid for 10 s
COMMAND_EVERY = 0.15  # s
END_WITHIN = 240.0  # s, after the last command, on a busy machine

DECIDED = "SELECT batch_id, idx FROM items WHERE state = 'decided'"
FAILURES = """
SELECT batch_id, idx, round, error_kind, error FROM results WHERE error_kind IS NOT NULL
UNION ALL SELECT batch_id, idx, round, error_kind, error FROM past_failures
"""
UNMATCHED = """
SELECT i.batch_id, i.idx, i.state, i.fence, r.fence, r.round FROM items i LEFT JOIN results r USING (batch_id, idx)
WHERE (i.state = 'decided') <> coalesce(r.round > 0, false)  -- of round 0 is the bill of an item that was given back
"""
COMMANDS = {"pause": 3, "resume": 5, "set_priority": 3, "cancel": 1, "retry": 3}  # with their weights


@dataclass(frozen=True)
class Unrest:
    """Batches of two models, and what disturbs them."""

    batches: int
    items: int  # of each batch
    workers: int
    kill_every: float  # s
    seconds: float  # of commands, at most
    latency: float
    seed: int | None = None  # None: another one in each run


def kill_workers(crew: Crew, every: float, over: threading.Event) -> int:
    """Kill and replace workers until it is over, and return how many were killed."""
    kills = 0
    while not over.wait(every):
        crew.kill_oldest()
        kills += 1
    return kills


def trouble_the_endpoint(double: Double, rng: random.Random, over: threading.Event) -> int:
    """Script outages and storms, each to its end, until it is over, and return their number."""
    troubles, trouble_ends = 0, threading.Event()
    while not over.wait(rng.uniform(*CALM) if troubles else 2.0):
        outage = Fault(rng.choice(OUTAGES))
        faults = [(STORM, outage), (STORM,), (outage,)][troubles % 3]
        LOG.warning("%s", " and ".join(fault.kind for fault in faults))
        double.script(faults=faults)
        trouble_ends.wait(rng.uniform(*TROUBLE))
        double.script(faults=[])
        troubles += 1
    return troubles


def command(client: Client, batches: Sequence[Batch], rng: random.Random, seconds: float) -> Counter[str]:
    """Give commands until all batches are completed, or each was obeyed and the time is over; count the obeyed ones."""
    obeyed: Counter[str] = Counter()
    until, pause = time.monotonic() + seconds, threading.Event()
    while time.monotonic() < until or len(obeyed) < len(COMMANDS):
        if all(view.state is BatchStatus.COMPLETED for view in client.batches(100)):
            break
        (name,) = rng.choices([*COMMANDS], [*COMMANDS.values()])
        place, priority = rng.randrange(len(batches)), rng.choice([*Priority])
        with suppress(IllegalTransition, InvalidRequest):  # the batch has ended, or has not ended
            match name:
                case "pause":
                    batches[place].pause()
                case "resume":
                    batches[place].resume()
                case "set_priority":
                    batches[place].set_priority(priority)
                case "cancel":
                    batches[place].cancel()
                case "retry":
                    batches[place].retry(cancelled=True)
            obeyed[name] += 1
            LOG.warning("%s batch %d", name, place)
        pause.wait(COMMAND_EVERY)
    return obeyed


def reckon_all(house: FaultHouse, batches: Sequence[Batch]) -> Reckoning:
    """Resume what is paused, wait until every batch has ended, and return the figures of all batches together."""
    for batch in batches:
        with suppress(IllegalTransition):
            batch.resume()
    wait_until(
        lambda: all(view.finished_at for view in house.client.batches(100)), within=END_WITHIN, what="every batch ends"
    )
    with house.client.engine.connect() as connection:
        decided, *wrong = (connection.execute(text(statement)).all() for statement in (DECIDED, FAILURES, UNMATCHED))
    assert wrong == [[], []]
    extra_calls = house.double.count(200) - len(decided)
    figures = [astuple(reckon(house.client, batch, house.double)) for batch in batches]
    return replace(Reckoning(*map(sum, zip(*figures, strict=True))), extra_calls=extra_calls)


@pytest.mark.parametrize(
    "unrest",
    [
        pytest.param(Unrest(4, 40, 2, 2.0, seconds=6, latency=0.3, seed=1), id="short"),
        pytest.param(
            Unrest(20, 500, 3, 5.0, seconds=210, latency=0.4), id="whole",
            marks=[pytest.mark.night, pytest.mark.timeout(1_000)],
        ),
    ],
)  # fmt: skip
def test_every_batch_ends_and_no_item_is_lost_or_fails_whatever_people_command_in_outages_and_storms(
    unrest: Unrest, tmp_path_factory: pytest.TempPathFactory, faults: Faults
) -> None:
    seed = int(os.environ.get("SOAK_SEED", 0)) or unrest.seed or time.time_ns() % 1_000_000
    LOG.warning("SOAK_SEED=%d", seed)
    given = {
        "lease_seconds": "3",
        "limit_concurrency": str(CONCURRENCY * unrest.workers),
        "max_claims": "20",  # here a dead worker says nothing of its items
        "max_calls": "2",
        "item_deadline": "5",
    }
    folder = tmp_path_factory.mktemp("unrest")
    with fault_house(folder, workers=0, **given) as house:
        house.double.script(latency=unrest.latency, remember=False)
        items = iter(abstracts(unrest.batches * unrest.items))  # all are distinct: no answer comes from the cache
        crew = Crew(folder, house.environment, unrest.workers)
        over, reader, began = threading.Event(), Reader(house.client), time.monotonic()
        try:
            batches = [
                house.client.submit(ONCOLOGY, islice(items, unrest.items), model=MODELS[number % 2])
                for number in range(unrest.batches)
            ]
            reader.start()
            with ThreadPoolExecutor(2) as pool:
                killing = pool.submit(kill_workers, crew, unrest.kill_every, over)
                troubling = pool.submit(trouble_the_endpoint, house.double, random.Random(f"{seed} endpoint"), over)
                try:
                    obeyed = command(house.client, batches, random.Random(seed), unrest.seconds)
                finally:
                    over.set()
            reckoning = reckon_all(house, batches)
        finally:
            crew.end()
            reader.done.set()
        reader.join()
        kills, troubles = killing.result(), troubling.result()
        assert reader.broken == []
        assert min(kills, troubles) >= 1
        assert obeyed.keys() == COMMANDS.keys()
        probes = (kills + troubles * unrest.workers) * len(MODELS)  # answered: by each worker, after each trouble
        assert 0 <= reckoning.extra_calls <= kills * CONCURRENCY + probes
        faults.record(
            row=1,
            reckoning=reckoning,
            faults=kills + troubles + obeyed.total(),
            note=f"{kills} kills, {troubles} outages and storms, {obeyed.total()} commands; "
            f"{time.monotonic() - began:.0f} s; seed {seed}",
        )
