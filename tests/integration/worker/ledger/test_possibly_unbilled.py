"""What may have been paid for and is in no bill: which claims count as lost, and what every reader is told of it."""

from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_review.report.reading import find_subject, read_figures, snapshot
from tamis_schemas import ErrorKind, EvaluationResult, Filter, Provenance, Usage
from tamis_worker.ledger import recovery
from tamis_worker.ledger.cancellations import give_back
from tamis_worker.ledger.claims import Claim, ItemKey, claim
from tamis_worker.ledger.connection import transaction
from tamis_worker.ledger.outcomes import ClaimOutcome, record
from tamis_worker.ledger.shards import close_cancelled, close_shard
from tamis_worker.operations import Decided, Failure


@pytest.fixture
def batch(client: Client) -> Batch:
    return client.submit(Filter(criteria="Is it?"), abstracts(6))


def keys(batch: Batch, *indexes: int) -> list[ItemKey]:
    return [ItemKey(UUID(batch.id), index) for index in indexes]


async def claimed(engine: AsyncEngine, batch: Batch, *indexes: int, worker: str) -> list[Claim]:
    await recovery.renew_lease(engine, WorkerReport(id=worker), lease=30)
    granted = await claim(engine, keys(batch, *indexes), worker=worker)
    return [one for one in granted if one is not None]


async def dies(engine: AsyncEngine, worker: str) -> None:
    async with engine.begin() as connection:
        await connection.execute(text("DELETE FROM workers WHERE id = :id"), {"id": worker})


