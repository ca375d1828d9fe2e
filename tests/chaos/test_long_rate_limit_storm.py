"""Minutes of nothing but 429 (fault 12 in its long form): no item fails, and no attempt is spent."""

import pytest

from stage import Faults
from stage.fault_house import CONCURRENCY
from stage.storm import stormy_house, weather

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize(("retry_after", "seconds"), [("30", 600), (None, 120)], ids=["Retry-After 30", "without"])
def test_minutes_of_refusals_fail_nothing(
    tmp_path_factory: pytest.TempPathFactory, faults: Faults, retry_after: str | None, seconds: float
) -> None:
    with stormy_house(tmp_path_factory.mktemp("long-storm")) as house:
        in_flight = len(house.workers) * CONCURRENCY
        weather(house, faults, items=400, seconds=seconds, retry_after=retry_after, refused=40 * in_flight)
