"""Ten minutes of nothing but 429 (fault 12 in its long form): no item fails, and no attempt is spent.

In a file of its own, so that the other files need not wait for it.
"""

import pytest

from stage import Faults
from stage.fault_house import CONCURRENCY
from stage.storm import stormy_house, weather

pytestmark = [pytest.mark.chaos, pytest.mark.night, pytest.mark.timeout(900)]


def test_ten_minutes_of_refusals_fail_nothing(tmp_path_factory: pytest.TempPathFactory, faults: Faults) -> None:
    with stormy_house(tmp_path_factory.mktemp("long-storm")) as house:
        in_flight = len(house.workers) * CONCURRENCY
        weather(house, faults, items=400, seconds=600, retry_after="30", refused=40 * in_flight)
