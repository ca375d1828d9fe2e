"""Redis killed, emptied, lost, away, silent, full, read-only (faults 7, 8 and 9): it holds nothing that the ledger
does not know.
"""

import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
import redis

from stage import Faults, abstracts, reckon, wait_until
from stage.fault_house import CONCURRENCY, ONCOLOGY, FaultHouse, fault_house, frozen

pytestmark = pytest.mark.chaos

HELD_BACK = "no item begins until the broker works again"
JUNK = 100_000  # bytes of one value
ITEMS = 120  # of which a quarter is decided when the fault comes, and another quarter in flight
Outage = Callable[[FaultHouse], AbstractContextManager[None]]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultHouse]:
    with fault_house(tmp_path_factory.mktemp("redis-outages")) as house:
        yield house


def broker(house: FaultHouse) -> redis.Redis:
    return redis.Redis.from_url(house.valkey.url)


@contextmanager
def killed(house: FaultHouse) -> Iterator[None]:
    house.valkey.process.kill()
    try:
        yield
    finally:
        house.valkey.start()


@contextmanager
def silent(house: FaultHouse) -> Iterator[None]:
    with frozen(house.valkey):
        yield


@contextmanager
def full(house: FaultHouse) -> Iterator[None]:
    """As many values as its memory takes, and then room again."""
    with broker(house) as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 20 * JUNK)
        for number in range(1_000):
            try:
                client.set(f"junk:{number}", b"x" * JUNK)
            except redis.OutOfMemoryError:
                break
        client.config_set("maxmemory", 1)  # what others give up meanwhile is no room
        try:
            yield
        finally:
            client.delete(*(f"junk:{number}" for number in range(1_000)))
            client.config_set("maxmemory", 0)


@contextmanager
def read_only(house: FaultHouse) -> Iterator[None]:
    """As after a failover that went wrong: the replica of a server that is not there."""
    with broker(house) as client:
        client.replicaof("127.0.0.1", 1)
        try:
            yield
        finally:
            client.replicaof("NO", "ONE")


def finish(house: FaultHouse, batch_id: str, items: int) -> None:
    counts = house.client.batch(batch_id).wait(timeout=120)
    assert (counts.decided, counts.failed) == (items, 0)
    house.check_workers()


def lost_its_memory(house: FaultHouse) -> None:
    with broker(house) as client:
        client.flushall()


def lost_its_volume(house: FaultHouse) -> None:
    house.valkey.process.kill()
    shutil.rmtree(house.valkey.folder / "data")
    house.valkey.start()


def restarted(house: FaultHouse) -> None:
    house.valkey.process.kill()
    house.valkey.start()


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(restarted, id="kill -9", marks=pytest.mark.night),
        pytest.param(lost_its_memory, id="FLUSHALL"),
        pytest.param(lost_its_volume, id="volume lost", marks=pytest.mark.night),
    ],
)
def test_a_batch_goes_on_from_the_ledger_after_redis(
    house: FaultHouse, faults: Faults, fault: Callable[[FaultHouse], None]
) -> None:
    batch = house.begin(ITEMS, latency=0.4)
    fault(house)
    recovery = house.wait_until_calls_begin()
    finish(house, batch.id, ITEMS)
    reckoning = reckon(house.client, batch, house.double)
    assert reckoning.extra_calls == 0
    faults.record(row=7, reckoning=reckoning, faults=1, note=f"{fault.__name__}, calls again after {recovery:.1f} s")


def live_through(
    house: FaultHouse, faults: Faults, outage: Outage, *, row: int, items: int, seconds: float, note: str
) -> None:
    batch = house.begin(items, latency=0.4)
    before = house.said(HELD_BACK)
    with outage(house):
        house.wait_until_all_say(HELD_BACK, before)
        house.double.wait(in_flight=0, bound=20)
        calls = house.double.count()
        threading.Event().wait(seconds)
        # What was claimed before may still have had a permit; nothing else is begun.
        assert house.double.count() <= calls + len(house.workers) * CONCURRENCY
        assert batch.status().counts.failed == 0
    recovery = house.wait_until_calls_begin()
    finish(house, batch.id, items)
    reckoning = reckon(house.client, batch, house.double)
    assert reckoning.extra_calls == 0
    assert all(now - then <= 3 for now, then in zip(house.said(HELD_BACK), before, strict=True))
    faults.record(
        row=row, reckoning=reckoning, faults=1, note=f"{note} {seconds:g} s, calls again after {recovery:.1f} s"
    )


OUTAGES = [
    pytest.param(killed, 8, id="away"),
    pytest.param(silent, 8, id="silent", marks=pytest.mark.night),
    pytest.param(full, 9, id="full", marks=pytest.mark.night),
    pytest.param(read_only, 9, id="read-only", marks=pytest.mark.night),
]


@pytest.mark.parametrize(("outage", "row"), OUTAGES)
def test_items_wait_and_none_fails_while_redis_is(house: FaultHouse, faults: Faults, outage: Outage, row: int) -> None:
    live_through(house, faults, outage, row=row, items=ITEMS, seconds=5, note=outage.__name__)


@pytest.mark.night
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("outage", "row"), OUTAGES)
def test_items_wait_for_a_minute_and_none_fails_while_redis_is(
    house: FaultHouse, faults: Faults, outage: Outage, row: int
) -> None:
    live_through(house, faults, outage, row=row, items=1_000, seconds=60, note=outage.__name__)


def test_a_batch_submitted_to_a_full_redis_waits_in_the_ledger_and_says_so(
    house: FaultHouse, faults: Faults, caplog: pytest.LogCaptureFixture
) -> None:
    before = house.said(HELD_BACK)
    house.double.reset()
    with full(house):
        house.wait_until_all_say(HELD_BACK, before)
        with caplog.at_level(logging.WARNING):
            batch = house.client.submit(ONCOLOGY, abstracts(100, words=7))
        assert "is in the ledger; the workers will dispatch it: the broker at 127.0.0.1" in caplog.text
        assert "is full" in caplog.text
        assert batch.status().counts.pending == 100
    wait_until(lambda: batch.status().counts.decided > 0, within=60, what="a worker dispatches it")
    finish(house, batch.id, 100)
    reckoning = reckon(house.client, batch, house.double)
    assert reckoning.extra_calls == 0
    faults.record(row=9, reckoning=reckoning, faults=1, note="submitted while full")
