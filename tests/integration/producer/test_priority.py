"""A batch's priority, changed while it waits or runs: its items move to the queues of the new one."""

from pathlib import Path
from typing import Any

import pytest
import redis
from sqlalchemy import text

from stage import abstracts, tamis
from tamis_producer import Batch, Client, ProducerSettings
from tamis_review import submit_review
from tamis_schemas import (
    BatchStatus,
    Extract,
    Filter,
    IllegalTransition,
    InvalidParameters,
    Priority,
    ReviewPlan,
    ReviewStage,
)
from tamis_schemas.batches import wire

ONCOLOGY = Filter(criteria="Is this about oncology?")
PLAN = ReviewPlan(stages=(ReviewStage(operation=ONCOLOGY), ReviewStage(operation=Extract(instruction="Which design?"))))


@pytest.fixture
def batch(client: Client) -> Batch:
    """120 items: shards of 50, 50 and 20, of which two are dispatched."""
    return client.submit(ONCOLOGY, abstracts(120))


def waiting(settings: ProducerSettings) -> dict[str, int]:
    """How many messages wait under each priority."""
    with redis.Redis.from_url(settings.broker) as broker:
        found = {
            priority.value: sum(
                broker.llen(f"{wire.KEY_PREFIX}{wire.ItemQueue(priority, lane).name}") for lane in range(wire.LANES)
            )
            for priority in Priority
        }
    return {name: n for name, n in found.items() if n}


def sql(client: Client, statement: str) -> list[Any]:
    with client.engine.begin() as connection:
        done = connection.execute(text(statement))
        return list(done) if done.returns_rows else []


def test_what_is_dispatched_goes_to_the_queues_of_the_new_priority(
    client: Client, settings: ProducerSettings, batch: Batch
) -> None:
    sql(client, "UPDATE item_states SET state = 'running' WHERE idx < 10")  # calls in flight
    batch.set_priority("high")
    assert batch.status().priority is Priority.HIGH
    assert waiting(settings) == {"normal": 100, "high": 90}  # the old messages find nothing to claim
    batch.set_priority(Priority.HIGH)
    assert waiting(settings)["high"] == 90  # what is so already is not published again


def test_it_takes_the_emptiest_lane_of_its_new_priority(client: Client, batch: Batch) -> None:
    for n in (21, 22):
        client.submit(ONCOLOGY, abstracts(n, words=n), priority=Priority.LOW)
    taken = {row.lane for row in sql(client, "SELECT lane FROM batches WHERE priority = 'low'")}
    assert len(taken) == 2
    batch.set_priority(Priority.LOW)
    (row,) = sql(client, f"SELECT lane FROM batches WHERE id = '{batch.id}'")
    assert {row.lane} == set(range(wire.LANES - 1)) - taken


def test_a_paused_batch_goes_on_with_its_new_priority(client: Client, settings: ProducerSettings, batch: Batch) -> None:
    batch.pause()
    batch.set_priority(Priority.LOW)
    assert batch.status().state is BatchStatus.PAUSED
    assert waiting(settings) == {"normal": 100}
    batch.resume()
    assert waiting(settings) == {"normal": 100, "low": 100}


def test_a_batch_without_a_broker_keeps_its_new_priority_for_its_dispatch(
    client: Client, settings: ProducerSettings
) -> None:
    with Client(settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})) as cut_off:
        batch = cut_off.submit(ONCOLOGY, abstracts(5))
        batch.set_priority(Priority.HIGH)
    client.dispatch(client.batch(batch.id).uuid)
    assert waiting(settings) == {"high": 5}


@pytest.mark.parametrize("state", ["completed", "cancelled"])
def test_what_is_ended_has_no_priority_any_more(client: Client, batch: Batch, state: str) -> None:
    sql(client, f"UPDATE batches SET state = '{state}'")
    with pytest.raises(IllegalTransition, match=f"{batch.id} is {state}: there is nothing to prioritise"):
        batch.set_priority(Priority.HIGH)


def test_a_priority_that_there_is_not_is_refused_with_those_that_there_are(batch: Batch) -> None:
    with pytest.raises(InvalidParameters, match="'urgent' is not one of low, normal, high"):
        batch.set_priority("urgent")


def test_the_command_line_sets_the_priority_of_batches_and_reviews(
    client: Client, settings: ProducerSettings, batch: Batch, environment: dict[str, str], tmp_path: Path
) -> None:
    done = tamis("priority", batch.id[:8], "high", env=environment, cwd=tmp_path)
    assert (done.code, f"batch {batch.id} has priority high from now on" in done.out) == (0, True)
    review = submit_review(client, PLAN, abstracts(5), label="five.csv")
    assert tamis("priority", review.id, "low", env=environment, cwd=tmp_path).code == 0
    assert review.status().stages[0].priority is Priority.LOW
    assert waiting(settings)["low"] == 5
    assert tamis("priority", batch.id, "urgent", env=environment, cwd=tmp_path).code == 2
