"""Postgres away, silent, read-only or full (fault 10): what was paid for is kept, and nothing is paid for meanwhile."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg
import pytest

from stage import Faults, reckon
from stage.fault_house import FaultHouse, fault_house, frozen

pytestmark = pytest.mark.chaos

HELD_BACK = "no item or call begins until results can be written"
WORKS_AGAIN = "the ledger works again"
Outage = Callable[[FaultHouse], AbstractContextManager[None]]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultHouse]:
    with fault_house(tmp_path_factory.mktemp("postgres-outages")) as house:
        yield house


@contextmanager
def killed(house: FaultHouse) -> Iterator[None]:
    house.postgres.process.kill()
    try:
        yield
    finally:
        house.postgres.start()


@contextmanager
def silent(house: FaultHouse) -> Iterator[None]:
    with frozen(house.postgres):
        yield


@contextmanager
def read_only(house: FaultHouse) -> Iterator[None]:
    set_for_all(house, "default_transaction_read_only = on")
    try:
        yield
    finally:
        set_for_all(house, "default_transaction_read_only = off")


def set_for_all(house: FaultHouse, setting: str) -> None:
    url = house.postgres.url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(url, autocommit=True, options="-c default_transaction_read_only=off") as connection:
        connection.execute(f"ALTER SYSTEM SET {setting}")
        connection.execute("SELECT pg_reload_conf()")


def live_through(house: FaultHouse, faults: Faults, outage: Outage, *, items: int, seconds: float, note: str) -> None:
    batch = house.begin(items, latency=0.4)
    before, after = house.said(HELD_BACK), house.said(WORKS_AGAIN)
    with outage(house):
        house.wait_until_all_say(HELD_BACK, before)
        house.double.wait(in_flight=0, bound=20)
        calls = house.double.count()
        threading.Event().wait(seconds)
        assert house.double.count() == calls  # nothing was paid for meanwhile
    recovery = house.wait_until_calls_begin()
    counts = batch.wait(timeout=120)
    assert (counts.decided, counts.failed) == (items, 0)
    house.check_workers()
    reckoning = reckon(house.client, batch, house.double)
    assert reckoning.extra_calls == 0  # what was paid for was kept
    for said, then in ((house.said(HELD_BACK), before), (house.said(WORKS_AGAIN), after)):
        assert all(now - earlier <= 3 for now, earlier in zip(said, then, strict=True))  # not one line an item
    faults.record(
        row=10, reckoning=reckoning, faults=1, note=f"{note} {seconds:g} s, calls again after {recovery:.1f} s"
    )


OUTAGES = [
    pytest.param(killed, id="killed"),
    pytest.param(silent, id="silent", marks=pytest.mark.night),
    pytest.param(read_only, id="read-only", marks=pytest.mark.night),
]


@pytest.mark.parametrize("outage", OUTAGES)
def test_answers_are_kept_and_no_call_is_made_while_postgres_is(
    house: FaultHouse, faults: Faults, outage: Outage
) -> None:
    live_through(house, faults, outage, items=160, seconds=6, note=outage.__name__)


@pytest.mark.night
@pytest.mark.timeout(600)
@pytest.mark.parametrize("outage", OUTAGES)
def test_answers_are_kept_for_two_minutes_while_postgres_is(house: FaultHouse, faults: Faults, outage: Outage) -> None:
    live_through(house, faults, outage, items=1_000, seconds=120, note=outage.__name__)
