"""The worker's statements on a real Postgres: claims, fences, results, and the closing of shards."""

import asyncio
from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import (
    BatchStatus,
    ErrorKind,
    EvaluationResult,
    Filter,
    LedgerUnavailable,
    Provenance,
    Usage,
)
from tamis_worker.ledger import claims as claims_module
from tamis_worker.ledger import recovery
from tamis_worker.ledger.claims import Claim, ClaimRefusal, Claims, ItemKey, cancelled, claim, lost
from tamis_worker.ledger.outcomes import ClaimOutcome, record
from tamis_worker.ledger.shards import Closing, close_shard
from tamis_worker.operations import Decided, Failure


@pytest.fixture
def batch(client: Client) -> Batch:
    """120 items: shards of 50, 50 and 20, of which two are dispatched."""
    return client.submit(Filter(criteria="Is it?"), abstracts(120))


def key(batch: Batch, index: int) -> ItemKey:
    return ItemKey(UUID(batch.id), index)


async def claimed(engine: AsyncEngine, batch: Batch, *indexes: int, worker: str = "w1") -> list[Claim]:
    await recovery.renew_lease(engine, WorkerReport(id=worker), lease=30)
    granted = await claim(engine, [key(batch, i) for i in indexes], worker=worker)
    return [one for one in granted if one is not None]


def decided(claim: Claim, value: bool = True, confidence: float = 0.9) -> ClaimOutcome:
    result = EvaluationResult(value=value, confidence=confidence, reasoning="r")
    usage = Usage(prompt_tokens=100, completion_tokens=20)
    return ClaimOutcome(claim, Decided(result), Provenance(model="m", usage=usage, calls=1, latency_ms=250))


async def test_an_item_is_claimed_once(engine: AsyncEngine, batch: Batch) -> None:
    first = await claim(engine, [key(batch, 0)] * 3, worker="w1")
    assert [granted is not None for granted in first] == [True, False, False]
    await recovery.renew_lease(engine, WorkerReport(id="w1"), lease=30)
    assert await claim(engine, [key(batch, 0)], worker="w2") == [None]


async def test_of_many_claims_at_once_one_is_granted(engine: AsyncEngine, batch: Batch) -> None:
    await recovery.renew_lease(engine, WorkerReport(id="w"), lease=30)
    replies = await asyncio.gather(*(claim(engine, [key(batch, 5)], worker="w") for _ in range(6)))
    assert sum(reply[0] is not None for reply in replies) == 1


async def test_a_worker_learns_which_of_its_items_others_have_taken(engine: AsyncEngine, batch: Batch) -> None:
    mine = await claimed(engine, batch, 0, 1, 2)
    assert await lost(engine, [one.key for one in mine], worker="w1") == []
    await record(engine, [decided(mine[2])])
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE item_states SET worker = 'w2' WHERE idx = 1"))
    assert set(await lost(engine, [one.key for one in mine], worker="w1")) == {key(batch, 1), key(batch, 2)}
    assert await lost(engine, [], worker="w1") == []


async def test_the_claim_of_a_worker_without_a_lease_can_be_taken(engine: AsyncEngine, batch: Batch) -> None:
    (old,) = await claimed(engine, batch, 0)
    await recovery.end_lease(engine, worker="w1")
    (new,) = await claimed(engine, batch, 0, worker="w2")
    assert new.fence == old.fence + 1


async def test_a_result_under_a_stale_fence_is_not_accepted(engine: AsyncEngine, batch: Batch) -> None:
    (old,) = await claimed(engine, batch, 0)
    await recovery.end_lease(engine, worker="w1")
    (new,) = await claimed(engine, batch, 0, worker="w2")
    assert await record(engine, [decided(old, value=False)]) == [False]
    assert await record(engine, [decided(new, value=True)]) == [True]
    row = next(batch.results())
    assert row.result is not None
    assert row.result.value is True


async def test_recording_twice_after_a_lost_reply_leaves_one_row(engine: AsyncEngine, batch: Batch) -> None:
    claims = await claimed(engine, batch, 0, 1)
    outcomes = [decided(one) for one in claims]
    assert await record(engine, outcomes) == [True, True]
    assert await record(engine, outcomes) == [False, False]
    async with engine.connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM results"))).scalar_one() == 2


async def test_items_of_a_paused_batch_are_not_claimed(engine: AsyncEngine, batch: Batch) -> None:
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE batches SET state = 'paused'"))
    assert await claimed(engine, batch, 0) == []


async def test_what_postgres_cannot_hold_is_replaced_and_not_lost(engine: AsyncEngine, batch: Batch) -> None:
    (one,) = await claimed(engine, batch, 0)
    result = EvaluationResult(value=True, confidence=1.0, reasoning="a\x00b\ud800c")
    assert await record(engine, [ClaimOutcome(one, Decided(result), Provenance())]) == [True]
    row = next(batch.results())
    assert row.result is not None
    assert row.result.reasoning == "a\ufffdb\ufffdc"


