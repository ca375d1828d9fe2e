"""The summary of a batch costs in proportion to the batch, also if Postgres has no statistics of it.

Postgres expects one row of a batch that is younger than its statistics. A join then may go through all rows of the
batch for each of its rows.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import Connection, event, text

from stage import abstracts
from tamis_producer import Client
from tamis_schemas import Filter
from tamis_worker.ledger import shards

KNOWN, NEW = 200, 3_000  # items of the batch in the statistics, and of the batch after them
BLOCKS_OF_ITEM = 25  # at most, in all statements together: each table has a few look-ups of each item

ENDED = """
WITH ended AS (UPDATE item_states SET state = 'failed', fence = 1 WHERE batch_id = :id RETURNING batch_id, idx)
INSERT INTO results (batch_id, idx, fence, round, error_kind, error, prompt_tokens, completion_tokens, calls)
SELECT batch_id, idx, 1, 1, 'timeout', 'no answer in time', 100, 0, 1 FROM ended
"""
BY_ITSELF = "ALTER TABLE {} SET (autovacuum_enabled = off)"


def test_the_summary_of_a_batch_without_statistics_reads_each_item_a_few_times(client: Client) -> None:
    blocks: dict[str, int] = {}

    def explain(connection: Connection, cursor: Any, statement: str, parameters: Any, *_: object) -> None:
        if not statement.startswith("SELECT"):
            return
        with cursor.connection.cursor() as other:
            other.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}", parameters)
            plan = other.fetchone()[0][0]["Plan"]
            blocks[statement] = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

    with client.engine.begin() as connection:
        for table in ("item_states", "results", "tallies"):
            connection.execute(text(BY_ITSELF.format(table)))
    for items in (KNOWN, NEW):
        batch = client.submit(Filter(criteria="Is it?"), abstracts(items))
        with client.engine.begin() as connection:
            connection.execute(text(ENDED), {"id": batch.id})
            connection.execute(text("UPDATE batches SET finished_at = now() WHERE id = :id"), {"id": batch.id})
            if items == KNOWN:
                connection.execute(text("ANALYZE"))
    event.listen(client.engine, "before_cursor_execute", explain)
    with client.engine.connect() as connection:
        summary = shards._summary(connection, UUID(batch.id))
    event.remove(client.engine, "before_cursor_execute", explain)
    assert summary.errors == {"timeout": NEW}
    assert len(blocks) > 8
    assert sum(blocks.values()) <= BLOCKS_OF_ITEM * NEW, sorted((n, statement) for statement, n in blocks.items())[-3:]
