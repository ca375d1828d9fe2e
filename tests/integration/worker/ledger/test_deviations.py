"""What was harmlessly otherwise in an answer comes back with its result."""

import json
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_schemas import EvaluationResult, Filter, Provenance
from tamis_worker.ledger import recovery
from tamis_worker.ledger.claims import ItemKey, claim
from tamis_worker.ledger.outcomes import ClaimOutcome, record
from tamis_worker.operations import Decided

NOTES = ("extra key 'notes' ignored", "confidence: '0.9' read as a number")


async def test_deviations_are_read_with_the_result_in_their_order(client: Client, engine: AsyncEngine) -> None:
    batch = client.submit(Filter(criteria="Is it?"), abstracts(2))
    await recovery.renew_lease(engine, WorkerReport(id="w"), lease=30)
    for granted in await claim(engine, [ItemKey(UUID(batch.id), n) for n in range(2)], worker="w"):
        assert granted is not None
        decided = Decided(EvaluationResult(value=True, confidence=0.9))
        assert await record(engine, [ClaimOutcome(granted, decided, Provenance(model="m", calls=1))]) == [True]
    async with engine.begin() as connection:
        statement = text("UPDATE results SET deviations = CAST(:notes AS json) WHERE idx = 1")
        await connection.execute(statement, {"notes": json.dumps(NOTES)})
    plain, deviating = batch.results()
    assert plain.provenance is not None
    assert deviating.provenance is not None
    assert (plain.provenance.deviations, deviating.provenance.deviations) == ((), NOTES)
