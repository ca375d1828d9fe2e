"""A commit that succeeded, and whose reply never came (fault 11): no second row, and no second call."""

from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

import pytest

from llm_double import Double
from stage import Faults, TcpProxy, WorkerProcess, abstracts, reckon, wait_until
from tamis_cli.embedded.postgres import PORT, Postgres
from tamis_producer import Batch, Client
from tamis_schemas import Filter

pytestmark = pytest.mark.chaos

CUTS = 5
MOST_CUTS = 12  # where none of them hit the results: other statements name the model, too
CAUGHT_WITHIN = 30.0  # s
REFUSED = "another claim replaced this one"  # or this one has its result already
StartWorker = Callable[..., WorkerProcess]


def reached(batch: Batch, decided: int) -> bool:
    return batch.status().counts.decided > decided


def test_results_whose_commit_was_not_confirmed_stand_once(
    client: Client, start_worker: StartWorker, double: Double, postgres: Postgres, faults: Faults
) -> None:
    """Results are written, and the reply is held; then every connection is cut."""
    double.script(latency=0.2)
    database = urlsplit(client.settings.database).path
    with TcpProxy(postgres.socket_folder / f".s.PGSQL.{PORT}") as proxy:
        through_proxy = f"postgresql+psycopg://postgres@127.0.0.1:{proxy.port}{database}"
        worker = start_worker(lease_seconds="2", sweep_interval="1", concurrency="16", database_url=through_proxy)
        # Without the cache an answer goes straight into its result: the write whose reply is lost here.
        batch = client.submit(Filter(criteria="Is this about oncology?"), abstracts(480), use_cache=False)
        cuts = 0
        while cuts < CUTS or (cuts < MOST_CUTS and not worker.text().count(REFUSED)):
            cuts += 1
            enough = batch.status().counts.decided + 20
            wait_until(partial(reached, batch, enough), within=60, what="items are decided")
            caught = proxy.hold_replies_to(b"double-1")  # the results name the model; each statement is a transaction
            assert caught.wait(CAUGHT_WITHIN)
            double.wait(in_flight=0)
            proxy.cut()
            proxy.let_go()
        assert batch.wait(timeout=90).decided == 480
        reckoning = reckon(client, batch, double)
    assert reckoning.extra_calls == 0
    written_twice = worker.text().count(REFUSED)
    assert written_twice > 0  # the faults hit what they were meant for
    faults.record(row=11, reckoning=reckoning, faults=cuts, note=f"{written_twice} results written again, and refused")
