"""kill -9 of a worker in the middle of single calls, with nothing told of their end: each has its answer, once."""

import asyncio
from collections.abc import Callable

import pytest
from sqlalchemy import text

from llm_double import Double
from stage import WorkerProcess
from tamis_producer import AIEvaluationService, Client

pytestmark = pytest.mark.chaos

CALLS = 24


@pytest.mark.night
async def test_single_calls_are_answered_though_their_worker_is_killed_and_no_notification_arrives(
    client: Client, start_worker: Callable[..., WorkerProcess], double: Double
) -> None:
    double.script(latency=0.5)
    with client.engine.begin() as connection:
        connection.execute(text("DROP TRIGGER results_told ON results"))
        connection.execute(text("DROP TRIGGER batches_told ON batches"))
    given = {"lease_seconds": "2", "sweep_interval": "1", "concurrency": "8"}
    killed = start_worker(**given)
    service = AIEvaluationService(client, timeout=90)
    calls = [asyncio.create_task(service.filter({"id": str(n), "title": f"T{n}"}, "Is it?")) for n in range(CALLS)]
    await asyncio.to_thread(double.wait, calls=4)
    killed.kill()
    start_worker(**given)
    assert [(one.value is None, one.error) for one in await asyncio.gather(*calls)] == [(False, None)] * CALLS
    with client.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*), count(DISTINCT (batch_id, idx)) FROM results")).one() == (
            CALLS,
            CALLS,
        )
    assert CALLS <= double.count() <= CALLS + 8  # what was in flight may have been paid for twice
