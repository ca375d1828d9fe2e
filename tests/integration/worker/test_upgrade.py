"""A ledger is upgraded while workers of the release before are at work."""

from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.runtime.migration import MigrationContext

from llm_double import Double
from stage import WorkerProcess, abstracts, reckon, wait_until
from stage.sample_revision import NUMBER, next_release
from tamis_producer import Client
from tamis_schemas import Filter
from tamis_schemas.ledger.migrate import upgrade

ITEMS = 120


@pytest.mark.night
def test_workers_of_the_release_before_finish_their_batch_and_begin_another_on_an_upgraded_ledger(
    client: Client, start_worker: Callable[..., WorkerProcess], double: Double, database_url: str, tmp_path: Path
) -> None:
    double.script(latency=0.1)
    start_worker(concurrency="4")
    batch = client.submit(Filter(criteria="Is this about oncology?"), abstracts(ITEMS))
    wait_until(lambda: batch.status().counts.decided >= ITEMS // 4, within=60, what="a quarter is decided")
    with next_release(tmp_path):
        upgrade(database_url)
    assert batch.status().counts.decided < ITEMS  # the upgrade came in the middle
    with client.engine.connect() as connection:
        assert MigrationContext.configure(connection).get_current_revision() == NUMBER
    assert batch.wait(timeout=60).decided == ITEMS
    assert reckon(client, batch, double).extra_calls == 0
    following = client.submit(Filter(criteria="Is this about surgery?"), abstracts(8))
    assert following.wait(timeout=60).decided == 8
