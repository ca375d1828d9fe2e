"""A transcript is written with its outcome under its claim's fence, or not at all; common texts once for a batch."""

from decimal import Decimal
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_review import explain
from tamis_schemas import ErrorKind, EvaluationResult, Filter, Provenance
from tamis_worker.ledger import recovery
from tamis_worker.ledger.cancellations import give_back
from tamis_worker.ledger.claims import Claim, ItemKey, claim
from tamis_worker.ledger.outcomes import CallsOfClaim, ClaimOutcome, KnownPrompts, record
from tamis_worker.operations import Decided, Failure

CALL = {"question": 1, "name": "filter", "at_ms": 3, "messages": [{"role": "system", "sha256": "5a"}]}
TOLD = CallsOfClaim((CALL,), {"5a": "You judge.", "5b": "{}"})


def outcome(claim: Claim) -> ClaimOutcome:
    decided = Decided(EvaluationResult(value=True, confidence=0.9))
    return ClaimOutcome(claim, decided, Provenance(model="m", calls=1), transcript=TOLD)


async def claimed(engine: AsyncEngine, batch: UUID, *places: int, worker: str = "w") -> list[Claim]:
    keys = [ItemKey(batch, place) for place in places]
    granted = await claim(engine, keys, worker=worker, in_doubt=keys)
    return [one for one in granted if one is not None]


async def rows(engine: AsyncEngine) -> tuple[list[tuple[int, int]], list[str]]:
    """Places and fences of transcripts, and the names of common texts."""
    async with engine.begin() as connection:
        told = await connection.execute(text("SELECT idx, fence FROM transcripts ORDER BY 1, 2"))
        kept = await connection.execute(text("SELECT sha256 FROM prompts ORDER BY 1"))
        return [(row.idx, row.fence) for row in told], list(kept.scalars())


async def test_a_stale_fence_writes_no_transcript_and_the_valid_one_writes_it_with_the_outcome(
    client: Client, engine: AsyncEngine
) -> None:
    batch = UUID(client.submit(Filter(criteria="Is it?"), abstracts(3)).id)
    await recovery.renew_lease(engine, WorkerReport(id="w"), lease=30)
    (stale,) = await claimed(engine, batch, 0)
    (valid,) = await claimed(engine, batch, 0)
    known = KnownPrompts()
    assert await record(engine, [outcome(stale)], known) == [False]
    assert await rows(engine) == ([], [])
    assert await record(engine, [outcome(valid)], known) == [True]  # the texts are sent again: they are not known yet
    assert await rows(engine) == ([(0, 2)], ["5a", "5b"])
    assert await record(engine, [outcome(valid)], known) == [False]  # written again after a lost reply
    others = [outcome(one) for one in await claimed(engine, batch, 1, 2)]
    assert known.new([]) == {}
    assert await record(engine, others, known) == [True, True]
    assert await rows(engine) == ([(0, 2), (1, 1), (2, 1)], ["5a", "5b"])
    story = explain(client.batch(str(batch)), 0)
    assert (story.transcripts[0].calls[0].name, story.prompts["5a"], story.gap) == ("filter", "You judge.", None)


async def test_what_was_asked_for_a_claim_that_is_given_back_is_kept_too(client: Client, engine: AsyncEngine) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(2))
    await recovery.renew_lease(engine, WorkerReport(id="w"), lease=30)
    claims = await claimed(engine, UUID(batch.id), 0, 1)
    paid = [Provenance(calls=1, cost=Decimal(1)), Provenance(cost=Decimal(0))]
    for _ in range(2):  # the second time after a lost reply
        await give_back(engine, claims, paid, [TOLD, None])
    assert await rows(engine) == ([(0, 1)], ["5a", "5b"])
    pending = explain(batch, 0)
    assert (len(pending.transcripts), pending.because) == (1, ())
    assert pending.gap is not None
    assert "not decided yet" in pending.gap
    (again,) = await claimed(engine, UUID(batch.id), 0)
    failed = ClaimOutcome(again, Failure(ErrorKind.TIMEOUT, "too late"), Provenance(calls=1), transcript=TOLD)
    assert await record(engine, [failed]) == [True]
    assert [one.fence for one in explain(batch, 0).transcripts] == [1, 2]


async def test_a_decision_without_a_transcript_says_that_nothing_was_kept(client: Client, engine: AsyncEngine) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(2))
    await recovery.renew_lease(engine, WorkerReport(id="w"), lease=30)
    for one in await claimed(engine, UUID(batch.id), 0, 1):
        decided = Decided(EvaluationResult(value=True, confidence=0.9))
        calls = 1 - one.key.index
        assert await record(engine, [ClaimOutcome(one, decided, Provenance(model="m", calls=calls))]) == [True]
    earlier, unasked = (explain(batch, place).gap or "" for place in (0, 1))
    assert "TAMIS_TRANSCRIPTS=false" in earlier
    assert unasked == "no model was asked about the record"
    assert ("confidence", "0.9, as the model gave it") in {(r.sets, r.text) for r in explain(batch, 0).because}
