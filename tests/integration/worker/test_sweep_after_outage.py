"""Sweeps after an outage of the ledger, and during one of the broker."""

from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_producer.runs.workers import read_repairs
from tamis_producer.transport.broker import make_app, queue_depths
from tamis_producer.transport.dispatch import Dispatcher
from tamis_schemas import Filter
from tamis_worker.engine.backpressure import Backpressure
from tamis_worker.ledger import recovery
from tamis_worker.ledger.claims import ItemKey, claim
from tamis_worker.ledger.connection import connect
from tamis_worker.maintenance.reconciler import Reconciler

LEASE = 15.0


async def all_of_it_was_earlier(engine: AsyncEngine, seconds: float) -> None:
    columns = ", ".join(
        f"{name} = {name} - make_interval(secs => {seconds})" for name in ("lease_until", "judges_from", "judges_until")
    )
    async with engine.begin() as connection:
        await connection.execute(text(f"UPDATE workers SET {columns}"))


@pytest.mark.parametrize("max_claims", [5, 1], ids=["given back", "given up as poison"])
async def test_claims_are_taken_back_only_by_a_worker_that_was_there_for_a_lease(
    client: Client, database_url: str, max_claims: int
) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(3))
    engine = connect(database_url)
    app = make_app(client.settings)
    sweeper = Reconciler(
        engine,
        client.engine,
        app,
        Dispatcher(client.engine, app),
        worker="sweeper",
        grace=LEASE,
        max_claims=max_claims,
        backpressure=Backpressure(),
    )
    for worker in ("sweeper", "other"):
        await recovery.renew_lease(engine, WorkerReport(id=worker), lease=LEASE)
    await claim(engine, [ItemKey(UUID(batch.id), 0)], worker="other")
    await all_of_it_was_earlier(engine, 120)  # the ledger was away
    await recovery.renew_lease(engine, WorkerReport(id="sweeper"), lease=LEASE)
    swept = await sweeper.sweep()
    assert (swept.released, swept.given_up) == (0, 0)
    for _ in range(3):
        await all_of_it_was_earlier(engine, LEASE / 3)
        await recovery.renew_lease(engine, WorkerReport(id="sweeper"), lease=LEASE)
    swept = await sweeper.sweep()
    assert (swept.released, swept.given_up) == ((1, 0) if max_claims > 1 else (0, 1))
    # The three messages of the submission, and another one for the item that is given back.
    assert sum(queue_depths(app).values()) == (4 if max_claims > 1 else 3)
    assert {one.kind: one.total for one in read_repairs(client.engine)} == {
        "released" if max_claims > 1 else "given_up": 1
    }
    await engine.dispose()
    app.close()


async def test_what_postgres_alone_can_end_is_ended_while_redis_is_away(client: Client, database_url: str) -> None:
    ended, cancelled, open_ = (client.submit(Filter(criteria="Is it?"), abstracts(3)) for _ in range(3))
    engine = connect(database_url)
    app = make_app(client.settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"}))  # nothing listens there
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
    async with engine.begin() as connection:
        await connection.execute(
            text("UPDATE item_states SET state = 'cancelled' WHERE batch_id = :id"), {"id": ended.id}
        )
    cancelled.cancel()
    swept = await sweeper.sweep()
    assert (swept.closed, swept.lost, swept.dispatched) == (2, 0, 0)
    assert [batch.status().finished_at is not None for batch in (ended, cancelled, open_)] == [True, True, False]
    await engine.dispose()
    app.close()
