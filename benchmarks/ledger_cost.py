"""The cost of listing, status, sweep and claim with few and with many finished items, and of an item in the heap.

The main figure is blocks: the number of pages of Postgres that a statement touches does not depend on the machine's
other work. Finished items are written by SQL, with small payloads, in batches of a realistic size.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, event, text

from llm_double import Double
from tamis_producer.ledger import find_batch, read_views
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_producer.runs.rounds import find_retryable
from tamis_schemas.batches import wire
from tamis_worker.ledger import claims, recovery
from tamis_worker.ledger.connection import connect, transaction

from .options import Options
from .parts import Ledger, Parts
from .records import QUESTION, records
from .report import Cell, Table

FINISHED, SHORT_FINISHED = (10_000, 10_000_000), (2_000, 10_000)
BATCH = 2_000  # items of a finished one; one in fifty failed in every tenth batch
LIVE = 1_000  # items of the batch that is in flight, whose shards are dispatched
RUN, SHORT_RUN = 5_000, 200
REPEATED = 5
COLUMNS = ("finished items", "what", "blocks", "ms")
HEAP_COLUMNS = ("items decided", "HOT share", "heap bytes an item")
DONE_WITHIN = 1200.0  # s
SETTLED = 2.0  # s until the server's processes have told what they changed

# Every table as workers and producers leave it; triggers are off, and the counters are made by the recount.
FILL = (
    "SET session_replication_role = replica",
    "INSERT INTO batches (id, content_sha256, operation, params, n_items, shard_size, window_size, state, lane, "
    "created_at, started_at, finished_at) "
    """SELECT gen_random_uuid(), '', 'filter', '{{"operation": "filter", "criteria": "Is it?"}}', {batch}, 500, 20, """
    "'completed', 0, at, at, at FROM (SELECT now() - interval '1 hour' * n AS at "
    "FROM generate_series(1, {batches}) AS n) AS x",
    "INSERT INTO shards (batch_id, round, shard, first_idx, end_idx, state, dispatched_at, aggregated_at) "
    "SELECT id, 1, n, n * 500, (n + 1) * 500, 'aggregated', created_at, finished_at "
    "FROM batches, generate_series(0, {batch} / 500 - 1) AS n WHERE state = 'completed'",
    'INSERT INTO payloads (batch_id, idx, payload) SELECT id, n, \'{{"title": "t"}}\' '
    "FROM batches, generate_series(0, {batch} - 1) AS n WHERE state = 'completed'",
    "INSERT INTO item_states (batch_id, idx, item_id, state, attempts, fence) SELECT id, n, 'i' || n, "
    "CASE WHEN left(id::text, 1) = '0' AND n % 50 = 0 THEN 'failed' ELSE 'decided' END, 1, 1 "
    "FROM batches, generate_series(0, {batch} - 1) AS n WHERE state = 'completed'",
    "INSERT INTO results (batch_id, idx, fence, round, value, error_kind, error, prompt_tokens, completion_tokens, "
    "cost, calls) SELECT batch_id, idx, 1, 1, CASE WHEN state = 'decided' THEN to_json(true) END, "
    "CASE WHEN state = 'failed' THEN 'timeout' END, CASE WHEN state = 'failed' THEN 'late' END, 100, 10, 0.001, 1 "
    "FROM item_states",
    "SET session_replication_role = origin",
    "SELECT count(settle_tallies(id)) FROM batches",
    "VACUUM ANALYZE",
)


def ledger_cost(parts: Parts, options: Options) -> list[Table]:
    """Measure blocks and milliseconds of statements by the number of finished items, then HOT share and growth."""
    sizes: tuple[int, ...] = SHORT_FINISHED if options.short else FINISHED
    if options.items:
        sizes = (options.items,) if options.short else (sizes[0], options.items)
    rows: list[list[Cell]] = []
    for finished in sizes:
        with parts.ledger(shard_size=500, shard_window=20) as ledger:
            options.say(f"ledger: {finished:,} finished items are written")
            _fill(ledger.client.engine, finished)
            options.say(f"ledger: what a look costs with {finished:,} finished items")
            rows += [[finished, *row] for row in asyncio.run(_looks(ledger))]
    note = (
        f"finished batches of {BATCH:,} items, one in flight with {LIVE:,}; blocks: pages of 8 kB touched; "
        f"median of {REPEATED}; the sweep is all its statements"
    )
    return [
        Table("Cost of a look at the ledger", COLUMNS, rows, [note]),
        _heap(parts, options, SHORT_RUN if options.short else RUN),
    ]


def _fill(engine: Engine, finished: int) -> None:
    size = min(BATCH, finished)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        driver: Any = connection.connection.driver_connection
        for statement in FILL:
            driver.execute(statement.format(batch=size, batches=max(finished // size, 1)))


async def _looks(ledger: Ledger) -> list[list[Cell]]:
    batch = UUID(ledger.client.submit(QUESTION, records(LIVE)).id)
    sync, engine = ledger.client.engine, connect(ledger.settings.database)
    await recovery.renew_lease(engine, WorkerReport(id="bench"), lease=600)
    keys = [claims.ItemKey(batch, index) for index in range(LIVE)]
    queues = list(wire.ITEM_QUEUES.values())
    turn = iter(range(LIVE))

    async def sweep() -> None:
        async with transaction(engine) as connection:
            await recovery.give_up_poison(connection, max_claims=5)
            await recovery.release_dead(connection)
            await recovery.find_lost(connection, grace=15.0, empty=queues)
            await recovery.find_unclosed(connection, grace=15.0)
            await recovery.find_undispatched(connection, grace=15.0)
            await recovery.find_unadvanced(connection, grace=15.0)
            await recovery.find_unfinished(connection)

    async def claim() -> None:
        await claims.claim(engine, [keys[next(turn)] for _ in range(20)], worker="bench")

    def looking(look: Callable[[Connection], object]) -> Callable[[], Any]:
        async def run() -> None:
            with sync.connect() as connection:
                look(connection)

        return run

    whats: dict[str, tuple[Callable[[], Any], Engine]] = {
        "list of 20 batches": (looking(lambda c: read_views(c, limit=20)), sync),
        "status of the batch in flight": (looking(lambda c: read_views(c, batch_id=batch)), sync),
        "a batch by the beginning of its id": (looking(lambda c: find_batch(c, str(batch)[:13])), sync),
        "batches to retry": (looking(find_retryable), sync),
        "sweep": (sweep, engine.sync_engine),
        "claim of 20 items": (claim, engine.sync_engine),
    }
    rows: list[list[Cell]] = []
    for what, (run, of) in whats.items():
        await run()  # connects, and warms what is kept of a plan
        seconds = []
        for _ in range(REPEATED):
            began = time.perf_counter()
            await run()
            seconds.append(time.perf_counter() - began)
        rows.append([what, await _blocks(of, run), 1000 * statistics.median(seconds)])
    await engine.dispose()
    return rows


async def _blocks(engine: Engine, run: Callable[[], Any]) -> int:
    """Return the pages that the statements of one run touch, from EXPLAIN (ANALYZE, BUFFERS) of each statement."""
    told: list[int] = []

    def explain(connection: Connection, cursor: Any, statement: str, given: Any, context: Any, many: bool) -> None:
        if statement.lstrip().upper().startswith(("SELECT", "WITH", "UPDATE", "INSERT", "DELETE")):
            cursor.execute("SAVEPOINT explained")
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", given)
            found = cursor.fetchone()[0]
            plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
            told.append(sum(plan[f"{which} {how} Blocks"] for which in ("Shared", "Local") for how in ("Hit", "Read")))
            cursor.execute("ROLLBACK TO explained")

    event.listen(engine, "before_cursor_execute", explain)
    try:
        await run()
    finally:
        event.remove(engine, "before_cursor_execute", explain)
    return sum(told)


def _heap(parts: Parts, options: Options, items: int) -> Table:
    options.say(f"ledger: {items:,} items through a worker")
    size = text("SELECT pg_relation_size('item_states') + pg_table_size('payloads')")
    with parts.ledger() as ledger, Double.start(remember=False) as double:
        with ledger.client.engine.connect() as connection:
            batch = ledger.client.submit(QUESTION, records(items), use_cache=False)
            before = connection.execute(size).scalar_one()
            with parts.workers(1, ledger, double):
                batch.wait(timeout=DONE_WITHIN)
                connection.rollback()
                after = connection.execute(size).scalar_one()
                time.sleep(SETTLED)
        with ledger.client.engine.connect() as connection:
            counters = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'item_states'"
            updated, hot = connection.execute(text(counters)).one()
    note = "through one worker and the LLM double; the heaps of states and payloads, from the submission to the end"
    return Table(
        "An item's end in the heap", HEAP_COLUMNS, [[items, hot / max(updated, 1), (after - before) / items]], [note]
    )
