"""Each statement about a batch costs in proportion to the batch, also if Postgres has no statistics of it.

Postgres expects one row of a batch that is younger than its statistics. A join then may go through all rows of the
batch for each of its rows.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.ledger.snapshots import read_snapshot_change
from tamis_producer.runs import rounds
from tamis_producer.transport.broker import make_app
from tamis_producer.transport.dispatch import Dispatcher
from tamis_schemas import Filter
from tamis_schemas.ledger import batches
from tamis_worker.engine.backpressure import Backpressure
from tamis_worker.ledger import shards
from tamis_worker.maintenance.reconciler import Reconciler

KNOWN, NEW = 200, 3_000  # items of the batch in the statistics, and of the batch after them
BLOCKS_OF_ITEM = 30  # at most, in a statement: an item has rows in few tables, and a look-up reads three blocks

ENDED = """
WITH ended AS (UPDATE item_states SET state = 'failed', fence = 1 WHERE batch_id = :id RETURNING batch_id, idx)
INSERT INTO results (batch_id, idx, fence, round, error_kind, error, prompt_tokens, completion_tokens, calls)
SELECT batch_id, idx, 1, 1, 'timeout', 'no answer in time', 100, 0, 1 FROM ended
"""
NO_STATISTICS = "ALTER TABLE {} SET (autovacuum_enabled = off)"


@pytest.fixture
def batch(client: Client) -> Batch:
    """3,000 failed items of which Postgres knows nothing, beside 200 that it knows."""
    with client.engine.begin() as connection:
        for table in ("item_states", "results", "tallies", "payloads", "shards"):
            connection.execute(text(NO_STATISTICS.format(table)))
    for items in (KNOWN, NEW):
        batch = client.submit(Filter(criteria="Is it?"), abstracts(items))
        with client.engine.begin() as connection:
            connection.execute(text(ENDED), {"id": batch.id})
            connection.execute(text("UPDATE batches SET finished_at = now() WHERE id = :id"), {"id": batch.id})
            if items == KNOWN:
                connection.execute(text("ANALYZE"))
    return batch


@contextmanager
def counted(engine: Engine) -> Iterator[list[tuple[int, str]]]:
    """Of each statement: the blocks that it reads."""
    found: list[tuple[int, str]] = []

    def explain(connection: Connection, _: Any, statement: str, parameters: Any, __: Any, executemany: bool) -> None:
        if executemany or statement.split()[0] not in {"SELECT", "WITH", "UPDATE", "INSERT"} or "pg_" in statement:
            return
        cursor = connection.connection.cursor()
        cursor.execute("SAVEPOINT before")
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}", parameters)
        ((explained,),) = cursor.fetchall()
        plan = explained[0]["Plan"]
        found.append((plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], statement))
        cursor.execute("ROLLBACK TO before")
        cursor.close()

    event.listen(engine, "before_cursor_execute", explain)
    yield found
    event.remove(engine, "before_cursor_execute", explain)


def summarise(client: Client, batch: Batch) -> None:
    with client.engine.connect() as connection:
        row = connection.execute(select(batches).where(batches.c.id == batch.uuid)).one()
        assert shards.summarise(connection, row).errors == {"timeout": NEW}


def retry(client: Client, batch: Batch) -> None:
    with client.engine.begin() as connection:
        connection.execute(text("UPDATE batches SET state = 'completed' WHERE id = :id"), {"id": batch.id})
        assert rounds.retry(connection, batch.uuid) == NEW


def snapshots(client: Client, batch: Batch) -> None:
    with client.engine.connect() as connection:
        read_snapshot_change(connection, batch.uuid)


@pytest.mark.parametrize(
    "use",
    [
        summarise,
        retry,
        lambda client, batch: batch.status(),
        *(
            pytest.param(use, marks=pytest.mark.night)
            for use in (
                lambda client, batch: list(batch.results()),
                lambda client, batch: client.batches(10),
                lambda client, batch: client.retryable(),
                lambda client, batch: batch.cancel(),
                snapshots,
            )
        ),
    ],
    ids=["summary", "retry", "status", "results", "batches", "retryable", "cancel", "snapshots"],
)
def test_what_is_done_with_a_batch_without_statistics_reads_each_item_a_few_times(
    client: Client, batch: Batch, use: Callable[[Client, Batch], object]
) -> None:
    with counted(client.engine) as found:
        use(client, batch)
    assert found
    assert max(found)[0] <= BLOCKS_OF_ITEM * NEW, max(found)


async def test_a_sweep_over_a_batch_without_statistics_reads_each_item_a_few_times(
    client: Client, batch: Batch, engine: AsyncEngine
) -> None:
    app = make_app(client.settings)
    sweeper = Reconciler(
        engine,
        client.engine,
        app,
        Dispatcher(client.engine, app),
        worker="sweeper",
        grace=0.0,
        max_claims=5,
        backpressure=Backpressure(),
    )
    with client.engine.begin() as connection:
        connection.execute(text("UPDATE item_states SET state = 'pending' WHERE batch_id = :id"), {"id": batch.id})
    with counted(engine.sync_engine) as found:
        await sweeper.sweep()
    app.close()
    assert len(found) > 8
    assert max(found)[0] <= BLOCKS_OF_ITEM * NEW, max(found)
