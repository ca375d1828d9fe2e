"""Who may take whom for dead: after an outage, in which nobody could renew, nobody is robbed of what was paid for.

Times are given to the ledger's rows; nobody waits for them.
"""

from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import EvaluationResult, Filter, Provenance
from tamis_worker.ledger import recovery
from tamis_worker.ledger.claims import Claim, ItemKey, claim
from tamis_worker.ledger.connection import transaction
from tamis_worker.ledger.outcomes import ClaimOutcome, record
from tamis_worker.operations import Decided

LEASE = 15.0


@pytest.fixture
def batch(client: Client) -> Batch:
    return client.submit(Filter(criteria="Is it?"), abstracts(3))


async def beat(engine: AsyncEngine, worker: str) -> None:
    await recovery.renew_lease(engine, WorkerReport(id=worker), lease=LEASE)


async def pass_time(engine: AsyncEngine, seconds: float) -> None:
    """All that the ledger knows of its workers lies so much further back."""
    async with engine.begin() as connection:
        await connection.execute(
            text(
                "UPDATE workers SET lease_until = lease_until - make_interval(secs => :s), "
                "judges_from = judges_from - make_interval(secs => :s), "
                "judges_until = judges_until - make_interval(secs => :s)"
            ),
            {"s": seconds},
        )


async def beat_for(engine: AsyncEngine, seconds: float, *workers: str) -> None:
    """They renew every third of a lease for so long, and now."""
    for _ in range(round(seconds / (LEASE / 3))):
        for worker in workers:
            await beat(engine, worker)
        await pass_time(engine, LEASE / 3)
    for worker in workers:
        await beat(engine, worker)


async def take(engine: AsyncEngine, batch: Batch, worker: str) -> Claim | None:
    (granted,) = await claim(engine, [ItemKey(UUID(batch.id), 0)], worker=worker)
    return granted


async def may_judge(engine: AsyncEngine, worker: str) -> bool:
    async with transaction(engine) as connection:
        return await recovery.may_judge(connection, worker)


@pytest.mark.parametrize(
    ("beaten", "silent", "judges"),
    [
        (0.0, 0.0, False),  # just born
        (10.0, 0.0, False),
        (15.0, 0.0, True),
        (15.0, 9.9, True),  # not for longer than two thirds of a lease: whoever lives has 10 s left at least
        (15.0, 10.1, False),
        (15.0, 60.0, False),
    ],
)
async def test_a_worker_judges_after_a_lease_without_a_gap(
    engine: AsyncEngine, beaten: float, silent: float, judges: bool
) -> None:
    await beat_for(engine, beaten, "w")
    await pass_time(engine, silent)
    assert await may_judge(engine, "w") is judges


async def test_after_a_gap_a_worker_judges_only_when_it_has_renewed_for_another_lease(engine: AsyncEngine) -> None:
    await beat_for(engine, 60, "w")
    await pass_time(engine, 120)
    await beat_for(engine, 10, "w")
    assert not await may_judge(engine, "w")
    await beat_for(engine, 5, "w")
    assert await may_judge(engine, "w")


async def test_somebody_unknown_judges_nobody(engine: AsyncEngine) -> None:
    assert not await may_judge(engine, "never seen")


async def test_a_worker_that_comes_back_first_takes_nothing_from_another_that_could_not_renew_either(
    engine: AsyncEngine, batch: Batch
) -> None:
    await beat_for(engine, 60, "slow", "fast")
    held = await take(engine, batch, "slow")
    assert held is not None
    await pass_time(engine, 120)  # the ledger was away
    await beat(engine, "fast")
    assert await take(engine, batch, "fast") is None
    outcome = ClaimOutcome(held, Decided(EvaluationResult(value=True, confidence=0.9)), Provenance())
    assert await record(engine, [outcome]) == [True]  # paid for before, written after


async def test_whoever_does_not_come_back_within_a_lease_is_taken_for_dead(engine: AsyncEngine, batch: Batch) -> None:
    await beat_for(engine, 60, "dead", "living")
    assert await take(engine, batch, "dead") is not None
    await pass_time(engine, 120)
    await beat_for(engine, LEASE, "living")
    assert await take(engine, batch, "living") is not None


async def test_a_worker_that_said_farewell_needs_no_judge(engine: AsyncEngine, batch: Batch) -> None:
    await beat(engine, "leaving")
    assert await take(engine, batch, "leaving") is not None
    await recovery.end_lease(engine, worker="leaving")
    await beat(engine, "new")
    assert await take(engine, batch, "new") is not None
