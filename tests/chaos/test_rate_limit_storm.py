"""Nothing but 429 for a while (fault 12): all workers wait, no attempt is spent, no deadline runs, no item fails.

In the short form time is compressed in one place: items have a deadline of a few seconds instead of 15 minutes, which
the storm outlasts all the same.
"""

from collections.abc import Iterator

import pytest

from llm_double.script import Fault, Kind
from stage import Faults
from stage.fault_house import CONCURRENCY, FaultHouse
from stage.storm import stormy_house, weather

pytestmark = pytest.mark.chaos

UNDER_WAY = 2.0  # s; calls were permitted half a second ahead, and a busy machine makes them late


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultHouse]:
    folder = tmp_path_factory.mktemp("storm")
    with stormy_house(folder) as house:
        yield house


def test_all_workers_wait_for_a_retry_after_that_is_longer_than_the_deadline(house: FaultHouse, faults: Faults) -> None:
    in_flight = len(house.workers) * CONCURRENCY
    weather(house, faults, items=200, seconds=8, retry_after="3", refused=4 * in_flight)


@pytest.mark.night
def test_a_storm_without_a_retry_after_fails_nothing(house: FaultHouse, faults: Faults) -> None:
    in_flight = len(house.workers) * CONCURRENCY
    weather(house, faults, items=200, seconds=20, retry_after=None, refused=12 * in_flight)


@pytest.mark.night
def test_two_minutes_without_a_retry_after_fail_nothing(house: FaultHouse, faults: Faults) -> None:
    in_flight = len(house.workers) * CONCURRENCY
    weather(house, faults, items=400, seconds=120, retry_after=None, refused=40 * in_flight)


@pytest.mark.night
def test_a_refusal_by_everybody_is_heard_by_the_other_worker(house: FaultHouse) -> None:
    """One Retry-After stops all processes: while it lasts, no call is made by any but what was under way.

    By the double's own times: how late this process looks, on a busy machine, changes nothing.
    """
    batch = house.begin(100)
    house.double.script(faults=[Fault(Kind.RATE_LIMITED, retry_after="4", limit=1)], remember=True)
    assert batch.wait(timeout=60).decided == 100
    calls = house.double.calls()
    (refused,) = (call for call in calls if call.status == 429)
    assert refused.ended is not None
    after = sorted(call.started - refused.ended for call in calls)
    assert [seconds for seconds in after if UNDER_WAY <= seconds < 4] == []
    assert after[-1] >= 4  # the block came in the middle of the batch
