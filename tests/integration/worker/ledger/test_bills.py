"""What an item cost, in the ledger: numbers of any size, summed over its rounds."""

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DataError
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import EvaluationResult, Filter, Provenance, Usage
from tamis_worker.ledger import recovery
from tamis_worker.ledger.answers import KeptAnswer, find_answers, keep_answers
from tamis_worker.ledger.claims import Claim, ItemKey, claim
from tamis_worker.ledger.connection import refusal_words
from tamis_worker.ledger.outcomes import ClaimOutcome, record, refused
from tamis_worker.ledger.shards import Closing, close_shard
from tamis_worker.llm.completion import MOST_TOKENS
from tamis_worker.operations import Decided

INT4 = 2**31 - 1
MOST = Usage(MOST_TOKENS, MOST_TOKENS, MOST_TOKENS // 2, MOST_TOKENS, MOST_TOKENS // 2)


@pytest.fixture
def batch(client: Client) -> Batch:
    return client.submit(Filter(criteria="Is it?"), abstracts(3))


async def claimed(engine: AsyncEngine, batch: Batch, index: int) -> Claim:
    await recovery.renew_lease(engine, WorkerReport(id="w"), lease=30)
    (granted,) = await claim(engine, [ItemKey(UUID(batch.id), index)], worker="w")
    assert granted is not None
    return granted


async def row(engine: AsyncEngine, index: int = 0) -> Any:
    async with engine.connect() as connection:
        found = await connection.execute(text("SELECT * FROM results WHERE idx = :idx"), {"idx": index})
        return found.one()


def decided(claim: Claim, **provenance: Any) -> ClaimOutcome:
    return ClaimOutcome(
        claim, Decided(EvaluationResult(value=True, confidence=0.9, reasoning="r")), Provenance(**provenance)
    )


async def test_everything_that_a_bill_is_made_of_is_kept(engine: AsyncEngine, batch: Batch) -> None:
    outcome = decided(
        await claimed(engine, batch, 0),
        usage=Usage(1000, 50, 600, 20, 300),
        cost=Decimal("0.25"),
        tier="flex",
        calls=3,
        unanswered=1,
        deviations=("a number as text: confidence", "one extra key\x00"),
    )
    assert await record(engine, [outcome]) == [True]
    kept = await row(engine)
    assert (kept.prompt_tokens, kept.completion_tokens, kept.cached_tokens) == (1000, 50, 600)
    assert (kept.cache_write_tokens, kept.reasoning_tokens, kept.tier) == (300, 20, "flex")
    assert (kept.calls, kept.unanswered) == (3, 1)
    assert kept.deviations == ["a number as text: confidence", "one extra key\ufffd"]


async def test_what_there_is_not_is_null_or_zero(engine: AsyncEngine, batch: Batch) -> None:
    await record(engine, [decided(await claimed(engine, batch, 0))])
    kept = await row(engine)
    assert (kept.tier, kept.deviations, kept.cache_write_tokens, kept.unanswered) == (None, None, 0, 0)


async def test_rounds_are_summed_and_the_last_one_tells_the_tier(engine: AsyncEngine, batch: Batch) -> None:
    for tier, together in (("flex", 1), ("default", 2), (None, 3)):
        async with engine.begin() as connection:
            await connection.execute(
                text("UPDATE item_states SET state = 'pending' WHERE idx = 0 AND state = 'failed'")
            )
        outcome = decided(
            await claimed(engine, batch, 0), usage=MOST, tier=tier, calls=INT4 + 5, unanswered=INT4, latency_ms=10**15
        )
        assert await record(engine, [refused(outcome, "of the test")[0]]) == [True]
        kept = await row(engine)
        assert kept.prompt_tokens == kept.completion_tokens == kept.reasoning_tokens == together * MOST_TOKENS
        assert kept.cached_tokens == kept.cache_write_tokens == together * MOST_TOKENS // 2
        assert (kept.calls, kept.unanswered, kept.latency_ms, kept.tier) == (INT4, INT4, INT4, tier)


async def test_the_largest_counts_add_up_in_the_summary(engine: AsyncEngine, batch: Batch) -> None:
    claims = [await claimed(engine, batch, index) for index in range(3)]
    await record(engine, [decided(one, usage=MOST, cost=Decimal("3e8"), calls=INT4) for one in claims])
    assert await close_shard(engine, UUID(batch.id), 1, 0) is Closing.COMPLETED
    summary = batch.summary()
    assert summary is not None
    assert (summary.prompt_tokens, summary.completion_tokens) == (3 * MOST_TOKENS, 3 * MOST_TOKENS)
    assert summary.calls == 3 * INT4


@pytest.mark.parametrize(
    ("provenance", "bill_is_held"),
    [
        ({"cost": Decimal("1e9")}, False),  # nine digits stand before the point
        ({"usage": Usage(2**63)}, False),
        ({"usage": Usage(5, 5), "cost": Decimal(1)}, True),
    ],
)
async def test_what_stands_in_the_place_of_a_refused_outcome_is_accepted(
    engine: AsyncEngine, batch: Batch, provenance: dict[str, Any], bill_is_held: bool
) -> None:
    outcome = decided(await claimed(engine, batch, 0), calls=2, **provenance)
    with_bill, without = refused(outcome, "numeric value out of range")
    if bill_is_held:
        assert await record(engine, [with_bill]) == [True]
        assert (await row(engine)).prompt_tokens == 5
    else:
        for poisoned in (outcome, with_bill):
            with pytest.raises(DataError) as raised:
                await record(engine, [poisoned])
            assert refusal_words(raised.value) == "numeric value out of range"
        assert await record(engine, [without]) == [True]
    kept = await row(engine)
    assert kept.error.startswith("the ledger cannot store this outcome: numeric value out of range")
    assert kept.error_kind == "internal"
    assert kept.calls == 2


async def test_an_answer_of_any_size_is_kept_with_counts_that_its_table_holds(engine: AsyncEngine) -> None:
    await keep_answers(engine, {"k": KeptAnswer("{}", "m", MOST_TOKENS, MOST_TOKENS)})
    assert await find_answers(engine, ["k"]) == {"k": KeptAnswer("{}", "m", INT4, INT4)}
