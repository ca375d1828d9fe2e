"""The pace of a batch: of the last minutes of work, never over a pause, and nothing where nothing can be said."""

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from tamis_producer import Batch, Client
from tamis_producer.ledger.views import LOOKED_AT, WINDOW
from tamis_schemas import Filter

RESULTS = """
INSERT INTO results (batch_id, idx, fence, round, value, confidence, prompt_tokens, completion_tokens, calls,
                     created_at)
SELECT :id, idx, 1, :round, 'true', 0.9, 10, 1, 1, now() - (:ago + :last - idx) * interval '1 second'
  FROM generate_series(CAST(:first AS int), CAST(:last AS int)) AS idx
"""


@pytest.fixture
def batch(client: Client) -> Batch:
    """A batch of 1,200 items in three shards, of which nothing has ended."""
    items = [{"id": str(n), "title": f"Title {n}"} for n in range(1200)]
    return client.submit(Filter(criteria="Is it?"), items)


def sql(client: Client, statement: str, **values: Any) -> None:
    with client.engine.begin() as connection:
        connection.execute(text(statement), values)


def dispatched(client: Client, batch: Batch, ago: float) -> None:
    """Let the batch's shards in flight have been dispatched some seconds ago."""
    sql(
        client,
        "UPDATE shards SET state = 'dispatched', dispatched_at = now() - :ago * interval '1 second'"
        " WHERE batch_id = :id",
        id=UUID(batch.id), ago=ago,
    )  # fmt: skip
    sql(
        client,
        "UPDATE batches SET state = 'running', started_at = now() - interval '9 hours' WHERE id = :id",
        id=batch.id,
    )


def ended(client: Client, batch: Batch, first: int, last: int, *, ago: float = 0, of_round: int = 1) -> None:
    """Let items have ended one a second, the last of them some seconds ago."""
    sql(client, RESULTS, id=UUID(batch.id), first=first, last=last, ago=ago, round=of_round)


def test_the_pace_is_that_since_the_first_result_of_the_shards_in_flight(client: Client, batch: Batch) -> None:
    dispatched(client, batch, ago=100)
    ended(client, batch, 0, 49)
    view = batch.status()
    assert view.rate == pytest.approx(1, rel=0.05)  # 49 in 49 s: neither the hours of the round nor the start count
    assert view.eta_seconds == pytest.approx(view.counts.pending + view.counts.running, rel=0.05)


def test_results_that_came_at_once_took_the_time_of_the_shortest_call(client: Client, batch: Batch) -> None:
    dispatched(client, batch, ago=100)
    ended(client, batch, 0, 3)
    sql(client, "UPDATE results SET latency_ms = 5000 + idx, created_at = now() WHERE batch_id = :id", id=batch.id)
    assert batch.status().rate == pytest.approx(3 / 5, rel=0.05)


def test_what_ended_before_a_pause_does_not_count_after_it(client: Client, batch: Batch) -> None:
    dispatched(client, batch, ago=300)
    ended(client, batch, 0, 19, ago=200)
    batch.pause()
    assert (batch.status().rate, batch.status().eta_seconds) == (None, None)
    batch.resume()
    assert (batch.status().rate, batch.status().eta_seconds) == (None, None)  # nothing has ended since
    dispatched(client, batch, ago=100)
    ended(client, batch, 20, 69)
    assert batch.status().rate == pytest.approx(1, rel=0.1)  # 49 in 49 s since it went on


def test_no_more_than_the_last_minutes_count(client: Client, batch: Batch) -> None:
    dispatched(client, batch, ago=9000)
    ended(client, batch, 0, 99, ago=WINDOW + 60)
    assert batch.status().rate is None
    ended(client, batch, 100, 159)
    assert batch.status().rate == pytest.approx(1, rel=0.05)


def test_of_many_results_the_latest_are_enough(client: Client, batch: Batch) -> None:
    dispatched(client, batch, ago=WINDOW - 10)
    ended(client, batch, 0, LOOKED_AT + 49)
    assert batch.status().rate == pytest.approx(1, rel=0.05)  # one a second, as the last ones that are looked at ended


def test_results_of_earlier_rounds_are_no_pace(client: Client, batch: Batch) -> None:
    sql(client, "UPDATE batches SET round = 2 WHERE id = :id", id=batch.id)
    sql(client, "UPDATE shards SET round = 2 WHERE batch_id = :id", id=batch.id)
    dispatched(client, batch, ago=100)
    ended(client, batch, 0, 599)
    assert batch.status().rate is None
    ended(client, batch, 600, 609, of_round=2)
    assert batch.status().rate == pytest.approx(1, rel=0.1)  # of these ten alone


def test_a_batch_of_which_nothing_ended_has_no_pace(client: Client, batch: Batch) -> None:
    dispatched(client, batch, ago=50)
    assert (batch.status().rate, batch.status().eta_seconds) == (None, None)
