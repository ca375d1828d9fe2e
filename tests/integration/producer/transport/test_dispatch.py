"""The dispatch of shards, on a real Postgres and a real Redis."""

import pytest
from sqlalchemy import text

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.transport.dispatch import Dispatcher
from tamis_schemas import BrokerUnavailable, Filter


def shards(client: Client, batch: Batch) -> list[tuple[str, bool, bool]]:
    """The shards' states, whether the batch's own transaction dispatched them, and whether they are published."""
    query = """
        SELECT s.state, coalesce(s.dispatched_at = b.created_at, false), s.published_at IS NOT NULL
        FROM shards s JOIN batches b ON b.id = s.batch_id WHERE b.id = :id ORDER BY s.shard
    """
    with client.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query), {"id": batch.uuid})]


def test_the_first_shard_is_dispatched_by_the_transaction_that_writes_the_batch(client: Client) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(5), shard_size=2, window=2)
    assert shards(client, batch) == [("dispatched", True, True), ("dispatched", False, True), ("waiting", False, False)]


def test_no_shard_is_dispatched_while_the_broker_is_known_to_be_away(client: Client) -> None:
    client._absence.begins()
    batch = client.submit(Filter(criteria="Is it?"), abstracts(1))
    assert shards(client, batch) == [("waiting", False, False)]


def test_a_batch_that_cannot_be_published_waits_for_the_workers(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise BrokerUnavailable("away")

    monkeypatch.setattr(Dispatcher, "_publish", refuse)
    batch = client.submit(Filter(criteria="Is it?"), abstracts(1))
    ((state, _, published),) = shards(client, batch)
    assert (state, published) == ("waiting", False)
