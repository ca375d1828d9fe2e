"""Many batches at the same moment: no waiting message counts as lost, and no single item waits behind a batch."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from stage import abstracts, wait_until
from stage.fault_house import ONCOLOGY, fault_house
from tamis_producer.runs.workers import read_repairs
from tamis_schemas.batches import wire

pytestmark = pytest.mark.chaos

BATCHES = 8


@pytest.mark.parametrize("items", [40, pytest.param(100, marks=pytest.mark.night)])  # a batch; all wait for leases
def test_eight_batches_at_once_lose_nothing_share_the_lanes_and_let_a_single_item_pass(
    tmp_path: Path, items: int
) -> None:
    with fault_house(tmp_path, lease_seconds="2", sweep_interval="0.5") as house:
        house.double.script(latency=0.2, remember=False)
        with ThreadPoolExecutor(BATCHES) as threads:
            batches = list(threads.map(lambda _: house.client.submit(ONCOLOGY, abstracts(items)), range(BATCHES)))
        with house.client.engine.connect() as connection:
            lanes = Counter(connection.execute(text("SELECT lane FROM batches")).scalars())
        wait_until(lambda: any(batch.status().counts.decided for batch in batches), within=30, what="work has begun")
        single = house.client.submit(ONCOLOGY, abstracts(1))
        single.wait(timeout=60)
        assert sum(batch.status().counts.pending for batch in batches) > BATCHES * items / 2  # they end after it
        assert [batch.wait(timeout=120).decided for batch in batches] == [items] * BATCHES
        repaired = {repair.kind: repair.total for repair in read_repairs(house.client.engine)}
        assert repaired.get("lost", 0) == 0
        assert set(lanes) == set(range(wire.LANES - 1))
        assert max(lanes.values()) - min(lanes.values()) <= 1
