"""Results of single calls come by notification, and also where none arrives."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Client
from tamis_producer.calls.call_results import CallResults, FollowedBatch
from tamis_producer.ledger import CallResult
from tamis_producer.ledger.connection import connect_without_transactions
from tamis_producer.ledger.pool_kinds import LISTENER
from tamis_schemas import (
    EvaluationResult,
    Filter,
    ItemStatus,
    LedgerUnavailable,
    Pause,
    PauseKind,
)

SOON = 10.0  # s
ENDED = text("""
WITH ended AS (
    UPDATE item_states SET state = 'decided', worker = NULL WHERE batch_id = :id AND idx = ANY(:places)
    RETURNING idx, fence
)
INSERT INTO results (batch_id, idx, fence, round, value, confidence, reasoning, calls, unanswered, cached,
                     prompt_tokens, completion_tokens)
SELECT :id, idx, fence, 1, 'true', 0.9, 'item ' || idx, 1, 0, false, 9, 9 FROM ended
""")
LISTENERS = text("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'")


class Calls:
    """A ledger without workers: the test ends the items."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.engines: list[AsyncEngine] = []
        self.results = CallResults(self._connect)

    def _connect(self) -> AsyncEngine:
        self.engines.append(connect_without_transactions(self.client.settings.database, LISTENER))
        return self.engines[-1]

    async def follow(self, items: int = 1) -> FollowedBatch:
        submit = self.client.submit
        batch = await asyncio.to_thread(submit, Filter(criteria="Is it?"), abstracts(items), service="evaluation")
        with self.client.engine.begin() as connection:
            connection.execute(text("UPDATE item_states SET state = 'running' WHERE batch_id = :id"), {"id": batch.id})
        return self.results.follow(UUID(batch.id), range(items))

    def end(self, batch: FollowedBatch, *places: int) -> None:
        with self.client.engine.begin() as connection:
            connection.execute(ENDED, {"id": batch.id, "places": [*places]})

    def write(self, statement: str, **values: Any) -> None:
        with self.client.engine.begin() as connection:
            connection.execute(text(statement), values)

    async def heard(self) -> None:
        """Return once notifications arrive."""
        async with asyncio.timeout(SOON):
            while not (self.results._notifications and self.results._notifications.heard):  # noqa: ASYNC110 - nothing tells of it: it is what tells
                await asyncio.sleep(0.01)


@pytest.fixture
async def calls(client: Client) -> AsyncIterator[Calls]:
    calls = Calls(client)
    yield calls
    task = calls.results._task
    calls.results.stop()
    if task is not None:
        await asyncio.wait([task], timeout=SOON)


async def came(batch: FollowedBatch, place: int = 0) -> CallResult:
    return await asyncio.wait_for(asyncio.shield(batch.results[place]), SOON)


def decided(place: int) -> CallResult:
    return CallResult(ItemStatus.DECIDED, EvaluationResult(value=True, confidence=0.9, reasoning=f"item {place}"))


async def test_each_result_comes_when_its_item_has_ended_and_is_read_once(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis_producer.calls.call_results.LOOK_ANYWAY", 60.0)  # what comes now was told
    first = await calls.follow(items=3)
    await calls.heard()
    calls.end(first, 0)
    calls.end(first, 1)  # both before the first look
    assert [await came(first, place) for place in (0, 1)] == [decided(0), decided(1)]
    assert first.pending == [2]
    calls.end(first, 2)
    assert await came(first, 2) == decided(2)


async def test_what_was_not_told_is_found_all_the_same(calls: Calls) -> None:
    batch = await calls.follow()
    await calls.heard()
    calls.write("ALTER TABLE results DISABLE TRIGGER results_told")
    calls.end(batch, 0)
    assert await came(batch) == decided(0)


async def test_a_listening_connection_that_is_lost_is_replaced(calls: Calls) -> None:
    batch = await calls.follow(items=2)
    await calls.heard()
    with calls.client.engine.begin() as connection:
        listeners = connection.execute(LISTENERS).scalars().all()
        assert len(listeners) == 1
        connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": listeners[0]})
    calls.end(batch, 0)
    assert await came(batch) == decided(0)
    await calls.heard()
    calls.end(batch, 1)
    assert await came(batch, 1) == decided(1)


async def test_ordinary_items_tell_nothing_and_the_end_of_an_ordinary_batch_is_told(calls: Calls) -> None:
    told: list[tuple[str, UUID]] = []
    batch = await calls.follow()
    await calls.heard()
    assert calls.results._notifications is not None
    calls.results._notifications._told = lambda channel, batch_id: told.append((channel, batch_id))
    ordinary = UUID((await asyncio.to_thread(calls.client.submit, Filter(criteria="Is it?"), abstracts(1))).id)
    for batch_id in (ordinary, batch.id):
        calls.write("UPDATE item_states SET state = 'running' WHERE batch_id = :id AND state = 'pending'", id=batch_id)
        with calls.client.engine.begin() as connection:
            connection.execute(ENDED, {"id": batch_id, "places": [0]})
        calls.write("UPDATE batches SET state = 'completed', finished_at = now() WHERE id = :id", id=batch_id)
    calls.write("SELECT pg_notify('tamis_batches', :id)", id=str(UUID(int=7)))  # behind everything that was told
    async with asyncio.timeout(SOON):
        while ("tamis_batches", UUID(int=7)) not in told:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)
    assert told[:-1] == [("tamis_batches", ordinary), ("tamis_calls", batch.id)]


async def test_items_that_end_without_a_result_end_their_calls(calls: Calls, caplog: pytest.LogCaptureFixture) -> None:
    cancelled, paused = await calls.follow(), await calls.follow()
    await calls.heard()
    calls.write("UPDATE item_states SET state = 'pending' WHERE batch_id IN (:a, :b)", a=cancelled.id, b=paused.id)
    calls.write("UPDATE item_states SET state = 'cancelled' WHERE batch_id = :id", id=cancelled.id)
    calls.write("UPDATE batches SET state = 'cancelled' WHERE id = :id", id=cancelled.id)
    assert (await came(cancelled)).reason == "not evaluated: the item is cancelled"
    pause = Pause(kind=PauseKind.AUTHENTICATION, message="401")
    with caplog.at_level(logging.WARNING):
        calls.write(
            "UPDATE batches SET state = 'paused', pause = CAST(:pause AS json) WHERE id = :id",
            id=paused.id,
            pause=pause.model_dump_json(),
        )
        assert await came(paused) == CallResult(ItemStatus.PENDING, pause=pause)
    assert f"batch {paused.id} is paused: authentication: 401" in caplog.text


async def test_a_ledger_that_is_gone_is_told_to_whoever_waits(calls: Calls) -> None:
    batch = await calls.follow()
    await calls.heard()
    calls.write("ALTER TABLE results DISABLE TRIGGER results_told")
    for engine in calls.engines:
        await engine.dispose()
        engine.sync_engine.pool._creator = lambda *_: _refused()  # type: ignore[attr-defined]
    with pytest.raises(LedgerUnavailable):
        await came(batch)


def _refused() -> None:
    raise ConnectionRefusedError("gone")
