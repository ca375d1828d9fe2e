"""How long an event loop stands still while a large batch is submitted and read back."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from tamis_producer import AsyncClient, ProducerSettings
from tamis_schemas import Filter

N = 5_000
ITEMS = [{"id": f"r{number}", "title": f"Title {number}", "abstract": "forty words " * 120} for number in range(N)]
LONGEST_SHARE = 0.1  # of the loop's work that may be done without a turn for others; where it blocks it is all of it


class Turns:
    """What the loop's thread computes between two turns of a bystander: processor time, which no other load changes."""

    def __init__(self) -> None:
        self.longest = self.all = 0.0
        self.count = 0

    async def count_turns(self) -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.longest, self.all, self.count = max(self.longest, now - last), self.all + now - last, self.count + 1
            last = now


@asynccontextmanager
async def bystander() -> AsyncIterator[Turns]:
    turns = Turns()
    counting = asyncio.ensure_future(turns.count_turns())
    await asyncio.sleep(0)
    try:
        yield turns
    finally:
        counting.cancel()


@contextmanager
def without_collections() -> Iterator[None]:
    """A full collection stops every thread for as long as the process is large, whoever has it run."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.night
async def test_a_batch_of_5000_is_submitted_and_read_in_many_short_turns(settings: ProducerSettings) -> None:
    async with AsyncClient(settings) as client:
        warm = await client.submit(Filter(criteria="Is this about oncology?"), ITEMS[:10])
        assert [row.index async for row in warm.results()] == list(range(10))
        with without_collections():
            async with bystander() as submitting:
                batch = await client.submit(Filter(criteria="Is this about oncology?"), ITEMS)
            async with bystander() as reading:
                assert [row.item_id async for row in batch.results()] == [item["id"] for item in ITEMS]
    for turns in (submitting, reading):
        assert turns.longest < LONGEST_SHARE * turns.all
        assert turns.count > 50
