"""Disk space and time for a large batch, and an extrapolation to ten million items."""

import time
from collections.abc import Mapping
from io import StringIO

from sqlalchemy import select, text

from llm_double import Double
from tamis_producer import Batch
from tamis_review.report import ReportForm, write_report
from tamis_schemas.ledger import batches
from tamis_worker.ledger.shards import summarise

from .many_items import REALISTIC, SMALL
from .options import Options
from .parts import Ledger, Parts
from .process_memory import decide_the_rest, in_a_process
from .report import Cell, Table

ITEMS, SHORT_ITEMS = 1_000_000, 2_000
DECIDED, SHORT_DECIDED = 5_000, 200  # items that a worker decides
DONE_WITHIN = 3_600.0  # s
COLUMNS = ("characters", "what", "unit", "measured", "of items", "ten million")
MEGABYTE = 1_000_000
TEN_MILLION = 10_000_000

SIZES = text(
    "SELECT relname, pg_total_relation_size(oid) AS size FROM pg_class "
    "WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
)
WAL = text("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')")
LEAST = 0.01  # of all: a table that takes less is not listed


def disk(parts: Parts, options: Options) -> list[Table]:
    """Measure the tables' sizes, and the times of reading a whole batch, for items of two lengths."""
    items = options.items or (SHORT_ITEMS if options.short else ITEMS)
    decided = min(items, SHORT_DECIDED if options.short else DECIDED)
    rows: list[list[Cell]] = []
    for characters in (SMALL, REALISTIC):

        def add(what: str, unit: str, measured: float, count: int, characters: int = characters) -> None:
            rows.append([characters, what, unit, measured, count, measured / count * TEN_MILLION])

        with parts.ledger(max_items=items) as ledger, Double.start(remember=False) as double:
            options.say(f"disk: {decided:,} items of {characters:,} characters are decided")
            small = ledger.client.batch(str(in_a_process(ledger, "submit", str(decided), str(characters))["batch"]))
            before = _sizes(ledger)
            with parts.workers(1, ledger, double):
                small.wait(timeout=DONE_WITHIN)
            for table, size in _grown(ledger, before).items():
                add(f"a worker's part: {table}", "MB", size, decided)
            options.say(f"disk: {items:,} items of {characters:,} characters are submitted")
            before, wal = _sizes(ledger), _wal(ledger)
            told = in_a_process(ledger, "submit", str(items), str(characters))
            for table, size in _grown(ledger, before).items():
                add(f"submitted: {table}", "MB", size, items)
            add("submitted: write-ahead log", "MB", (_wal(ledger) - wal) / MEGABYTE, items)
            add("Client.submit", "s", float(str(told["seconds"])), items)
            batch = ledger.client.batch(str(told["batch"]))
            decide_the_rest(ledger, batch)
            for what, seconds in _read(ledger, batch).items():
                add(what, "s", seconds, items)
    note = "tables with their indexes and what is stored out of line; what a worker writes is measured on fewer items"
    return [Table("Disk and time of a large batch", COLUMNS, rows, [note])]


def _sizes(ledger: Ledger) -> Mapping[str, int]:
    with ledger.client.engine.connect() as connection:
        return {row.relname: row.size for row in connection.execute(SIZES)}


def _grown(ledger: Ledger, before: Mapping[str, int]) -> dict[str, float]:
    """Return the growth in megabytes since `before`, for each large table and for all tables."""
    grown = {name: (size - before[name]) / MEGABYTE for name, size in _sizes(ledger).items()}
    together = sum(grown.values())
    largest = sorted((name for name in grown if grown[name] >= LEAST * together), key=lambda name: -grown[name])
    return {**{name: grown[name] for name in largest}, "all tables": together}


def _wal(ledger: Ledger) -> float:
    with ledger.client.engine.connect() as connection:
        return float(connection.execute(WAL).scalar_one())


def _read(ledger: Ledger, batch: Batch) -> dict[str, float]:
    """Return the seconds of the functions that read every item in the ledger."""
    seconds: dict[str, float] = {}
    started = time.perf_counter()
    with ledger.client.engine.connect() as connection:
        summarise(connection, connection.execute(select(batches).where(batches.c.id == batch.uuid)).one())
    seconds["the summary"] = time.perf_counter() - started
    started = time.perf_counter()
    batch.status()
    seconds["Batch.status"] = time.perf_counter() - started
    started = time.perf_counter()
    write_report(ledger.client.engine, batch.id, ReportForm.JSON, StringIO())
    seconds["the report's figures"] = time.perf_counter() - started
    return seconds
