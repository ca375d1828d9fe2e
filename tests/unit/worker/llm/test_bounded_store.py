"""A store that is away, hangs or fails is as if it said nothing, and no statement is left behind."""

import asyncio
import logging

import pytest

from tamis_schemas import LedgerUnavailable
from tamis_worker.llm import shared_dialects
from tamis_worker.llm.chat import Rung
from tamis_worker.llm.dialect import RungState
from tamis_worker.llm.dialect_store import Leased, MemoryDialects
from tamis_worker.llm.shared_dialects import BoundedStore

STATE = RungState(Rung.TEXT, proven=True)


class Failing(MemoryDialects):
    """Every statement ends with this error; without one it never ends."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error

    async def _fail(self) -> None:
        if self.error is None:
            await asyncio.Event().wait()
        else:
            raise self.error

    async def look(self, model: str) -> RungState | None:
        await self._fail()
        return None

    async def lease(self, model: str, holder: str) -> Leased:
        await self._fail()
        return Leased(RungState(), granted=True)

    async def exchange(self, model: str, seen: RungState, then: RungState) -> RungState:
        await self._fail()
        return seen


@pytest.mark.parametrize(
    ("error", "warnings"), [(None, 0), (LedgerUnavailable("away"), 0), (RuntimeError("no such table"), 3)]
)
async def test_a_store_that_does_not_answer_leaves_what_the_process_knows(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception | None, warnings: int
) -> None:
    monkeypatch.setattr(shared_dialects, "STORE_WITHIN", 0.01)
    monkeypatch.setattr(shared_dialects, "CLOSED_WITHIN", 0.01)
    store = BoundedStore(Failing(error))
    async with asyncio.timeout(10):
        assert await store.look("m") is None
        assert await store.lease("m", "one") is None
        assert await store.exchange("m", RungState(), STATE) == STATE
        await store.close()
    assert sum(record.levelno >= logging.WARNING for record in caplog.records) == warnings


async def test_what_others_put_there_first_is_what_an_exchange_gives() -> None:
    kept = MemoryDialects()
    await kept.exchange("m", RungState(), STATE)
    store = BoundedStore(kept)
    assert await store.exchange("m", RungState(), RungState(Rung.BOUNDED)) == STATE
    await store.close()


async def test_what_is_being_written_ends_before_the_store_is_closed() -> None:
    kept = MemoryDialects()
    await kept.lease("m", "one")
    store = BoundedStore(kept)
    store.release("m", "one")
    await store.close()
    assert (await kept.lease("m", "two")).granted