async def test_a_shard_closes_when_its_last_item_is_terminal(engine: AsyncEngine, batch: Batch) -> None:
    claims = await claimed(engine, batch, *range(50))
    await record(engine, [decided(one) for one in claims[:-1]])
    assert await close_shard(engine, UUID(batch.id), 1, 0) is Closing.OPEN
    failure = Failure(ErrorKind.TIMEOUT, "took too long")
    await record(engine, [ClaimOutcome(claims[-1], failure, Provenance(calls=3))])
    assert await close_shard(engine, UUID(batch.id), 1, 0) is Closing.CLOSED
    assert batch.summary() is None


async def test_many_closings_at_once_write_one_summary_with_the_ledgers_figures(
    engine: AsyncEngine, batch: Batch
) -> None:
    claims = await claimed(engine, batch, *range(120))
    assert len(claims) == 120
    outcomes = [decided(one, value=one.key.index < 30, confidence=one.key.index / 120) for one in claims[:110]]
    failures = [
        ClaimOutcome(one, Failure(ErrorKind.REFUSED, "no"), Provenance(model="m", calls=2)) for one in claims[110:]
    ]
    await record(engine, [*outcomes, *failures])
    closings = await asyncio.gather(*(close_shard(engine, UUID(batch.id), 1, n) for n in (0, 1, 2, 0, 1, 2)))
    assert Closing.COMPLETED in closings
    assert Closing.OPEN not in closings
    async with engine.connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM summaries"))).scalar_one() == 1
    summary = batch.summary()
    assert summary is not None
    assert summary.counts.identity_holds
    assert (summary.counts.decided, summary.counts.failed) == (110, 10)
    assert summary.values == {"true": 30, "false": 80}
    assert (summary.pass_rate.count, summary.pass_rate.total) == (30, 110)
    assert summary.errors == {ErrorKind.REFUSED: 10}
    # confidences are 0/120 .. 109/120: >= 0.9 are 108, 109; >= 0.7 are 84 .. 107; >= 0.4 are 48 .. 83; the rest 0 .. 47
    assert summary.confidence.bands == {"explicit": 2, "strong": 24, "weak": 36, "insufficient": 48}
    assert summary.confidence.mean == pytest.approx(sum(range(110)) / 110 / 120)
    assert summary.confidence.median == pytest.approx(54.5 / 120)
    assert (summary.confidence.minimum, summary.confidence.maximum) == (0.0, pytest.approx(109 / 120))
    assert (summary.prompt_tokens, summary.completion_tokens) == (11_000, 2_200)
    assert summary.calls == 110 + 20
    assert summary.call_seconds_median == 0.25
    assert summary.models == {"m": 120}
    assert summary.wall_seconds > 0
    assert batch.status().state is BatchStatus.COMPLETED


async def test_the_wall_time_of_a_round_begins_with_its_first_dispatch_and_not_with_its_submission(
    engine: AsyncEngine, batch: Batch
) -> None:
    claims = await claimed(engine, batch, *range(120))
    await record(engine, [decided(one) for one in claims])
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE batches SET created_at = created_at - interval '1 day'"))
    for shard in range(3):
        await close_shard(engine, UUID(batch.id), 1, shard)
    summary = batch.summary()
    assert summary is not None
    assert 0 < summary.wall_seconds < 24 * 60 * 60


async def test_closing_again_changes_nothing(engine: AsyncEngine, batch: Batch) -> None:
    await record(engine, [decided(one) for one in await claimed(engine, batch, *range(120))])
    for shard in range(3):
        await close_shard(engine, UUID(batch.id), 1, shard)
    before = batch.summary()
    assert await close_shard(engine, UUID(batch.id), 1, 2) is Closing.COMPLETED
    assert batch.summary() == before


async def test_a_message_of_an_earlier_round_closes_nothing(engine: AsyncEngine, batch: Batch) -> None:
    assert await close_shard(engine, UUID(batch.id), 0, 0) is Closing.CLOSED
    async with engine.connect() as connection:
        closed = await connection.execute(text("SELECT count(*) FROM shards WHERE state = 'aggregated'"))
        assert closed.scalar_one() == 0


async def test_the_identity_holds_while_items_move(engine: AsyncEngine, batch: Batch) -> None:
    claims = await claimed(engine, batch, *range(60))
    counts = batch.status().counts
    assert (counts.running, counts.pending) == (60, 60)
    assert counts.identity_holds
    await record(engine, [decided(one) for one in claims[:40]])
    counts = batch.status().counts
    assert (counts.decided, counts.running, counts.pending) == (40, 20, 60)
    assert counts.identity_holds


