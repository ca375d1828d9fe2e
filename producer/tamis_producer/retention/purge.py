"""A purge: batches and reviews are archived, marked and deleted, one after the other, and their space is reclaimed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg import sql
from sqlalchemy import Connection, Engine, func, select

from tamis_schemas.ledger import metadata

from ..ledger import ledger_errors
from .archive import archive_rows
from .deletion import delete_slice, lock, mark
from .subjects import Subject


@dataclass(frozen=True)
class Purged:
    """A deleted batch or review."""

    subject: Subject
    archive: Path | None  # folder of its archive


def purge(
    engine: Engine,
    subjects: Sequence[Subject],
    *,
    archive: Path | None = None,
    progress: Callable[[int], None] = lambda items: None,
) -> Iterator[Purged]:
    """Delete each subject (a batch or a review) with all its rows, and yield a `Purged` afterwards.

    Rows left by a killed purge are deleted first. A subject is skipped if it is being retried, or if another purge has
    deleted it. Rows are deleted in slices, each in its own transaction. After each slice, `progress` receives the
    number of deleted items.

    Raises:
        OperationFailed: an archive could not be written; its rows are still in the ledger.
        LedgerUnavailable: the ledger does not answer; the next purge deletes the remaining rows.
    """
    _delete_marked(engine, progress)
    for subject in subjects:
        with ledger_errors(), engine.begin() as connection:
            purged = archive_locked(connection, subject, archive=archive)
        if purged is not None:
            _delete_marked(engine, progress)
            yield purged


def archive_locked(
    connection: Connection,
    subject: Subject,
    *,
    archive: Path | None,
    going_on: Callable[[], None] = lambda: None,
) -> Purged | None:
    """Archive a subject (a batch or a review) in the folder `archive` (None: no archive), and hide the subject.

    Return None if the subject may not be purged now. Both steps are in the caller's transaction, so no decision can
    come between them. `going_on` is called for each piece of a file, and may raise an error to stop.
    """
    locked = lock(connection, subject)
    if locked is None:
        return None
    written = None if archive is None else archive_rows(connection, locked, archive, going_on=going_on)
    mark(connection, locked)
    return Purged(locked, written)


def space_taken(engine: Engine) -> int:
    """Return the size of all tables in bytes, including indexes and free space. May raise `LedgerUnavailable`."""
    with ledger_errors(), engine.connect() as connection:
        return sum(
            connection.execute(select(func.pg_total_relation_size(func.to_regclass(table.name)))).scalar_one() or 0
            for table in metadata.sorted_tables
        )


def give_back(engine: Engine) -> int:
    """Rewrite every table without its free space, and return the size of all tables afterwards, in bytes.

    VACUUM FULL locks each table for readers and writers. For a role that does not own the tables, nothing changes.
    May raise `LedgerUnavailable`.
    """
    with ledger_errors(), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        driver: Any = connection.connection.driver_connection
        for table in metadata.sorted_tables:
            driver.execute(sql.SQL("VACUUM (FULL, ANALYZE) {}").format(sql.Identifier(table.name)))
    return space_taken(engine)


def _delete_marked(engine: Engine, progress: Callable[[int], None]) -> None:
    while True:
        with ledger_errors(), engine.begin() as connection:
            deleted = delete_slice(connection)
        if deleted is None:
            return
        progress(deleted)
