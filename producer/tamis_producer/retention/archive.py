"""An archive: a folder with a file of rows for each table, and a manifest with their counts and sums.

It is written beside its place and put there in one step, after every file has been read back.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import Connection

from tamis_schemas import InputError, OperationFailed
from tamis_schemas.ledger.revisions import head
from tamis_schemas.values.frozen import Frozen

from .holdings import holdings
from .row_files import ArchiveFormat, check, read_file, write_file
from .rows import Row, archived_columns, in_one_notation, read_rows
from .subjects import Subject

MANIFEST = "manifest.json"


class TableFile(Frozen):
    """The rows of one table."""

    table: str
    file: str
    columns: tuple[str, ...]
    rows: int
    bytes: int
    sha256: str  # of the file
    rows_sha256: str  # of what stands in it, whatever the format


class Archive(Frozen):
    """The manifest: what is in an archive, and what its files must be to be whole."""

    noun: Literal["batch", "review"]
    id: UUID
    label: str | None
    batches: tuple[UUID, ...]
    review: UUID | None
    items: int
    format: ArchiveFormat
    revision: str  # of the ledger's tables
    tables: tuple[TableFile, ...]

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(one.bytes for one in self.tables)


def archive_rows(
    connection: Connection,
    subject: Subject,
    folder: Path,
    form: ArchiveFormat = ArchiveFormat.JSONL,
    *,
    going_on: Callable[[], None] = lambda: None,
) -> Archive:
    """Archive what is locked by this transaction into a folder of its own within `folder`, and read it back.

    One of the same batch that is there already is replaced. `going_on` is called for each row, and may raise.

    Raises:
        OperationFailed: it could not be written, or what was read back is not what was written.
        ConfigurationError: Parquet is asked for, and its extra is not installed.
    """
    check(form)
    in_one_notation(connection)
    place = folder / f"{subject.noun}-{subject.id}"
    draft = folder / f".{place.name}.{os.getpid()}"
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True, mode=0o700)
        archive = Archive(
            noun="batch" if subject.review_id is None else "review",
            id=subject.id,
            label=subject.label,
            batches=subject.batch_ids,
            review=subject.review_id,
            items=subject.items,
            format=form,
            revision=head(),
            tables=tuple(_write_tables(connection, subject, draft, form, going_on)),
        )
        _write_synced(draft / MANIFEST, archive.model_dump_json(indent=2) + "\n")
        verify(draft)
        _put_in_place(draft, place)
    except (OSError, InputError) as error:
        raise OperationFailed(f"the archive {place} could not be written, so nothing is deleted: {error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return archive


def read_archive(folder: Path) -> Archive:
    """The manifest of an archive. Raises `InputError` where there is none, or it is none of ours."""
    path = folder / MANIFEST
    try:
        return Archive.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"there is no archive: {error.strerror}", path=path) from error
    except ValidationError as error:
        raise InputError("it is no manifest of an archive of Tamis", path=path) from error


def find_archives(folder: Path) -> list[Path]:
    """The archives in a folder, or the folder itself where it is one. Raises `InputError` where there is none."""
    if (folder / MANIFEST).exists():
        return [folder]
    folders = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}") if not path.parent.name.startswith("."))
    if not folders:
        raise InputError(f"there is no archive: neither {MANIFEST} nor a folder with one", path=folder)
    return folders


def verify(folder: Path) -> Archive:
    """The manifest, once every file is found to be what it says. Raises `InputError` naming the file that is not."""
    archive = read_archive(folder)
    for one in archive.tables:
        path = folder / Path(one.file).name
        try:
            if _sum_of(path) != one.sha256:
                raise InputError("it is not the file that was archived: its SHA-256 is another", path=path)
            read = _Summed(read_file(path, archive.format, one.columns))
            for _ in read:
                pass
        except (OSError, EOFError, ValueError, KeyError) as error:
            raise InputError(f"it cannot be read: {error}", path=path) from error
        if (read.rows, read.sha256) != (one.rows, one.rows_sha256):
            raise InputError(f"it holds {read.rows:,} rows that are not the {one.rows:,} archived ones", path=path)
    return archive


def _write_tables(
    connection: Connection, subject: Subject, draft: Path, form: ArchiveFormat, going_on: Callable[[], None]
) -> Iterator[TableFile]:
    for holding in holdings(subject.batch_ids, subject.review_id):
        if not holding.archived:
            continue
        columns = archived_columns(holding)
        path = draft / f"{holding.table.name}{form.suffix}"
        rows = _Summed(_told(read_rows(connection, holding), going_on))
        write_file(path, form, columns, rows)
        _sync(path)
        yield TableFile(
            table=holding.table.name,
            file=path.name,
            columns=tuple(column.name for column in columns),
            rows=rows.rows,
            bytes=path.stat().st_size,
            sha256=_sum_of(path),
            rows_sha256=rows.sha256,
        )


class _Summed:
    """Rows that are counted and summed up while they pass."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._given = rows
        self._sum = hashlib.sha256()
        self.rows = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._given:
            self._sum.update(json.dumps(row).encode() + b"\n")
            self.rows += 1
            yield row

    @property
    def sha256(self) -> str:
        return self._sum.hexdigest()


def _told(rows: Iterator[Row], going_on: Callable[[], None]) -> Iterator[Row]:
    for row in rows:
        going_on()
        yield row


def _put_in_place(draft: Path, place: Path) -> None:
    """Rename the draft in one step, as far as a folder can be; the archive before it is removed last."""
    former = place.with_name(f".{place.name}.former")
    shutil.rmtree(former, ignore_errors=True)
    if place.exists():
        place.rename(former)
    draft.rename(place)
    _sync(place.parent)
    shutil.rmtree(former, ignore_errors=True)


def _write_synced(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    _sync(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    """Have the disk hold it, before what it holds is deleted elsewhere."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sum_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
