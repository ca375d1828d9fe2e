"""Whoever follows batches shares one look a tick; where nobody follows, nothing is asked."""

import asyncio
from contextlib import AsyncExitStack, aclosing
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID, uuid4

import pytest

from tamis_producer.gateway import batch_watcher as module
from tamis_producer.gateway.batch_watcher import BatchWatcher, Look
from tamis_producer.ledger.batch_view import BatchView
from tamis_schemas import BatchStatus, Counts, ItemStatus, LedgerUnavailable

BATCH = uuid4()
WITHIN = 10.0  # s


def view(batch_id: UUID, decided: int) -> BatchView:
    counts = dict.fromkeys((status.value for status in ItemStatus), 0) | {"decided": decided, "pending": 9 - decided}
    return BatchView(
        id=str(batch_id),
        label=None,
        operation="filter",
        model=None,
        state=BatchStatus.RUNNING,
        round=1,
        counts=Counts(n_items=9, **counts),
        prompt_tokens=0,
        completion_tokens=0,
        cost=Decimal(0),
        unpriced=0,
        unanswered=0,
        lost_claims=0,
        possibly_unbilled_cost=None,
        budget=None,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        started_at=None,
        finished_at=None,
        elapsed_seconds=None,
        live_workers=1,
    )


class Ledger:
    """Counts the looks; at each one an item more is decided."""

    def __init__(self) -> None:
        self.looks: list[tuple[frozenset[UUID], int]] = []
        self.away = False

    def __call__(self, batch_ids: frozenset[UUID], limit: int, unreviewed: int) -> Look:
        self.looks.append((batch_ids, limit))
        if self.away:
            raise LedgerUnavailable("it is away")
        found = view(BATCH, min(9, len(self.looks)))
        known = {BATCH: found} if BATCH in batch_ids else {}
        return Look(batch_ids, known, limit, (found,) if limit else (), unreviewed, (found,) if unreviewed else ())


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(module, "LIST_EVERY", 0.02)


async def test_many_who_follow_cost_one_look_a_tick_and_nobody_costs_none() -> None:
    ledger = Ledger()
    watcher = BatchWatcher(ledger, lambda: False)
    async with asyncio.timeout(WITHIN), AsyncExitStack() as open_streams:
        followers = [
            await open_streams.enter_async_context(aclosing(watcher.batch(BATCH, silence=60))) for _ in range(20)
        ]
        lists = [await open_streams.enter_async_context(aclosing(watcher.latest(n + 1, silence=60))) for n in range(5)]
        for _ in range(3):
            told = await asyncio.gather(*(anext(one) for one in followers), *(anext(one) for one in lists))
            assert None not in told
        # Each of the three looks told all; one more may have begun while the first ones joined, and one since.
        assert len(ledger.looks) <= 5
        assert ledger.looks[-1] == (frozenset({BATCH}), 5)
    looks = len(ledger.looks)
    assert watcher._task is not None
    await asyncio.wait_for(watcher._task, WITHIN)
    assert len(ledger.looks) <= looks + 1  # one may have been under way


async def test_while_the_ledger_is_away_there_is_silence_and_then_news() -> None:
    ledger = Ledger()
    ledger.away = True
    async with (
        asyncio.timeout(WITHIN),
        aclosing(BatchWatcher(ledger, lambda: False).batch(BATCH, silence=0.05)) as views,
    ):
        assert await anext(views) is None
        ledger.away = False
        while (found := await anext(views)) is None:
            pass
        assert found.id == str(BATCH)


async def test_it_ends_where_the_batch_is_not_there_and_where_the_gateway_stops() -> None:
    stopping = False
    watcher = BatchWatcher(Ledger(), lambda: stopping)
    async with asyncio.timeout(WITHIN):
        assert [one async for one in watcher.batch(uuid4(), silence=0)] == []
        async with aclosing(watcher.batch(BATCH, silence=60)) as views:
            assert await anext(views) is not None
            stopping = True
            assert [one async for one in views if one is not None][1:] == []


async def test_batches_of_no_review_are_told_when_those_of_a_review_change_too() -> None:
    alone, decided = view(uuid4(), 1), iter(range(1, 9))

    def ask(batch_ids: frozenset[UUID], limit: int, unreviewed: int) -> Look:
        return Look(batch_ids, {}, limit, (view(BATCH, next(decided)),), unreviewed, (alone,))

    async with (
        asyncio.timeout(WITHIN),
        aclosing(BatchWatcher(ask, lambda: False).latest(5, silence=60, of_no_review=True)) as lists,
    ):
        assert [await anext(lists) for _ in range(2)] == [(alone,), (alone,)]
