"""Later rounds in the worker's statements: what an earlier round left running closes and counts nothing in them."""

from collections.abc import Sequence
from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import BatchStatus, ErrorKind, EvaluationResult, Filter, Provenance, Usage
from tamis_worker.ledger import recovery
from tamis_worker.ledger.claims import Claim, ItemKey, claim
from tamis_worker.ledger.connection import transaction
from tamis_worker.ledger.outcomes import ClaimOutcome, record
from tamis_worker.ledger.shards import Closing, close_cancelled, close_shard
from tamis_worker.operations import Decided, Failure

PAID = Provenance(
    model="m", usage=Usage(prompt_tokens=100, completion_tokens=20), cost=Decimal("0.01"), calls=2, latency_ms=250
)
FROM_CACHE = Provenance(model="m", usage=Usage(), cost=Decimal(0), calls=0, cached=True)
FAILED = (2, 11, 19)


async def claimed(engine: AsyncEngine, batch: Batch, *indexes: int, worker: str = "w") -> list[Claim]:
    await recovery.renew_lease(engine, WorkerReport(id=worker), lease=30)
    keys = [ItemKey(UUID(batch.id), index) for index in indexes]
    granted = await claim(engine, keys, worker=worker)
    return [one for one in granted if one is not None]


def decided(claim: Claim, provenance: Provenance = PAID) -> ClaimOutcome:
    return ClaimOutcome(claim, Decided(EvaluationResult(value=True, confidence=0.9)), provenance)


def failed(claim: Claim, provenance: Provenance = PAID) -> ClaimOutcome:
    return ClaimOutcome(claim, Failure(ErrorKind.TIMEOUT, "no answer in time"), provenance)


async def finish(engine: AsyncEngine, batch: Batch, round_: int, shards: Sequence[int]) -> Closing:
    closing = Closing.OPEN
    for shard in shards:
        closing = await close_shard(engine, UUID(batch.id), round_, shard)
    return closing


@pytest.fixture
async def batch(client: Client, engine: AsyncEngine) -> Batch:
    """20 items in shards of 10, completed: three failed."""
    batch = client.submit(Filter(criteria="Is it?"), abstracts(20), shard_size=10)
    claims = await claimed(engine, batch, *range(20))
    await record(engine, [(failed if one.key.index in FAILED else decided)(one) for one in claims])
    assert await finish(engine, batch, 1, [0, 1]) is Closing.COMPLETED
    return batch


async def test_a_round_is_closed_by_its_own_shards_and_each_round_has_one_summary(
    engine: AsyncEngine, batch: Batch
) -> None:
    batch.retry()
    first, second, third = await claimed(engine, batch, *FAILED)
    assert await close_shard(engine, UUID(batch.id), 2, 0) is Closing.OPEN
    await record(engine, [decided(first), failed(second), decided(third)])
    assert await close_shard(engine, UUID(batch.id), 2, 0) is Closing.COMPLETED
    before, after = batch.summaries()
    assert (before.round, before.counts.failed, before.errors) == (1, 3, {ErrorKind.TIMEOUT: 3})
    assert (after.round, after.counts.failed, after.errors) == (2, 1, {ErrorKind.TIMEOUT: 1})
    assert batch.summary() == batch.summary(2) == after
    assert batch.summary(1) == before
    assert batch.summary(3) is None
    # 20 items of two calls, and three of them once more
    assert (after.calls, after.cost) == (46, Decimal("0.23"))
    assert after.wall_seconds <= before.wall_seconds + 60


async def test_what_an_earlier_round_left_behind_closes_nothing_of_the_next(engine: AsyncEngine, batch: Batch) -> None:
    batch.retry()
    for _ in range(3):  # aggregates of the first round, however late and however often
        assert await finish(engine, batch, 1, [0, 1]) is Closing.CLOSED
    view = batch.status()
    assert (view.state, view.round, view.counts.pending) == (BatchStatus.RUNNING, 2, 3)
    assert len(batch.summaries()) == 1


