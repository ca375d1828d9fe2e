"""Throughput beside a held snapshot, as `pg_dump` holds one: Postgres then keeps every old version of every row."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import text

from llm_double import Double

from .options import Options
from .parts import Ledger, Parts
from .records import QUESTION, records
from .report import Cell, Table, ratio
from .throughput import DONE_WITHIN, IN_FLIGHT, LATENCY

ITEMS, SHORT_ITEMS = 20_000, 1_000
REPETITIONS = 2
COLUMNS = ("snapshot", "items/s", "to none", "first quarter", "second quarter", "third quarter", "last quarter")

# Seconds from the end of one quarter of the results to the end of the next.
QUARTERS = text(
    "SELECT extract(epoch FROM ended - lag(ended, 1, begun) OVER (ORDER BY quarter)) FROM ("
    "  SELECT quarter, max(at) AS ended, min(began) AS begun FROM ("
    "    SELECT r.created_at AS at, b.started_at AS began, ntile(4) OVER (ORDER BY r.created_at) AS quarter"
    "    FROM results r JOIN batches b ON b.id = r.batch_id WHERE b.id = :id"
    "  ) ends GROUP BY quarter"
    ") quarters ORDER BY quarter"
)


def held_snapshot(parts: Parts, options: Options) -> list[Table]:
    """Measure a batch with and without a snapshot that is older than the batch, in turns."""
    items = options.items or (SHORT_ITEMS if options.short else ITEMS)
    runs: dict[bool, list[list[float]]] = {False: [], True: []}
    for turn in range(options.repetitions or (1 if options.short else REPETITIONS)):
        for held in runs:
            options.say(f"{items:,} items, {'with' if held else 'without'} a held snapshot, run {turn + 1}")
            runs[held].append(_quarters(parts, items, held=held))
    rates = {held: [items / sum(quarters) for quarters in measured] for held, measured in runs.items()}
    rows: list[list[Cell]] = []
    for held, measured in runs.items():
        means = [sum(seconds) / len(measured) for seconds in zip(*measured, strict=True)]
        rate = sum(rates[held]) / len(measured)
        quarters = [items / 4 / max(seconds, 0.001) for seconds in means]
        rows.append(["held" if held else "none", rate, ratio(rates[held], rates[False]), *quarters])
    note = (
        f"{items:,} items, {IN_FLIGHT} in flight in one process, {LATENCY:g} s latency; items/s, also of each quarter"
    )
    return [Table("Throughput beside a held snapshot", COLUMNS, rows, [note])]


def _quarters(parts: Parts, items: int, *, held: bool) -> list[float]:
    with (
        parts.ledger() as ledger,
        Double.start(remember=False, latency=LATENCY) as double,
        parts.workers(1, ledger, double, concurrency=IN_FLIGHT, limit_concurrency=IN_FLIGHT),
    ):
        ledger.client.submit(QUESTION, records(IN_FLIGHT, seed=2), use_cache=False).wait(timeout=DONE_WITHIN)
        with _snapshot(ledger, held=held):
            batch = ledger.client.submit(QUESTION, records(items, seed=1), use_cache=False)
            batch.wait(timeout=DONE_WITHIN)
            with ledger.client.engine.connect() as connection:
                return [float(seconds) for seconds in connection.execute(QUARTERS, {"id": batch.id}).scalars()]


@contextmanager
def _snapshot(ledger: Ledger, *, held: bool) -> Iterator[None]:
    url = ledger.settings.database.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(url) as connection:
        if held:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.execute("SELECT count(*) FROM batches")
        yield
