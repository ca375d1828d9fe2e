"""ASReview's project files, as versions 2 and 3 of ASReview LAB write them: an archive with SQLite databases.

In version 3 `results.db` holds the records and what was decided; in version 2 the records stand in `data_store.db`, the
decisions in `reviews/<id>/results.db`. Version 1 keeps the data set as it was uploaded and numbers its rows: which
record a decision is of then depends on how that file is read, so such a project is refused.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

from tamis_schemas import InputError

from .foreign_rows import ForeignRow, ForeignWord

PROJECT = "project.json"
RESULTS, STORE = "results.db", "data_store.db"
_RECORDS = "SELECT record_id, title, doi FROM record"
_LABELS = "SELECT record_id, label, note FROM results WHERE label IS NOT NULL ORDER BY rowid"
_OLD = (
    "a project of ASReview LAB before version 2, which numbers the rows of its data set instead of keeping records: "
    "open it in a newer version and export it anew, or export the data set with its labels as CSV"
)


def read_project(archive: ZipFile, path: Path, max_bytes: int) -> Iterator[ForeignRow]:
    """The records of a project that have a label. Raises `InputError` where it is none that is read here."""
    import sqlite3  # a megabyte of memory, which who reads no project does not take

    try:
        project: Any = json.loads(archive.read(PROJECT))
        version = project.get("project_file_version", 1)
    except (ValueError, AttributeError) as error:
        raise InputError(f"{PROJECT} in it is no JSON object", path=path) from error
    if version not in (2, 3):
        newer = isinstance(version, int) and version > 3
        raise InputError(f"a project file of version {version}: 2 and 3 are read" if newer else _OLD, path=path)
    reviews = project.get("reviews") or [{}]
    members = (RESULTS, RESULTS) if version == 3 else (STORE, f"reviews/{reviews[0].get('id')}/{RESULTS}")
    with TemporaryDirectory(prefix="tamis-asreview-") as folder:
        try:
            records = _query(archive, members[0], Path(folder) / STORE, _RECORDS, max_bytes)
            labels = _query(archive, members[1], Path(folder) / RESULTS, _LABELS, max_bytes)
        except (KeyError, ValueError, sqlite3.Error) as error:
            raise InputError(f"its databases are not those of a project: {error}", path=path) from error
    known = {record_id: {"title": title, "doi": doi} for record_id, title, doi in records}
    for record_id, label, note in labels:
        record = {name: str(value) for name, value in known.get(record_id, {}).items() if value}
        yield ForeignRow(f"record {record_id}", record, (ForeignWord(str(label), note=note or None),))


def _query(archive: ZipFile, member: str, copy: Path, statement: str, max_bytes: int) -> list[tuple[Any, ...]]:
    import sqlite3

    if archive.getinfo(member).file_size > max_bytes:
        raise ValueError(f"{member} has more than {max_bytes:,} bytes, the most that is read")
    copy.write_bytes(archive.read(member))
    with closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute(statement).fetchall()
