"""What becomes of claims when their batch is paused or cancelled, and who writes a cancelled batch's summary."""

import asyncio
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import (
    BatchStatus,
    EvaluationResult,
    Filter,
    Pause,
    PauseKind,
    Priority,
    Provenance,
)
from tamis_worker.ledger import recovery
from tamis_worker.ledger.batches import pause_batch, running_batches
from tamis_worker.ledger.cancellations import give_back
from tamis_worker.ledger.claims import Claim, ItemKey, claim
from tamis_worker.ledger.connection import transaction
from tamis_worker.ledger.outcomes import ClaimOutcome, record
from tamis_worker.ledger.shards import Closing, close_cancelled, close_shard
from tamis_worker.operations import Decided

BAD_KEY = Pause(kind=PauseKind.AUTHENTICATION, message="401: no such key")
BOUND = 10.0  # s


@pytest.fixture
def batch(client: Client) -> Batch:
    """120 items: shards of 50, 50 and 20, of which two are dispatched."""
    return client.submit(Filter(criteria="Is it?"), abstracts(120))


async def claimed(engine: AsyncEngine, batch: Batch, *indexes: int) -> list[Claim]:
    await recovery.renew_lease(engine, WorkerReport(id="w"), lease=30)
    keys = [ItemKey(UUID(batch.id), index) for index in indexes]
    return [one for one in await claim(engine, keys, worker="w") if one is not None]


def decided(claim: Claim) -> ClaimOutcome:
    return ClaimOutcome(claim, Decided(EvaluationResult(value=True, confidence=0.9)), Provenance(calls=1))


async def count(engine: AsyncEngine, statement: str) -> int:
    async with engine.connect() as connection:
        return int((await connection.execute(text(statement))).scalar_one())


async def test_a_worker_pauses_a_batch_that_runs_once(engine: AsyncEngine, batch: Batch) -> None:
    tries = await asyncio.gather(*(pause_batch(engine, UUID(batch.id), BAD_KEY) for _ in range(5)))
    assert sorted(tries) == [False] * 4 + [True]
    view = batch.status()
    assert (view.state, view.pause) == (BatchStatus.PAUSED, BAD_KEY)


async def test_a_worker_does_not_pause_what_does_not_run(engine: AsyncEngine, batch: Batch) -> None:
    batch.cancel()
    assert not await pause_batch(engine, UUID(batch.id), BAD_KEY)
    assert batch.status().state is BatchStatus.CANCELLED


async def test_batches_that_do_not_run_are_told_from_those_that_do(
    engine: AsyncEngine, client: Client, batch: Batch
) -> None:
    paused, cancelled = (client.submit(Filter(criteria="Is it?"), abstracts(1)) for _ in range(2))
    paused.pause()
    cancelled.cancel()
    gone = UUID(int=7)
    ids = [UUID(one.id) for one in (batch, paused, cancelled)]
    assert dict(await running_batches(engine, [*ids, gone])) == {ids[0]: Priority.NORMAL}


async def test_what_is_given_back_in_a_running_batch_needs_a_new_message(engine: AsyncEngine, batch: Batch) -> None:
    assert list(await give_back(engine, await claimed(engine, batch, 0, 1))) == [True, True]
    assert await count(engine, "SELECT sum(attempts) FROM items") == 0
    assert batch.status().counts.pending == 120


async def test_what_is_given_back_in_a_paused_batch_is_pending_and_needs_no_message(
    engine: AsyncEngine, batch: Batch
) -> None:
    claims = await claimed(engine, batch, 0, 1)
    batch.pause()
    assert list(await give_back(engine, claims)) == [False, False]
    assert batch.status().counts.pending == 120


async def test_what_is_given_back_in_a_cancelled_batch_is_cancelled(engine: AsyncEngine, batch: Batch) -> None:
    claims = await claimed(engine, batch, 0, 1)
    batch.cancel()
    assert list(await give_back(engine, claims)) == [False, False]
    assert batch.status().counts.cancelled == 120


async def test_what_is_given_back_while_its_batch_is_resumed_gets_a_message_from_one_of_the_two(
    engine: AsyncEngine, batch: Batch
) -> None:
    """Else it would be given back as an item of a paused batch after the resume has looked for such items."""
    claims = await claimed(engine, batch, 0)
    batch.pause()
    async with engine.connect() as resuming:
        await resuming.execute(text("UPDATE batches SET state = 'running'"))
        given_back = asyncio.create_task(give_back(engine, claims))
        await asyncio.wait([given_back], timeout=0.3)
        assert not given_back.done()
        await resuming.commit()
    assert list(await asyncio.wait_for(given_back, BOUND)) == [True]