async def test_what_an_item_cost_in_earlier_rounds_is_not_forgotten(engine: AsyncEngine, batch: Batch) -> None:
    def ended(claim: Claim, cost: str | None) -> ClaimOutcome:
        provenance = Provenance(usage=Usage(100, 20, 60, 5), cost=None if cost is None else Decimal(cost), calls=2)
        return ClaimOutcome(claim, Failure(ErrorKind.TIMEOUT, "took too long"), provenance)

    for cost, together in (("0.001", "0.001"), ("0.0005", "0.0015"), (None, None)):
        async with engine.begin() as connection:
            await connection.execute(text("UPDATE item_states SET state = 'pending' WHERE idx = 0"))
        (claim,) = await claimed(engine, batch, 0)
        assert await record(engine, [ended(claim, cost)]) == [True]
        row = next(batch.results())
        assert row.cost == (None if together is None else Decimal(together))
    assert row.provenance is not None
    assert (row.provenance.usage, row.provenance.calls) == (Usage(300, 60, 180, 15), 6)


class Cut:
    """Postgres, whose reply to a claim is lost once after the commit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lost = False
        real = claims_module.claim

        async def claim_and_lose(*args: object, **kwargs: object) -> object:
            reply = await real(*args, **kwargs)  # type: ignore[arg-type] # handed on as they came
            if not self.lost:
                self.lost = True
                raise LedgerUnavailable("the connection was lost")
            return reply

        monkeypatch.setattr(claims_module, "claim", claim_and_lose)


async def test_an_item_whose_claim_was_granted_but_not_heard_of_is_granted_when_it_is_asked_for_again(
    engine: AsyncEngine, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await recovery.renew_lease(engine, WorkerReport(id="w1"), lease=30)
    Cut(monkeypatch)
    claims = Claims(engine, worker="w1", held=())
    with pytest.raises(LedgerUnavailable):
        await claims.claim([key(batch, 0)])
    (granted,) = await claims.claim([key(batch, 0)])
    assert isinstance(granted, Claim)
    assert granted.fence == 2
    assert await record(engine, [decided(granted)]) == [True]
    assert await claims.claim([key(batch, 0)]) == [ClaimRefusal(cancelled=False)]
    async with engine.connect() as connection:
        attempts = (await connection.execute(text("SELECT attempts FROM items WHERE idx = 0"))).scalar_one()
    assert attempts == 1  # no worker died of it


async def test_an_item_that_the_worker_knows_it_holds_is_not_granted_again_for_a_doubt(
    engine: AsyncEngine, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await claimed(engine, batch, 0)
    Cut(monkeypatch)
    claims = Claims(engine, worker="w1", held={key(batch, 0)})
    with pytest.raises(LedgerUnavailable):
        await claims.claim([key(batch, 0)])  # a second delivery of its message
    assert await claims.claim([key(batch, 0)]) == [ClaimRefusal(cancelled=False)]


async def test_of_what_is_refused_it_is_said_whether_it_is_cancelled(engine: AsyncEngine, batch: Batch) -> None:
    await recovery.renew_lease(engine, WorkerReport(id="w1"), lease=30)
    claims = Claims(engine, worker="w1", held=())
    granted = await claims.claim([key(batch, 0), key(batch, 0)])
    assert isinstance(granted[0], Claim)
    assert granted[1] == ClaimRefusal(cancelled=False)  # the same message twice
    batch.pause()
    assert await claims.claim([key(batch, 1)]) == [ClaimRefusal(cancelled=False)]
    batch.cancel()
    keys = [key(batch, index) for index in (0, 1, 999)]  # held, cancelled, of no item
    assert await claims.claim(keys) == [
        ClaimRefusal(cancelled=False),
        ClaimRefusal(cancelled=True),
        ClaimRefusal(cancelled=False),
    ]
    assert await cancelled(engine, keys) == {key(batch, 1)}
    assert not await cancelled(engine, [])


async def test_claims_that_a_worker_does_not_hold_are_disowned_at_the_second_look(
    engine: AsyncEngine, batch: Batch
) -> None:
    """As after a failover to a standby that did not know how they ended."""
    keys = [key(batch, index) for index in range(3)]
    await claimed(engine, batch, 0, 1, 2)
    await claimed(engine, batch, 3, worker="w2")
    claims = Claims(engine, worker="w1", held={keys[0]})
    assert [await claims.disown_unheld() for _ in range(3)] == [0, 2, 0]
    (again,) = await claim(engine, [keys[1]], worker="w3")  # as of a dead worker
    assert again is not None
    assert again.fence == 2
    assert await claim(engine, [keys[0], key(batch, 3)], worker="w3") == [None, None]


async def test_a_claim_that_is_granted_again_between_two_looks_is_not_disowned(
    engine: AsyncEngine, batch: Batch
) -> None:
    claims = Claims(engine, worker="w1", held=())
    await claim(engine, [key(batch, 0)], worker="w1")
    assert await claims.disown_unheld() == 0
    await claim(engine, [key(batch, 0)], worker="w1", in_doubt=[key(batch, 0)])
    assert [await claims.disown_unheld() for _ in range(2)] == [0, 1]
