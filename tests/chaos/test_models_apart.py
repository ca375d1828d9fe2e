"""Items that wait for one model take no place from items of another model on the same workers."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from llm_double.script import Fault, Kind
from stage import abstracts, wait_until
from stage.fault_house import CONCURRENCY, ONCOLOGY, FaultHouse, fault_house
from stage.storm import attempts
from tamis_schemas import PauseKind, Priority

pytestmark = pytest.mark.chaos

WITHIN = 2.0  # s for 40 items of the model that answers, beside what they take alone
HELD_UP = 200  # items of the model that does not answer: more than the workers have places


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultHouse]:
    with fault_house(tmp_path_factory.mktemp("models"), item_deadline="5", max_calls="2", shard_size="500") as house:
        yield house


@pytest.mark.night
@pytest.mark.parametrize(
    ("fault", "priority"),
    [
        (Fault(Kind.RATE_LIMITED, retry_after="200", model="away"), Priority.NORMAL),
        (Fault(Kind.RATE_LIMITED, retry_after="200", model="also-away"), Priority.HIGH),
        (Fault(Kind.SERVER_ERROR, model="broken"), Priority.NORMAL),
    ],
    ids=["rate limit", "rate limit, high priority", "outage"],
)
def test_a_batch_of_another_model_is_decided_at_once(house: FaultHouse, fault: Fault, priority: Priority) -> None:
    house.double.reset()
    house.double.script(latency=0.2, faults=[fault])
    alone = seconds_of_40(house, f"alone-{fault.model}", priority)
    held = house.client.submit(ONCOLOGY, abstracts(HELD_UP), model=fault.model, priority=Priority.HIGH)
    full = len(house.workers) * CONCURRENCY
    wait_until(lambda: held.status().counts.running >= full, within=30, what="all places of the workers are taken")
    both = f"{len(house.workers)} workers are waiting: "
    wait_until(lambda: (held.status().waits_for or "").startswith(both), within=30, what="both workers know it")
    assert takes_no_longer(house, f"beside-{fault.model}", priority, alone)
    counts = held.status().counts
    assert (counts.failed, counts.decided) == (0, 0)
    assert attempts(house, held) == {1}
    held.cancel()


def test_a_batch_whose_model_asks_for_hours_is_paused_until_then_and_resumes_by_itself(house: FaultHouse) -> None:
    house.double.reset()
    house.double.script(latency=0.2)
    alone = seconds_of_40(house, "alone-for-hours", Priority.NORMAL)
    house.double.script(latency=0.2, faults=[Fault(Kind.RATE_LIMITED, retry_after="34718", model="for-hours")])
    asked = datetime.now(UTC)
    held = house.client.submit(ONCOLOGY, abstracts(HELD_UP), model="for-hours")
    wait_until(lambda: held.status().pause is not None, within=30, what="the batch is paused")
    wait_until(lambda: held.status().counts.running == 0, within=30, what="its items have left the workers")
    assert takes_no_longer(house, "beside-for-hours", Priority.NORMAL, alone)
    status = held.status()
    assert status.pause is not None
    assert status.pause.kind is PauseKind.RATE_LIMITED
    assert status.pause.until is not None
    assert abs((status.pause.until - asked).total_seconds() - 34_718) < 60
    assert (status.counts.pending, attempts(house, held)) == (HELD_UP, set())  # as if never claimed
    house.double.reset()
    with house.client.engine.begin() as connection:
        hours_ago = """UPDATE batches SET pause = jsonb_set(pause::jsonb, '{until}', '"2026-01-01T00:00:00Z"')::json"""
        connection.execute(text(f"{hours_ago} WHERE id = :id"), {"id": held.id})
    summary = held.wait(timeout=60)
    assert (summary.decided, summary.failed) == (HELD_UP, 0)


def seconds_of_40(house: FaultHouse, model: str, priority: Priority) -> float:
    """How long 40 items of a model take."""
    began = time.monotonic()
    batch = house.client.submit(ONCOLOGY, abstracts(40), model=model, priority=priority)
    assert batch.wait(timeout=60).decided == 40
    return time.monotonic() - began


def takes_no_longer(house: FaultHouse, model: str, priority: Priority, alone: float) -> bool:
    """Whether one of three tries is as fast as alone: a busy machine is slow at times, a model that waits always."""
    return any(seconds_of_40(house, f"{model}-{n}", priority) - alone <= WITHIN for n in range(3))
