"""What the metrics say is written with the result that it is said of, or not at all."""

from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import (
    ErrorKind,
    Evaluation,
    EvaluationResult,
    Extract,
    ItemResult,
    Provenance,
)
from tamis_worker.ledger import recovery
from tamis_worker.ledger.claims import Claim, ItemKey, claim
from tamis_worker.ledger.outcomes import ClaimOutcome, record
from tamis_worker.operations import Decided, Failure


@pytest.fixture
def batch(client: Client) -> Batch:
    return client.submit(Extract(instruction="What is it?"), abstracts(3))


async def claimed(engine: AsyncEngine, batch: Batch, *indexes: int, worker: str = "w1") -> list[Claim]:
    await recovery.renew_lease(engine, WorkerReport(id=worker), lease=30)
    keys = [ItemKey(UUID(batch.id), index) for index in indexes]
    return [one for one in await claim(engine, keys, worker=worker) if one is not None]


def score(value: float, field: str | None = None, label: str = "context_precision") -> Evaluation:
    return Evaluation(label=label, metric_type="score", value=value, field=field)


def decided(one: Claim, *evaluations: Evaluation) -> ClaimOutcome:
    return ClaimOutcome(
        one, Decided(EvaluationResult(value="x", confidence=0.9), None, evaluations), Provenance(calls=1)
    )


def row(batch: Batch, index: int = 0) -> ItemResult:
    return list(batch.results())[index]


@pytest.mark.spec("4.29")
async def test_what_was_said_is_read_back_as_it_was(engine: AsyncEngine, batch: Batch) -> None:
    one, other, none = await claimed(engine, batch, 0, 1, 2)
    said = (
        score(2 / 3, label="context_relevance"),
        score(0.0),
        Evaluation(label="semantic_validation", metric_type="categorical", value="pass"),
        Evaluation(label="agreement_pattern", metric_type="categorical", reason="fewer than two sources"),
    )
    assert await record(engine, [decided(one, *said), decided(other, score(1.0)), decided(none)]) == [True] * 3
    assert tuple(row(batch).evaluations) == said
    assert row(batch, 1).evaluations == [score(1.0)]
    assert row(batch, 2).evaluations == []


@pytest.mark.spec("4.29")
async def test_under_a_stale_fence_nothing_is_said_even_beside_the_one_that_holds(
    engine: AsyncEngine, batch: Batch
) -> None:
    (old,) = await claimed(engine, batch, 0)
    await recovery.end_lease(engine, worker="w1")
    (new,) = await claimed(engine, batch, 0, worker="w2")
    assert await record(engine, [decided(old, score(0.1), score(0.2, label="of the old one"))]) == [False]
    assert row(batch).evaluations == []
    await record(engine, [decided(new, score(0.9))])
    await record(engine, [decided(new, score(0.5))])  # written again, after a lost reply
    assert row(batch).evaluations == [score(0.9)]


async def test_a_failure_has_none(engine: AsyncEngine, batch: Batch) -> None:
    (one,) = await claimed(engine, batch, 0)
    assert await record(engine, [ClaimOutcome(one, Failure(ErrorKind.REFUSED, "no"), Provenance())]) == [True]
    assert row(batch).evaluations == []


async def test_of_a_metric_that_is_said_twice_the_last_counts(engine: AsyncEngine, batch: Batch) -> None:
    (one,) = await claimed(engine, batch, 0)
    assert await record(engine, [decided(one, score(0.1), score(0.2), score(0.3, "of\x00a field"))]) == [True]
    assert row(batch).evaluations == [score(0.2), score(0.3, "of\ufffda field")]
