"""The dispatch of shards, on a real Postgres and a real Redis."""

from sqlalchemy import text

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_schemas import Filter


def shards(client: Client, batch: Batch) -> list[tuple[str, bool]]:
    """The shards' states, and whether they are published."""
    query = "SELECT state, published_at IS NOT NULL FROM shards WHERE batch_id = :id ORDER BY shard"
    with client.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query), {"id": batch.uuid})]


def test_the_transaction_that_writes_the_items_begins_the_batch(client: Client) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(5), shard_size=2, window=2)
    query = """
        SELECT b.state, b.xmin = p.xmin FROM batches b JOIN payloads p ON p.batch_id = b.id AND p.idx = 4
        WHERE b.id = :id
    """
    with client.engine.connect() as connection:
        assert tuple(connection.execute(text(query), {"id": batch.uuid}).one()) == ("running", True)
    assert shards(client, batch) == [("dispatched", True), ("dispatched", True), ("waiting", False)]


def test_a_batch_begins_after_its_items_are_written_and_not_with_their_transaction(client: Client) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(1))
    query = """
        SELECT b.started_at > b.created_at, s.dispatched_at > b.created_at
        FROM batches b JOIN shards s ON s.batch_id = b.id WHERE b.id = :id
    """  # `created_at` is the beginning of the transaction
    with client.engine.connect() as connection:
        assert tuple(connection.execute(text(query), {"id": batch.uuid}).one()) == (True, True)


def test_no_shard_is_dispatched_while_the_broker_is_known_to_be_away(client: Client) -> None:
    client._absence.begins()
    batch = client.submit(Filter(criteria="Is it?"), abstracts(1))
    assert shards(client, batch) == [("waiting", False)]
