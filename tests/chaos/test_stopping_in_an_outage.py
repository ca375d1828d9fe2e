"""SIGTERM while a worker holds back: it leaves, keeps nobody's message, and the next one goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stage import WorkerProcess, reckon
from stage.fault_house import FaultHouse, fault_house

pytestmark = pytest.mark.chaos

NO_BROKER = "no item begins until the broker works again"


@pytest.fixture
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultHouse]:
    with fault_house(tmp_path_factory.mktemp("stopping"), workers=1) as house:
        yield house


@pytest.mark.night
def test_a_worker_that_holds_back_stops_at_once_and_loses_nothing(house: FaultHouse, tmp_path: Path) -> None:
    batch = house.begin(120)
    before = house.said(NO_BROKER)
    house.valkey.process.kill()
    house.wait_until_all_say(NO_BROKER, before)
    house.double.wait(in_flight=0)
    assert house.workers[0].stop() == 0
    assert batch.status().counts.running == 0  # what it had claimed was finished, or given back
    house.valkey.start()
    successor = WorkerProcess(tmp_path, "successor", house.environment)
    house.workers.append(successor)
    assert batch.wait(timeout=60).decided == 120
    assert reckon(house.client, batch, house.double).extra_calls == 0


@pytest.mark.night
def test_calls_in_flight_are_finished_and_kept_though_redis_is_gone(house: FaultHouse) -> None:
    batch = house.begin(120)
    house.double.script(latency=2.0, remember=False)
    house.double.wait(calls=house.double.count() + 16)
    before = house.said(NO_BROKER)
    house.valkey.process.kill()
    house.wait_until_all_say(NO_BROKER, before)
    assert house.workers[0].stop() == 0
    counts = batch.status().counts
    assert counts.running == 0
    assert counts.decided == house.double.count()
