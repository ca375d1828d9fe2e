"""The memory of Redis and of the processes for batches of different sizes. Redis holds a window, never a batch."""

import redis

from llm_double import Double

from .options import Options
from .parts import Parts
from .process_memory import process_memory
from .records import QUESTION, records
from .report import Cell, Table

SIZES, SHORT_SIZES = (2_000, 10_000, 50_000), (1_000, 2_000)
PROCESSES = 2
DONE_WITHIN = 3_600.0  # s
COLUMNS = ("items", "peak MB", "to the smallest", "before the batch MB")
MEGABYTE = 1_000_000


def memory(parts: Parts, options: Options) -> list[Table]:
    """Measure the memory of Redis for a batch, and of the processes."""
    return [_redis_memory(parts, options), process_memory(parts, options)]


def _redis_memory(parts: Parts, options: Options) -> Table:
    """Measure the most memory of a new Valkey server for each number of items in its only batch."""
    processes = (options.processes or (PROCESSES,))[0]
    sizes = (options.items, 2 * options.items) if options.items else SHORT_SIZES if options.short else SIZES
    peaks: list[tuple[int, float, float]] = []
    for items in sizes:
        options.say(f"memory of Redis: {items:,} items")
        with (
            parts.fresh_valkey() as own,
            own.ledger() as ledger,
            Double.start(remember=False) as double,
            own.workers(processes, ledger, double),
            redis.Redis.from_url(own.valkey.url) as client,
        ):
            before = client.info("memory")["used_memory"] / MEGABYTE
            batch = ledger.client.submit(QUESTION, records(items), use_cache=False)
            batch.wait(timeout=DONE_WITHIN)
            peaks.append((items, client.info("memory")["used_memory_peak"] / MEGABYTE, before))
    rows: list[list[Cell]] = [[items, peak, peak / peaks[0][1], before] for items, peak, before in peaks]
    note = f"{processes} worker processes, no latency; the server's own `used_memory_peak`, a new server for each batch"
    return Table("Memory of Redis", COLUMNS, rows, [note])