async def swept(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        await recovery.give_up_poison(connection, max_claims=3)
        await recovery.release_dead(connection)


async def lost_claims(engine: AsyncEngine) -> list[int]:
    async with engine.begin() as connection:
        found = await connection.execute(text("SELECT lost_claims FROM items ORDER BY idx"))
        return list(found.scalars())


async def test_a_claim_taken_over_from_a_dead_worker_is_lost_and_a_first_one_is_not(
    engine: AsyncEngine, batch: Batch
) -> None:
    await claimed(engine, batch, 0, 1, worker="first")
    assert await lost_claims(engine) == [0] * 6
    await dies(engine, "first")
    assert len(await claimed(engine, batch, 1, 2, worker="second")) == 2
    assert await lost_claims(engine) == [0, 1, 0, 0, 0, 0]


async def test_a_claim_that_the_reconciler_takes_back_is_lost_once(engine: AsyncEngine, batch: Batch) -> None:
    await claimed(engine, batch, 0, worker="first")
    await dies(engine, "first")
    await swept(engine)
    await swept(engine)
    assert (await lost_claims(engine))[0] == 1
    await claimed(engine, batch, 0, worker="second")
    assert (await lost_claims(engine))[0] == 1


async def test_an_item_given_up_has_lost_every_claim_of_it(engine: AsyncEngine, batch: Batch) -> None:
    for worker in ("first", "second", "third"):
        assert await claimed(engine, batch, 0, worker=worker)
        await dies(engine, worker)
        await swept(engine)
    assert batch.status().counts.failed == 1
    assert (await lost_claims(engine))[0] == 3
    assert batch.status().lost_claims == 3


async def test_an_item_given_up_while_it_is_pending_has_lost_no_claim_more(engine: AsyncEngine, batch: Batch) -> None:
    for worker in ("first", "second", "third"):
        assert await claimed(engine, batch, 0, worker=worker)
        await dies(engine, worker)
        async with transaction(engine) as connection:
            await recovery.release_dead(connection)
    await swept(engine)
    assert batch.status().counts.failed == 1
    assert (await lost_claims(engine))[0] == 3


async def test_what_is_given_back_or_claimed_again_in_doubt_is_not_lost(engine: AsyncEngine, batch: Batch) -> None:
    back = await claimed(engine, batch, 0, worker="first")
    await give_back(engine, back)
    await claimed(engine, batch, 0, 1, worker="first")
    in_doubt = keys(batch, 1)
    again = await claim(engine, in_doubt, worker="first", in_doubt=in_doubt)
    assert again[0] is not None
    batch.pause()
    batch.resume()
    assert await lost_claims(engine) == [0] * 6
    assert (batch.status().possibly_unbilled, batch.status().unbilled_words) == (0, None)


async def test_a_living_workers_claim_is_not_lost(engine: AsyncEngine, batch: Batch) -> None:
    await claimed(engine, batch, 0, worker="first")
    await claimed(engine, batch, 0, worker="second")
    await swept(engine)
    assert await lost_claims(engine) == [0] * 6


def outcome(one: Claim, cost: str | None, *, calls: int = 1, failed: bool = False) -> ClaimOutcome:
    paid = Provenance(
        model="m", usage=Usage(100, 20, 60, 5), cost=None if cost is None else Decimal(cost), calls=calls
    )  # fmt: skip
    ended = Failure(ErrorKind.TIMEOUT, "late") if failed else Decided(EvaluationResult(value=True, confidence=0.9))
    return ClaimOutcome(one, ended, paid)


async def test_everybody_is_told_what_the_cost_may_lack(engine: AsyncEngine, client: Client, batch: Batch) -> None:
    await claimed(engine, batch, 0, 1, worker="first")
    await dies(engine, "first")
    held = await claimed(engine, batch, *range(6), worker="second")
    costs = ["0.01", "0.02", "0.06", "0", None, "0"]  # 3: from the cache; 4: no price; 5: two calls without an answer
    calls = [1, 1, 1, 0, 1, 2]
    await record(
        engine,
        [
            outcome(one, cost, calls=n, failed=place == 5)
            for place, (one, cost, n) in enumerate(zip(held, costs, calls, strict=True))
        ],
    )
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE results SET unanswered = 2 WHERE idx = 5"))
        await connection.execute(text("UPDATE results SET tier = 'flex', cache_write_tokens = 40 WHERE idx < 3"))
    # 2 calls and 2 claims, each at the mean of what was paid for: 4 x (0.01 + 0.02 + 0.06) / 3 = 0.12
    words = "up to about $0.12 (2 calls with an unknown end, 2 claims whose worker died)"
    view = batch.status()
    assert (view.unanswered, view.lost_claims, view.possibly_unbilled) == (2, 2, 4)
    assert (view.possibly_unbilled_cost, view.unbilled_words) == (Decimal("0.12"), words)

    await close_shard(engine, UUID(batch.id), 1, 0)
    summary = batch.summary()
    assert summary is not None
    assert (summary.possibly_unbilled, summary.possibly_unbilled_cost) == (4, Decimal("0.12"))
    assert summary.unbilled_words == words
    assert (summary.cache_write_tokens, summary.tiers, summary.cost) == (120, {"flex": 3}, Decimal("0.09"))
    rows = list(batch.results())
    assert [row.provenance.tier for row in rows if row.provenance] == ["flex"] * 3 + [None] * 3
    last = rows[5].provenance
    assert last is not None
    assert (last.unanswered, last.usage) == (2, Usage(100, 20, 60, 5, 0))
    with snapshot(client.engine) as connection:
        spending = read_figures(connection, find_subject(connection, batch.id)).spending
    assert spending.unbilled_words == words


async def test_without_a_known_price_there_is_no_estimate_and_what_is_free_is_estimated_at_nothing(
    engine: AsyncEngine, batch: Batch
) -> None:
    await claimed(engine, batch, 0, worker="first")
    await dies(engine, "first")
    first, second, third = await claimed(engine, batch, 0, 1, 2, worker="second")
    await record(engine, [outcome(first, None), outcome(second, "0", calls=0)])
    view = batch.status()
    assert view.possibly_unbilled_cost is None
    assert view.unbilled_words == "price not known (1 claim whose worker died)"
    await record(engine, [outcome(third, "0")])
    assert batch.status().possibly_unbilled_cost == 0


def bill(cost: str | None, calls: int = 1, unanswered: int = 0) -> Provenance:
    known = None if cost is None else Decimal(cost)
    return Provenance(model="m", usage=Usage(100, 20, 60, 5, 10), cost=known, calls=calls, unanswered=unanswered)


async def test_what_was_paid_before_a_claim_was_given_back_stays_in_the_bill(engine: AsyncEngine, batch: Batch) -> None:
    """A call that was answered before its batch was paused, or its worker stopped, is paid for all the same."""
    first, free = await claimed(engine, batch, 0, 1, worker="first")
    await give_back(engine, [first, free], [bill("0.01", 2, 1), Provenance(cost=Decimal(0))])
    await give_back(engine, [first], [bill("0.01", 2, 1)])  # written again after a lost reply
    view = batch.status()
    assert (view.counts.pending, view.cost, view.unanswered, view.ended_in_round) == (6, Decimal("0.01"), 1, 0)
    row = next(batch.results())
    assert (row.status, row.result, row.value, row.cost) == ("pending", None, None, Decimal("0.01"))
    again = await claimed(engine, batch, 0, worker="second")
    await give_back(engine, again, [bill("0.02")])
    last = await claimed(engine, batch, *range(6), worker="second")
    await record(engine, [outcome(one, "0.04") for one in last])
    await close_shard(engine, UUID(batch.id), 1, 0)
    summary = batch.summary()
    assert summary is not None
    assert summary.cost == Decimal("0.27")  # 0.01 + 0.02 + 6 x 0.04
    assert (summary.calls, summary.unanswered, summary.lost_claims) == (9, 1, 0)
    assert (summary.prompt_tokens, summary.cache_write_tokens) == (800, 20)
    assert (summary.counts.decided, summary.cached, summary.models) == (6, 0, {"m": 6})


async def test_of_a_claim_that_others_took_over_no_bill_is_noted_and_it_counts_as_lost(
    engine: AsyncEngine, batch: Batch
) -> None:
    old = await claimed(engine, batch, 0, worker="first")
    await dies(engine, "first")
    await claimed(engine, batch, 0, worker="second")
    await give_back(engine, old, [bill("0.01")])
    view = batch.status()
    assert (view.cost, view.lost_claims, view.counts.running) == (0, 1, 1)


async def test_a_bill_without_a_result_is_no_answer_of_a_cancelled_batch(engine: AsyncEngine, batch: Batch) -> None:
    held = await claimed(engine, batch, 0, worker="first")
    batch.cancel()
    await give_back(engine, held, [bill(None)])
    assert await close_cancelled(engine, UUID(batch.id))
    summary = batch.summary()
    assert summary is not None
    assert (summary.counts.cancelled, summary.values, summary.errors, summary.models) == (6, {}, {}, {})
    assert (summary.calls, summary.unpriced, summary.confidence.mean) == (1, 1, None)
    assert sum(summary.confidence.bands.values()) == 0
