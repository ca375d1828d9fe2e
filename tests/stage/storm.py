"""Nothing but 429 for a while, over workers whose items have a deadline that every storm outlasts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text

from llm_double.script import Fault, Kind
from tamis_producer import Batch

from .fault_house import FaultHouse, fault_house
from .reckoning import Faults, reckon
from .waiting import wait_until

DEADLINE = 5.0  # s, of an item


@contextmanager
def stormy_house(folder: Path) -> Iterator[FaultHouse]:
    """Two workers with little patience, but for limits."""
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