async def test_a_claim_of_an_earlier_round_writes_nothing_in_the_next(client: Client, engine: AsyncEngine) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(3))
    stale = await claimed(engine, batch, 0, 1, 2, worker="asleep")
    await recovery.end_lease(engine, worker="asleep")
    async with transaction(engine) as connection:
        assert await recovery.give_up_poison(connection, max_claims=1) == 3
    assert await finish(engine, batch, 1, [0]) is Closing.COMPLETED
    batch.retry()
    assert await record(engine, [decided(one) for one in stale]) == [False] * 3  # pending: nobody holds a claim
    (now, *_) = await claimed(engine, batch, 0)
    assert await record(engine, [decided(stale[0])]) == [False]
    assert await record(engine, [decided(now)]) == [True]
    assert [row.status for row in batch.results()] == ["decided", "pending", "pending"]


async def test_the_bill_is_that_of_all_rounds(engine: AsyncEngine, batch: Batch) -> None:
    batch.retry()
    first, second, third = await claimed(engine, batch, *FAILED)
    await record(engine, [decided(first), decided(second, FROM_CACHE), failed(third, Provenance(calls=0))])
    bills = {row.index: row.provenance for row in batch.results() if row.index in FAILED}
    assert all(bill is not None for bill in bills.values())
    # paid twice; paid once, and answered from the cache; paid once, and failed before any call
    assert [bill.cost for bill in bills.values() if bill] == [Decimal("0.02"), Decimal("0.01"), Decimal("0.01")]
    assert [bill.calls for bill in bills.values() if bill] == [4, 2, 2]
    assert [bill.cached for bill in bills.values() if bill] == [False, False, False]


async def test_what_was_given_up_without_a_known_call_has_the_cost_of_the_round_that_decides_it(
    client: Client, engine: AsyncEngine
) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(1))
    await claimed(engine, batch, 0, worker="dead")
    await recovery.end_lease(engine, worker="dead")
    async with transaction(engine) as connection:
        await recovery.give_up_poison(connection, max_claims=1)
    await finish(engine, batch, 1, [0])
    batch.retry()
    await record(engine, [decided(one) for one in await claimed(engine, batch, 0)])
    view = batch.status()
    assert (view.cost, view.unpriced) == (Decimal("0.01"), 0)


async def test_a_batch_cancelled_in_a_later_round_counts_the_failures_that_stand(
    engine: AsyncEngine, batch: Batch
) -> None:
    batch.retry()
    (one,) = await claimed(engine, batch, FAILED[0])
    await record(engine, [failed(one)])
    batch.cancel()
    assert await close_cancelled(engine, UUID(batch.id))
    summary = batch.summary(2)
    assert summary is not None
    assert (summary.counts.failed, summary.counts.cancelled) == (1, 2)
    assert summary.errors == {ErrorKind.TIMEOUT: 1}
    assert summary.cost == Decimal("0.21")


async def test_the_reconciler_finds_an_undispatched_and_an_unclosed_round(engine: AsyncEngine, batch: Batch) -> None:
    batch.retry()
    async with engine.begin() as connection:  # killed between the ledger and the broker
        await connection.execute(text("UPDATE shards SET state = 'waiting', dispatched_at = NULL WHERE round = 2"))
    async with transaction(engine) as connection:
        assert await recovery.find_undispatched(connection, grace=0) == [UUID(batch.id)]
        assert await recovery.find_lost(connection, grace=0, empty=[]) == []
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE shards SET state = 'dispatched', dispatched_at = now() WHERE round = 2"))
    await record(engine, [decided(one) for one in await claimed(engine, batch, *FAILED)])
    async with transaction(engine) as connection:
        (unclosed,) = await recovery.find_unclosed(connection, grace=0)
    assert (unclosed.round, unclosed.shard) == (2, 0)
