"""The time of a purge, and how much of the freed space returns to the next batch, and to the disk."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import text

from stage.restored import restore
from tamis_producer.retention.purge import give_back, purge, space_taken
from tamis_producer.retention.subjects import find_subjects

from .options import Options
from .parts import Ledger, Parts
from .records import QUESTION, records
from .report import Cell, Table

ITEMS, SHORT_ITEMS = 50_000, 2_000
COLUMNS = ("step", "seconds", "MB on the disk")

# As workers would leave it, without the calls: every item ended, with a result.
RESULTS = text("""
INSERT INTO results (batch_id, idx, fence, round, value, confidence, reasoning, model, prompt_tokens,
                     completion_tokens, calls)
SELECT :id, n, 1, 1, 'true', 0.9, repeat('It says so. ', 20), 'double-1', 900, 120, 1
FROM generate_series(0, :last) n
""")
ITEMS_END = text("UPDATE item_states SET state = 'cancelled' WHERE batch_id = :id")
BATCH_ENDS = text("UPDATE batches SET state = 'cancelled', finished_at = now() WHERE id = :id")


def retention(parts: Parts, options: Options) -> list[Table]:
    """Measure these steps: archive and purge a batch, submit another, restore, purge both, and free the space."""
    given = records(options.items or (SHORT_ITEMS if options.short else ITEMS))
    rows: list[list[Cell]] = []
    with parts.ledger() as ledger:
        engine = ledger.client.engine
        folder = Path(parts.folder) / "archive"

        def measured(step: str, do: Callable[[], Any]) -> Any:
            options.say(f"retention: {step}")
            started = time.perf_counter()
            done = do()
            rows.append([step, time.perf_counter() - started, space_taken(engine) / 1e6])
            return done

        first, _ = measured("two batches are there", lambda: (_ended(ledger, given), _ended(ledger, given)))
        with engine.connect() as connection:
            subjects = find_subjects(connection, ids=[first])
        (purged,) = measured("one is archived and purged", lambda: list(purge(engine, subjects, archive=folder)))
        measured("VACUUM, as autovacuum does", lambda: _vacuum(ledger))
        second = measured("another one is submitted", lambda: _ended(ledger, given))
        measured("the archived one is restored", lambda: restore(ledger.settings.database, folder / f"batch-{first}"))
        with engine.connect() as connection:
            subjects = find_subjects(connection, ids=[first, second])
        measured("two are purged", lambda: list(purge(engine, subjects)))
        measured("VACUUM FULL, as --give-back does", lambda: give_back(engine))
    archived = sum(path.stat().st_size for path in purged.archive.iterdir()) / 1e6
    note = f"batches of {len(given):,} items of 1.7 kB with a result each; the archive has {archived:,.1f} MB"
    return [Table("Retention", COLUMNS, rows, [note])]


def _ended(ledger: Ledger, given: list[dict[str, Any]]) -> str:
    batch = ledger.client.submit(QUESTION, given)
    batch.pause()
    with ledger.client.engine.begin() as connection:
        connection.execute(RESULTS, {"id": batch.id, "last": len(given) - 1})
        connection.execute(ITEMS_END, {"id": batch.id})
        connection.execute(BATCH_ENDS, {"id": batch.id})
    return batch.id


def _vacuum(ledger: Ledger) -> None:
    with ledger.client.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM"))
