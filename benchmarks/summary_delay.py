"""The time from a batch's last answer to its summary. Both times are from the ledger."""

import statistics
from typing import Any

from sqlalchemy import text

from llm_double import Double

from .options import Options
from .parts import Parts
from .records import QUESTION, records
from .report import Cell, Table

SIZES, SHORT_SIZES = (20, 500, 2_000), (20,)
BATCHES, SHORT_BATCHES = 5, 2
PROCESSES = 2
LATENCY = 0.2  # s
CONCURRENCY = 100
DONE_WITHIN = 600.0  # s
COLUMNS = ("items", "batches", "median s", "longest s")

DELAY = text(
    "SELECT extract(epoch FROM s.created_at - (SELECT max(created_at) FROM results r WHERE r.batch_id = s.batch_id)) "
    "FROM summaries s WHERE s.batch_id = :id"
)


def summary_delay(parts: Parts, options: Options) -> list[Table]:
    """Measure the seconds from the last result of a batch to its summary."""
    processes = (options.processes or (PROCESSES,))[0]
    sizes = (options.items,) if options.items else SHORT_SIZES if options.short else SIZES
    repeated = options.repetitions or (SHORT_BATCHES if options.short else BATCHES)
    rows: list[list[Cell]] = []
    with parts.ledger() as ledger, Double.start(remember=False, latency=LATENCY) as double:
        slots: dict[str, Any] = {"concurrency": CONCURRENCY // processes, "limit_concurrency": CONCURRENCY}
        with parts.workers(processes, ledger, double, **slots):
            for items in sizes:
                options.say(f"delay of the summary: {repeated} batches of {items:,} items")
                delays = []
                for number in range(repeated):
                    batch = ledger.client.submit(QUESTION, records(items, seed=number), use_cache=False)
                    batch.wait(timeout=DONE_WITHIN)
                    with ledger.client.engine.connect() as connection:
                        delays.append(float(connection.execute(DELAY, {"id": batch.id}).scalar_one()))
                rows.append([items, repeated, statistics.median(delays), max(delays)])
    note = f"{processes} worker processes, {LATENCY:g} s latency; from `results.created_at` to `summaries.created_at`"
    return [Table("From the last answer to the summary", COLUMNS, rows, [note])]