async def test_a_claim_of_a_dead_worker_is_pending_in_a_paused_batch_and_cancelled_in_a_cancelled_one(
    engine: AsyncEngine, client: Client, batch: Batch
) -> None:
    other = client.submit(Filter(criteria="Is it?"), abstracts(3))
    await claimed(engine, batch, 0)
    await claimed(engine, other, 0)
    batch.pause()
    other.cancel()
    await recovery.end_lease(engine, worker="w")
    async with transaction(engine) as connection:
        assert await recovery.release_dead(connection) == []
    assert batch.status().counts.pending == 120
    assert other.status().counts.cancelled == 3


async def test_a_result_of_a_call_that_was_in_flight_is_kept(engine: AsyncEngine, batch: Batch) -> None:
    first, second = await claimed(engine, batch, 0, 1)
    batch.pause()
    assert await record(engine, [decided(first)]) == [True]
    batch.cancel()
    assert await record(engine, [decided(second)]) == [True]
    counts = batch.status().counts
    assert (counts.decided, counts.cancelled) == (2, 118)


async def test_a_cancelled_batch_is_summarised_once_when_its_last_call_has_ended(
    engine: AsyncEngine, batch: Batch
) -> None:
    (claim,) = await claimed(engine, batch, 0)
    batch.cancel()
    batch_id = UUID(batch.id)
    assert not await close_cancelled(engine, batch_id)
    assert batch.summary() is None
    await record(engine, [decided(claim)])
    closings = await asyncio.gather(*(close_cancelled(engine, batch_id) for _ in range(6)))
    assert sorted(closings) == [False] * 5 + [True]
    assert await count(engine, "SELECT count(*) FROM summaries") == 1
    summary = batch.summary()
    assert summary is not None
    assert summary.counts.identity_holds
    assert (summary.counts.decided, summary.counts.cancelled) == (1, 119)
    assert batch.status().finished_at == summary.finished_at


async def test_the_message_of_a_shard_summarises_a_cancelled_batch_too(engine: AsyncEngine, batch: Batch) -> None:
    (claim,) = await claimed(engine, batch, 99)
    batch.cancel()
    assert await close_shard(engine, UUID(batch.id), 1, 0) is Closing.OPEN  # its own items are ended, another's are not
    await record(engine, [decided(claim)])
    assert await close_shard(engine, UUID(batch.id), 1, 0) is Closing.COMPLETED
    before = batch.summary()
    assert before is not None
    assert await close_shard(engine, UUID(batch.id), 1, 1) is Closing.COMPLETED
    assert batch.summary() == before
    assert await count(engine, "SELECT count(*) FROM shards WHERE state <> 'aggregated'") == 0


async def test_a_cancelled_batch_without_a_summary_is_found(engine: AsyncEngine, batch: Batch) -> None:
    async def found() -> list[UUID]:
        async with transaction(engine) as connection:
            return list(await recovery.find_unfinished(connection))

    (claim,) = await claimed(engine, batch, 0)
    assert await found() == []
    batch.cancel()
    assert await found() == []
    await give_back(engine, [claim])
    assert await found() == [UUID(batch.id)]
    assert await close_cancelled(engine, UUID(batch.id))
    assert await found() == []


async def test_a_batch_cancelled_before_its_first_dispatch_took_no_time(engine: AsyncEngine, client: Client) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(2))
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE batches SET started_at = NULL"))
    batch.cancel()
    assert await close_cancelled(engine, UUID(batch.id))
    summary = batch.summary()
    assert summary is not None
    assert (summary.counts.cancelled, summary.wall_seconds) == (2, 0.0)


async def test_a_paused_batch_whose_last_calls_end_is_completed(engine: AsyncEngine, client: Client) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(2))
    claims = await claimed(engine, batch, 0, 1)
    await pause_batch(engine, UUID(batch.id), BAD_KEY)
    await record(engine, [decided(one) for one in claims])
    assert await close_shard(engine, UUID(batch.id), 1, 0) is Closing.COMPLETED
    view = batch.status()
    assert (view.state, view.pause) == (BatchStatus.COMPLETED, None)
