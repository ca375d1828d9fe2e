"""The latest results of a batch, by which it is paused if everything fails; calls of several callers have none."""

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Client
from tamis_schemas import ErrorKind, Filter
from tamis_schemas.batches import wire
from tamis_worker.ledger.outcomes import latest_errors

FAILED = text("""
INSERT INTO results (batch_id, idx, fence, round, error_kind, error, calls, unanswered, cached,
                     prompt_tokens, completion_tokens)
SELECT batch_id, idx, 1, 1, CASE WHEN idx = 0 THEN 'no_content' ELSE 'malformed' END, 'no JSON', 1, 0, false, 9, 9
FROM item_states WHERE batch_id = :id
""")


@pytest.mark.parametrize(
    ("service", "items", "malformed"),
    [(None, 5, 4), ("evaluation", 5, 0), ("evaluation", wire.SMALL, 0), ("evaluation", wire.SMALL + 1, wire.SMALL)],
)
async def test_a_callers_failures_pause_no_batch_that_may_hold_calls_of_others(
    client: Client, engine: AsyncEngine, service: str | None, items: int, malformed: int
) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(items), service=service)
    with client.engine.begin() as connection:
        connection.execute(
            text("UPDATE item_states SET state = 'running', fence = 1 WHERE batch_id = :id"), {"id": batch.id}
        )
        connection.execute(FAILED, {"id": batch.id})
    assert await latest_errors(engine, batch.uuid, 100) == [ErrorKind.MALFORMED] * malformed
