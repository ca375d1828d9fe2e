"""Nothing but 429 for a while (fault 12): all workers wait, no attempt is spent, no deadline runs, no item fails.

In the short form time is compressed in one place: items have a deadline of a few seconds instead of 15 minutes, which
the storm outlasts all the same.
"""

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from llm_double.script import Fault, Kind
from stage import Faults, reckon, wait_until
from stage.fault_house import CONCURRENCY, FaultHouse, fault_house
from tamis_producer import Batch

pytestmark = pytest.mark.chaos

DEADLINE = 5.0  # s, of an item


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultHouse]:
    folder = tmp_path_factory.mktemp("storm")
    with fault_house(folder, item_deadline=str(DEADLINE), max_calls="2") as house:
        yield house


def attempts(house: FaultHouse, batch: Batch) -> set[int]:
    """How often the items were claimed."""
    with house.client.engine.connect() as connection:
        statement = text("SELECT DISTINCT attempts FROM items WHERE batch_id = :id AND state <> 'pending'")
        return set(connection.execute(statement, {"id": batch.id}).scalars())


def weather(
    house: FaultHouse, faults: Faults, *, items: int, seconds: float, retry_after: str | None, refused: int
) -> None:
    """Begin a batch, have everything refused for so long, let it finish; `refused` is the most that may be."""
    batch = house.begin(items)
    house.double.script(faults=[Fault(Kind.RATE_LIMITED, retry_after=retry_after)])
    wait_until(lambda: house.double.count(429) > 0, within=20, what="the first refusal")
    threading.Event().wait(seconds)
    counts = batch.status().counts
    assert counts.identity_holds
    assert (counts.decided, counts.failed) == (house.double.count(200), 0)
    assert counts.running > 0  # they wait, and hold what they claimed
    assert attempts(house, batch) == {1}
    assert house.double.count(429) <= refused
    house.double.script(faults=[])
    assert batch.wait(timeout=180).decided == items
    assert attempts(house, batch) == {1}
    turned_away = house.double.count(429)
    reckoning = reckon(house.client, batch, house.double, refused=turned_away)
    assert reckoning.extra_calls == 0
    faults.record(row=12, reckoning=reckoning, faults=turned_away, note=f"{seconds:g} s of 429, all attempts 1")


def test_all_workers_wait_for_a_retry_after_that_is_longer_than_the_deadline(house: FaultHouse, faults: Faults) -> None:
    in_flight = len(house.workers) * CONCURRENCY
    weather(house, faults, items=200, seconds=8, retry_after="3", refused=4 * in_flight)


def test_a_storm_without_a_retry_after_fails_nothing(house: FaultHouse, faults: Faults) -> None:
    in_flight = len(house.workers) * CONCURRENCY
    weather(house, faults, items=200, seconds=20, retry_after=None, refused=12 * in_flight)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("retry_after", ["30", None], ids=["Retry-After 30", "without"])
def test_ten_minutes_of_refusals_fail_nothing(house: FaultHouse, faults: Faults, retry_after: str | None) -> None:
    in_flight = len(house.workers) * CONCURRENCY
    weather(house, faults, items=400, seconds=600, retry_after=retry_after, refused=40 * in_flight)


def test_a_refusal_by_everybody_is_heard_by_the_other_worker(house: FaultHouse) -> None:
    """One Retry-After stops all processes: while it lasts, no call is made by any."""
    batch = house.begin(100)
    house.double.script(faults=[Fault(Kind.RATE_LIMITED, retry_after="3", limit=1)])
    wait_until(lambda: house.double.count(429) == 1, within=20, what="the refusal")
    house.double.wait(in_flight=0)
    calls = house.double.count()
    threading.Event().wait(1.5)
    assert house.double.count() == calls
    assert batch.wait(timeout=60).decided == 100
