"""A purge: archive, mark and delete, one batch or review after the other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine

from ..ledger import ledger_errors
from .archive import Archive, archive_rows
from .deletion import delete_slice, lock, mark
from .row_files import ArchiveFormat
from .subjects import Subject


@dataclass(frozen=True)
class Purged:
    """One batch or review that is gone."""

    subject: Subject
    archive: Archive | None


def purge(
    engine: Engine,
    subjects: Sequence[Subject],
    *,
    archive: Path | None = None,
    form: ArchiveFormat = ArchiveFormat.JSONL,
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
            kept = archive_locked(connection, subject, archive=archive, form=form)
        if kept is not None:
            _delete_marked(engine, progress)
            yield kept


def archive_locked(
    connection: Connection,
    subject: Subject,
    *,
    archive: Path | None,
    form: ArchiveFormat = ArchiveFormat.JSONL,
    going_on: Callable[[], None] = lambda: None,
) -> Purged | None:
    """Archive one, where a folder is given, and mark it: nobody sees it any more. None where it may not go now.

    Both in the caller's transaction: nobody can decide about a record between the archive and the end.
    """
    locked = lock(connection, subject)
    if locked is None:
        return None
    written = None if archive is None else archive_rows(connection, locked, archive, form, going_on=going_on)
    mark(connection, locked)
    return Purged(locked, written)


def _delete_marked(engine: Engine, progress: Callable[[int], None]) -> None:
    while True:
        with ledger_errors(), engine.begin() as connection:
            deleted = delete_slice(connection)
        if deleted is None:
            return
        progress(deleted.items)
