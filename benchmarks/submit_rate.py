"""The number of items per second that enter the ledger, compared with a bare COPY of the same rows."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, text

from tamis_producer.ledger import insert_batch
from tamis_producer.submission.new_batch import NewBatch, parameters, rows_of
from tamis_schemas.values.unstorable import to_json

from .options import Options
from .parts import Ledger, Parts
from .records import MODEL, QUESTION, records
from .report import Cell, Table

ITEMS, SHORT_ITEMS = 50_000, 2_000
REPETITIONS = 3
COLUMNS = ("what", "items/s", "to the bare COPY")

COPY = "COPY bare (batch_id, idx, item_id, payload) FROM STDIN"


def submit_rate(parts: Parts, options: Options) -> list[Table]:
    """Measure `Client.submit`, its part up to the commit, and a bare COPY, in turns. The medians count."""
    given = records(options.items or (SHORT_ITEMS if options.short else ITEMS))
    repetitions = options.repetitions or (1 if options.short else REPETITIONS)
    contestants: dict[str, Callable[[Ledger, Sequence[dict[str, Any]]], float]] = {
        "a bare COPY of rows that are ready": _bare_copy,
        "a bare COPY, and json.dumps of every item": _serialised_copy,
        "into the ledger: batch, shards and items, checked and committed": _into_ledger,
        "Client.submit: the same, and its first shards published": _submit,
    }
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    with parts.ledger() as ledger:
        with ledger.client.engine.begin() as connection:
            connection.execute(text("CREATE TABLE bare (LIKE items INCLUDING DEFAULTS INCLUDING INDEXES)"))
        for turn in range(repetitions):
            options.say(f"submit: {len(given):,} items, run {turn + 1}")
            for name, run in contestants.items():
                seconds[name].append(run(ledger, given))
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    bare = medians["a bare COPY of rows that are ready"]
    rows: list[list[Cell]] = [[name, len(given) / median, bare / median] for name, median in medians.items()]
    note = f"{len(given):,} items of 1.7 kB, {repetitions} interleaved runs, medians"
    return [Table("Submit", COLUMNS, rows, [note])]


def _bare_copy(ledger: Ledger, given: Sequence[dict[str, Any]]) -> float:
    payloads = [to_json(item) for item in given]
    started = time.perf_counter()
    with ledger.client.engine.begin() as connection:
        _copy(connection, given, payloads)
    return time.perf_counter() - started


def _serialised_copy(ledger: Ledger, given: Sequence[dict[str, Any]]) -> float:
    started = time.perf_counter()
    with ledger.client.engine.begin() as connection:
        _copy(connection, given, [to_json(item) for item in given])
    return time.perf_counter() - started


def _copy(connection: Connection, given: Sequence[dict[str, Any]], payloads: Sequence[str]) -> None:
    driver: Any = connection.connection.driver_connection
    name = "00000000-0000-0000-0000-000000000000"
    with driver.cursor() as cursor:
        cursor.execute("TRUNCATE bare")
        with cursor.copy(COPY) as copy:
            for index, (item, payload) in enumerate(zip(given, payloads, strict=True)):
                copy.write_row((name, index, item["id"], payload))


def _into_ledger(ledger: Ledger, given: Sequence[dict[str, Any]]) -> float:
    started = time.perf_counter()
    params = parameters(QUESTION)
    batch = NewBatch(
        operation=params["operation"],
        params=params,
        model=MODEL,
        items=rows_of(given),
        shard_size=ledger.settings.shard_size,
        window=ledger.settings.shard_window,
    )
    with ledger.client.engine.begin() as connection:
        insert_batch(connection, batch)
    return time.perf_counter() - started


def _submit(ledger: Ledger, given: Sequence[dict[str, Any]]) -> float:
    started = time.perf_counter()
    ledger.client.submit(QUESTION, given)
    return time.perf_counter() - started
