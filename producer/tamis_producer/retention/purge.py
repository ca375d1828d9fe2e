"""A purge: archive, mark and delete, one batch or review after the other; and the space that this frees."""

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
    """One batch or review that is gone."""

    subject: Subject
    archive: Path | None  # the folder of its archive


def purge(
    engine: Engine,
    subjects: Sequence[Subject],
    *,
    archive: Path | None = None,
    progress: Callable[[int], None] = lambda items: None,
) -> Iterator[Purged]:
    """Delete each with everything that belongs to it, and give it back when it is gone.

    What an earlier purge was killed in is deleted first. One that may not go any more, since somebody retries it or
    another purge was quicker, is left out. `progress` is told the items of each slice.

    Raises:
        OperationFailed: an archive could not be written; what it was to hold is still there.
        LedgerUnavailable: the ledger does not answer; the next purge goes on where this one was.
    """
    _delete_marked(engine, progress)
    for subject in subjects:
        with ledger_errors(), engine.begin() as connection:
            kept = archive_locked(connection, subject, archive=archive)
        if kept is not None:
            _delete_marked(engine, progress)
            yield kept


def archive_locked(
    connection: Connection,
    subject: Subject,
    *,
    archive: Path | None,
    going_on: Callable[[], None] = lambda: None,
) -> Purged | None:
    """Archive one, where a folder is given, and mark it: nobody sees it any more. None where it may not go now.

    Both in the caller's transaction: nobody can decide about a record between the archive and the end.
    """
    locked = lock(connection, subject)
    if locked is None:
        return None
    written = None if archive is None else archive_rows(connection, locked, archive, going_on=going_on)
    mark(connection, locked)
    return Purged(locked, written)


def space_taken(engine: Engine) -> int:
    """Return the bytes of the tables now, with their indexes and what is free in them. Raises `LedgerUnavailable`."""
    with ledger_errors(), engine.connect() as connection:
        return sum(
            connection.execute(select(func.pg_total_relation_size(func.to_regclass(table.name)))).scalar_one() or 0
            for table in metadata.sorted_tables
        )


def give_back(engine: Engine) -> int:
    """Write every table anew without the space that is free in it, and return the bytes of the tables afterwards.

    Nobody reads or writes a table meanwhile: VACUUM FULL locks it. Who does not own the tables changes nothing.
    Raises `LedgerUnavailable`.
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
        progress(deleted.items)
