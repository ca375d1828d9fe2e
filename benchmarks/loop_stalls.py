"""How long an event loop is blocked while a batch of 5,000 items is submitted and read back asynchronously."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable

from tamis_producer import AsyncClient, ProducerSettings

from .options import Options
from .parts import Parts
from .records import QUESTION, records
from .report import Cell, Table

ITEMS, SHORT_ITEMS = 5_000, 500
REPETITIONS = 5
TICK = 0.001  # s; a bystander wants its turn so often
COLUMNS = ("what", "seconds", "longest stall, ms", "of it computed by the loop, ms")


class Bystander:
    """Another coroutine on the same loop. It wants to run every millisecond, and records the longest delay."""

    def __init__(self) -> None:
        self._stalled = self._computed = 0.0

    async def run(self) -> None:
        while True:
            seen, computed = time.perf_counter(), time.thread_time()
            await asyncio.sleep(TICK)
            self._stalled = max(self._stalled, time.perf_counter() - seen - TICK)
            self._computed = max(self._computed, time.thread_time() - computed)

    async def beside(self, name: str, call: Callable[[], Awaitable[object]]) -> list[Cell]:
        """Run a call, and return its seconds, the longest stall and the loop's own part of it, both in milliseconds."""
        self._stalled = self._computed = 0.0
        began = time.perf_counter()
        await call()
        return [name, time.perf_counter() - began, self._stalled * 1000, self._computed * 1000]


def loop_stalls(parts: Parts, options: Options) -> list[Table]:
    """Measure `AsyncClient.submit` and `AsyncBatch.results`. The worst of several runs counts."""
    given = records(options.items or (SHORT_ITEMS if options.short else ITEMS))
    repetitions = options.repetitions or (1 if options.short else REPETITIONS)
    with parts.ledger() as ledger:
        rows = asyncio.run(_measured(ledger.settings, given, repetitions))
    worst = [max((row for row in rows if row[0] == name), key=_stall) for name in dict.fromkeys(row[0] for row in rows)]
    note = (
        f"{len(given):,} items of 1.7 kB, the worst of {repetitions} runs; what was there before stands apart from the "
        "garbage collector (`gc.freeze()`), as in a server"
    )
    return [Table("Event loop", COLUMNS, worst, [note])]


async def _measured(settings: ProducerSettings, given: list[dict[str, object]], repetitions: int) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    async with AsyncClient(settings) as client:
        first = await client.submit(QUESTION, given[:10])
        assert [row async for row in first.results()]  # noqa: S101 - every statement is compiled now
        gc.collect()
        gc.freeze()
        bystander = Bystander()
        standing_by = asyncio.ensure_future(bystander.run())
        for _ in range(repetitions):
            rows.append(await bystander.beside("AsyncClient.submit", lambda: client.submit(QUESTION, given)))
            view = (await client.batches(limit=1))[0]
            batch = await client.batch(view.id)

            async def read() -> int:
                return len([row.index async for row in batch.results()])  # noqa: B023 - awaited in this turn

            rows.append(await bystander.beside("AsyncBatch.results, every item", read))
        standing_by.cancel()
    gc.unfreeze()
    return rows


def _stall(row: list[Cell]) -> float:
    return float(row[2] or 0)
