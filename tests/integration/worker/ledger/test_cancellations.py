"""Single items are cancelled while their batch goes on: those that wait at once, others when they are given back."""

from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import BatchStatus, Filter, Provenance
from tamis_worker.ledger import recovery
from tamis_worker.ledger.cancellations import cancel_items, cancel_waiting, give_back
from tamis_worker.ledger.claims import Claim, ItemKey, claim
from tamis_worker.ledger.shards import Closing, close_shard


@pytest.fixture
def batch(client: Client) -> Batch:
    """60 items: shards of 50 and 10, both dispatched."""
    return client.submit(Filter(criteria="Is it?"), abstracts(60))


def keys(batch: Batch, *indexes: int) -> list[ItemKey]:
    return [ItemKey(UUID(batch.id), index) for index in indexes]


async def claimed(engine: AsyncEngine, batch: Batch, *indexes: int) -> list[Claim]:
    await recovery.renew_lease(engine, WorkerReport(id="w"), lease=30)
    granted = await claim(engine, keys(batch, *indexes), worker="w")
    return [one for one in granted if one is not None]


async def test_only_what_waits_is_cancelled_once_and_the_shard_closes_with_it(
    engine: AsyncEngine, batch: Batch
) -> None:
    await claimed(engine, batch, 50)
    tenth = keys(batch, *range(50, 60))
    assert list(await cancel_items(engine, [*tenth, *tenth[:1], *keys(batch, 99)])) == [
        False,
        *[True] * 9,
        False,
        False,
    ]
    assert list(await cancel_items(engine, tenth)) == [False] * 10
    counts = batch.status().counts
    assert (counts.cancelled, counts.running, counts.pending) == (9, 1, 50)
    assert counts.identity_holds
    assert await close_shard(engine, UUID(batch.id), 1, 1) is Closing.OPEN
    assert await cancel_waiting(engine, [UUID(batch.id), UUID(int=7)]) == 50
    assert await close_shard(engine, UUID(batch.id), 1, 0) is Closing.CLOSED


async def test_items_of_a_paused_batch_are_cancelled_and_those_of_an_ended_one_are_left_alone(
    engine: AsyncEngine, batch: Batch
) -> None:
    batch.pause()
    assert list(await cancel_items(engine, keys(batch, 3))) == [True]
    assert await cancel_waiting(engine, [UUID(batch.id)]) == 59
    assert [await close_shard(engine, UUID(batch.id), 1, shard) for shard in (0, 1)][-1] is Closing.COMPLETED
    assert batch.status().state is BatchStatus.COMPLETED
    assert await cancel_waiting(engine, [UUID(batch.id)]) == 0


async def test_what_is_given_back_as_cancelled_keeps_its_bill_and_needs_no_message(
    engine: AsyncEngine, batch: Batch
) -> None:
    claims = await claimed(engine, batch, 0, 1)
    paid = [Provenance(calls=1, cost=Decimal("0.25")), Provenance()]
    assert list(await give_back(engine, claims, paid, [], [True, False])) == [False, True]
    await give_back(engine, claims[:1], paid[:1], [], [True])  # written again after a lost reply
    counts = batch.status().counts
    assert (counts.cancelled, counts.pending, counts.running) == (1, 59, 0)
    async with engine.connect() as connection:
        bills = (await connection.execute(text("SELECT idx, calls, cost, value FROM results"))).all()
    assert [tuple(bill) for bill in bills] == [(0, 1, Decimal("0.25"), None)]


async def test_a_claim_that_others_have_taken_over_cancels_nothing(engine: AsyncEngine, batch: Batch) -> None:
    (old,) = await claimed(engine, batch, 0)
    await give_back(engine, [old])
    await claimed(engine, batch, 0)
    assert list(await give_back(engine, [old], [], [], [True])) == [False]
    assert batch.status().counts.running == 1
