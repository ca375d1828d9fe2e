"""An archive: a folder with a file for each table, in Postgres's COPY text format, and a restoring script.

The folder is written beside its final place, read back, and renamed in one step. psql restores the archive, without
Tamis.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import ClauseElement, Column, ColumnElement, Connection, Text, cast, func, literal, null, select, update

from tamis_schemas import OperationFailed
from tamis_schemas.ledger import batches, payloads, reviews
from tamis_schemas.ledger.revisions import head

from .holdings import Holding, holdings
from .subjects import Subject

SCRIPT = "restore.sql"
ENCODING = "(ENCODING 'UTF8')"  # in every file, for any session
BLOCK = 1_000_000  # bytes read back at once

# Values that change in restored rows, so that they collide with no other row, and no trigger announces them again.
INSTEAD: dict[ColumnElement[Any], ColumnElement[Any]] = {
    batches.c.idempotency_key: null(),
    batches.c.restored_at: func.now(),
    payloads.c.call_id: null(),
    reviews.c.content_sha256: literal("restored ").concat(cast(reviews.c.id, Text)),
}


def archive_rows(
    connection: Connection, subject: Subject, folder: Path, *, going_on: Callable[[], None] = lambda: None
) -> Path:
    """Write the rows locked by this transaction to an archive, a new folder within `folder`. Return the new folder.

    The archive replaces an older archive of the same batch or review. `going_on` is called for each piece of a file,
    and may raise an error to stop. Raises `OperationFailed` if a file cannot be written, or does not contain its rows
    when read back.
    """
    _in_one_notation(connection)
    place = folder / f"{subject.noun}-{subject.id}"
    draft = folder / f".{place.name}.{os.getpid()}"
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True, mode=0o700)
        archived = (holding for holding in holdings(subject.batch_ids, subject.review_id) if holding.archived)
        files = [(holding, _write(connection, holding, draft, going_on)) for holding in archived]
        (draft / SCRIPT).write_text("\n".join(_script(connection, subject, files)) + "\n", "utf-8")
        _sync(draft / SCRIPT)
        _sync(draft)
        _put_in_place(draft, place)
    except OSError as error:
        raise OperationFailed(f"the archive {place} could not be written, so nothing is deleted: {error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return place


def _write(connection: Connection, holding: Holding, draft: Path, going_on: Callable[[], None]) -> int:
    """Write the rows of a table in the order of its primary key, and return their number. May raise `OSError`."""
    table = holding.table
    rows = select(*(INSTEAD.get(column, column) for column in _columns(holding))).where(holding.condition)
    statement = f"COPY ({_sql(connection, rows.order_by(*table.primary_key.columns))}) TO STDOUT {ENCODING}"
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101 - an open SQLAlchemy connection has one
    with driver.cursor() as cursor:
        path = draft / _file_of(holding)
        with path.open("wb") as stream, cursor.copy(statement) as pieces:
            for piece in pieces:
                going_on()
                stream.write(piece)
        n: int = cursor.rowcount
    _sync(path)
    with path.open("rb") as stream:
        lines = sum(block.count(b"\n") for block in iter(partial(stream.read, BLOCK), b""))
    if lines != n:
        raise OSError(f"{path.name} holds {lines:,} of {n:,} rows")
    return n


def _file_of(holding: Holding) -> str:
    return f"{holding.table.name}.copy"


def _script(connection: Connection, subject: Subject, files: Sequence[tuple[Holding, int]]) -> Iterator[str]:
    """Yield the lines of a script that restores all rows or none. Referenced rows come first, as in `files`."""
    name = connection.dialect.identifier_preparer.quote
    yield f"-- {subject.noun.capitalize()} {subject.id}, {subject.items:,} items; tables of revision {head()}."
    yield '-- In this folder, as the owner of the tables: psql "$LEDGER" --file restore.sql'
    yield "-- It restores everything or nothing; if the batch exists already, it ends with an error."
    yield "\\set ON_ERROR_STOP on"
    yield "BEGIN;"
    yield "SET LOCAL statement_timeout = 0;"
    for holding, _ in files:
        columns = ", ".join(name(column.name) for column in _columns(holding))
        yield f"\\copy {name(holding.table.name)} ({columns}) FROM '{_file_of(holding)}' {ENCODING}"
    restored = update(batches).where(batches.c.id.in_(subject.batch_ids)).values(restored_at=func.now())
    yield f"{_sql(connection, restored)};"
    yield "DO $$ BEGIN"
    for holding, n in files:
        count = select(func.count()).select_from(holding.table).where(holding.condition)
        yield f"ASSERT ({_sql(connection, count)}) = {n}, '{_file_of(holding)} does not hold its {n} rows';"
    yield "END $$;"
    yield "COMMIT;"


def _columns(holding: Holding) -> list[Column[Any]]:
    """Return the archived columns.

    Generated numbers are omitted, because restoring generates them in the same order.
    """
    return [column for column in holding.table.c if column.identity is None]


def _sql(connection: Connection, clause: ClauseElement) -> str:
    compiled = clause.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
    return str(compiled).replace("\n", "")  # each line ends with a space


def _in_one_notation(connection: Connection) -> None:
    """Set one notation for times and numbers, and remove the time limits, until the end of this transaction."""
    settings = {
        "TimeZone": "UTC",
        "DateStyle": "ISO",
        "extra_float_digits": "1",
        "statement_timeout": "0",
        "idle_in_transaction_session_timeout": "0",
    }
    connection.execute(select(*(func.set_config(name, value, True) for name, value in settings.items())))


def _put_in_place(draft: Path, place: Path) -> None:
    """Move the older archive aside, rename the draft to its place, then remove the older archive."""
    former = place.with_name(f".{place.name}.former")
    shutil.rmtree(former, ignore_errors=True)
    if place.exists():
        place.rename(former)
    draft.rename(place)
    _sync(place.parent)
    shutil.rmtree(former, ignore_errors=True)


def _sync(path: Path) -> None:
    """Wait until the file or folder is on the disk. Only then may the archived rows be deleted."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
