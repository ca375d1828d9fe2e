"""A file of decisions from another program: a table, an export of Rayyan, Covidence or ASReview, or references.

Each row contains a record's identifiers and people's decisions, in the file's own words. Tamis guesses each column that
the caller does not name.
"""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo, is_zipfile

from tamis_producer.files.decode import MAX_FILE_BYTES, read_decoded
from tamis_schemas import InputError

from ..intake.cell_rows import CellRow, rows_of_table
from ..intake.columns import canonical_name, listed
from ..intake.reading import read_records
from ..intake.recognise import Format, recognise
from ..intake.record import LINE
from ..intake.record_count import MOST_RECORDS, RecordCount, TooLarge, check_records

DECISION, REVIEWER, REASON, NOTE, RETRIEVAL = "decision", "reviewer", "reason", "note", "retrieval"
RECORD = ("id", "title", "doi", "pmid")  # fields that identify a record

# Usual names in programs and tables; a table may have a column for each.
_NAMES: Mapping[str, tuple[str, ...]] = {
    DECISION: (
        *("decision", "response", "vote", "verdict", "label", "included", "include", "screening decision"),
        *("final decision", "full text decision", "title abstract decision", "human decision", "label included"),
    ),
    REVIEWER: ("reviewer", "screener", "rater", "decided by", "reviewer name"),
    REASON: ("reason", "reason for exclusion", "exclusion reason", "exclusion reasons", "exclude reason", "reasons"),
    NOTE: ("note", "notes", "comment", "comments", "asreview note"),
    RETRIEVAL: ("retrieved", "retrieval", "full text retrieved"),
}
_ASREVIEW = "asreview label"  # the data set's earlier labels are in `included`


@dataclass(frozen=True)
class TableColumns:
    """The names of a table's columns. Tamis guesses each name that is None. "": the table lacks the column."""

    id: str | None = None
    decision: str | None = None
    reviewer: str | None = None
    reason: str | None = None
    note: str | None = None
    retrieval: str | None = None


@dataclass(frozen=True)
class Header:
    """The row of a table with the column names."""

    cells: Sequence[str]

    @cached_property
    def plain(self) -> list[str]:
        """Return the names in lower case, with spaces for underscores, and without surrounding blanks."""
        return [_plain(cell) for cell in self.cells]

    @property
    def known(self) -> int:
        """Return how many columns have a recognised name."""
        ours = {name for names in _NAMES.values() for name in names} | {_ASREVIEW}
        return sum(
            canonical_name(cell) is not None or plain in ours
            for cell, plain in zip(self.cells, self.plain, strict=True)
        )

    def record_places(self, named: TableColumns, path: Path) -> dict[str, int]:
        """Return the positions of the columns id, title, doi and pmid.

        Raises `InputError` if a column in `named` is missing.
        """
        roles = [canonical_name(cell) for cell in self.cells]
        columns = {role: roles.index(role) for role in roles if role in RECORD}
        return columns | ({"id": self._named(named.id, path)} if named.id else {})

    def places(self, named: TableColumns, path: Path, *, decision: bool) -> dict[str, int]:
        """Return the positions of the columns for decision, reviewer, reason, note and retrieval.

        `decision`: whether a decision column is required. Raises `InputError` if a named column is missing, or if Tamis
        cannot guess a required decision column.
        """
        places = {}
        for role in _NAMES:
            name = getattr(named, role)
            if name:
                places[role] = self._named(name, path)
            elif name is None and (role != DECISION or decision):
                guessed = self._guessed(role)
                if role == DECISION and len(guessed) != 1:
                    raise InputError(self._which(guessed), path=path)
                if len(guessed) == 1:
                    places[role] = guessed[0]
        return places

    def shown(self, places: Mapping[str, int]) -> dict[str, str]:
        """Return a mapping from field to the file's column name. `places`: field -> position of the column."""
        return {role: self.cells[place].strip() for role, place in places.items()}

    def _named(self, name: str, path: Path) -> int:
        if _plain(name) not in self.plain:
            raise InputError(f"no column {name!r}; there are: {listed(self.cells)}", path=path)
        return self.plain.index(_plain(name))

    def _guessed(self, role: str) -> list[int]:
        if role == DECISION and _ASREVIEW in self.plain:
            return [self.plain.index(_ASREVIEW)]
        return [place for place, name in enumerate(self.plain) if name in _NAMES[role]]

    def _which(self, guessed: Sequence[int]) -> str:
        if guessed:
            several = ", ".join(repr(self.cells[place].strip()) for place in guessed)
            return f"several columns may contain the decisions: {several}; choose one with --decision-column"
        return (
            f"no column of decisions was recognised: name it with --decision-column; there are: {listed(self.cells)}. "
            "If all records have the same decision, as in Covidence's exports, use --all include or --all exclude"
        )


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name).strip().casefold()


@dataclass(frozen=True)
class ForeignWord:
    """A person's decision, in the file's own words."""

    word: str  # empty: no decision
    reviewer: str | None = None  # None: not in the file
    reason: str | None = None  # for the exclusion, or for not retrieving the report
    note: str | None = None
    retrieval: str | None = None  # whether the report was retrieved, if the file has it separately


@dataclass(frozen=True)
class ForeignRow:
    """A row of a file: a record and people's decisions on it."""

    place: str  # position in the file, such as `line 12`
    record: Mapping[str, str]  # id, title, doi and pmid; a value that the row lacks is missing
    said: tuple[ForeignWord, ...]


PROJECT = "project.json"
PROJECT_BYTES = 1_000_000  # the largest `project.json` to read; a usual one has some thousand bytes
RESULTS, STORE = "results.db", "data_store.db"
_RECORDS = "SELECT record_id, title, doi FROM record"
_LABELS = "SELECT record_id, label, note FROM results WHERE label IS NOT NULL ORDER BY rowid"
_OLD = (
    "a project of ASReview LAB before version 2, which contains row numbers instead of records: "
    "open it in a newer version and export it again, or export the data set with its labels as CSV"
)


def read_project(archive: ZipFile, path: Path, max_bytes: int) -> Iterator[ForeignRow]:
    """Yield the labelled records of an ASReview project. Raise `InputError` if the project cannot be read."""
    import sqlite3  # a megabyte of memory, needed only for projects

    try:
        project: Any = json.loads(archive.read(_checked(archive, PROJECT, PROJECT_BYTES)))
        version = project.get("project_file_version", 1)
    except (ValueError, AttributeError) as error:
        raise InputError(f"its {PROJECT} is not a JSON object", path=path) from error
    if version not in (2, 3):
        newer = isinstance(version, int) and version > 3
        raise InputError(
            f"a project file of version {version}: Tamis reads versions 2 and 3" if newer else _OLD, path=path
        )
    reviews = project.get("reviews") or [{}]
    members = (RESULTS, RESULTS) if version == 3 else (STORE, f"reviews/{reviews[0].get('id')}/{RESULTS}")
    with TemporaryDirectory(prefix="tamis-asreview-") as folder:
        try:
            records = _query(archive, members[0], folder, _RECORDS, max_bytes)
            labels = _query(archive, members[1], folder, _LABELS, max_bytes)
        except (KeyError, ValueError, sqlite3.Error) as error:
            raise InputError(f"its databases are not those of an ASReview project: {error}", path=path) from error
    by_id = {record_id: {"title": title, "doi": doi} for record_id, title, doi in records}
    for record_id, label, note in labels:
        record = {name: str(value) for name, value in by_id.get(record_id, {}).items() if value}
        yield ForeignRow(f"record {record_id}", record, (ForeignWord(str(label), note=note or None),))


def _query(archive: ZipFile, member: str, folder: str, statement: str, max_bytes: int) -> list[tuple[Any, ...]]:
    import sqlite3

    copy = _inflate(archive, member, max_bytes, folder)
    with closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        rows = database.execute(statement).fetchmany(MOST_RECORDS + 1)
    check_records(len(rows), str(archive.filename))
    return rows


def _checked(archive: ZipFile, member: str, most: int) -> ZipInfo:
    """Return a member of an archive. Raise `TooLarge` if it inflates to more than `most` bytes.

    The size stated in the archive is enough for this check, because `zipfile` inflates no more than the stated size.
    """
    info = archive.getinfo(member)
    if info.file_size > most:
        raise TooLarge(
            f"{member[-60:]} inflates to more than {most:,} bytes, the maximum: export the decisions as a table",
            path=str(archive.filename),
        )
    return info


def _inflate(archive: ZipFile, member: str, most: int, folder: str) -> Path:
    """Write a member of an archive to a new file in `folder`, and return the file's path.

    The file does not get the member's name, which may be invalid. Raises `TooLarge` for too many bytes, records or
    fields.
    """
    with archive.open(_checked(archive, member, most)) as packed, NamedTemporaryFile(dir=folder, delete=False) as copy:
        RecordCount(most).copy(packed, copy, str(archive.filename))
    return Path(copy.name)


INCLUSION, REASONS, NOTES = "RAYYAN-INCLUSION", "RAYYAN-EXCLUSION-REASONS", "USER-NOTES"
_PARTS = re.compile(r"\s*(?:^|\|)\s*(?=(?:RAYYAN-[A-Z-]+|USER-NOTES):)")
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_SAID = re.compile(rf"{_QUOTED}\s*=>\s*{_QUOTED}")
_NOTED = re.compile(rf"{_QUOTED}\s*=>\s*\[((?:[^\]\"]|{_QUOTED})*)\]")
_TEXT = re.compile(_QUOTED)
_EXCLUDED = "excluded"


def is_rayyan(notes: Iterable[str]) -> bool:
    """Return whether any of these notes has decisions from Rayyan."""
    return any(f"{INCLUSION}:" in note for note in notes)


def read_notes(note: str) -> tuple[ForeignWord, ...]:
    """Return the decision of each Rayyan member in a record's note. Return () if the note has no decisions."""
    parts = dict(part.split(":", 1) for part in _PARTS.split(note) if ":" in part)
    reasons = parts.get(REASONS, "").strip(" |") or None
    notes = {
        _unquoted(match[1]): "; ".join(_unquoted(text) for text in _TEXT.findall(match[2]))
        for match in _NOTED.finditer(parts.get(NOTES, ""))
    }
    return tuple(
        ForeignWord(
            word=_unquoted(word),
            reviewer=_unquoted(name),
            reason=reasons if _unquoted(word).casefold() == _EXCLUDED else None,
            note=notes.get(_unquoted(name)) or None,
        )
        for name, word in _SAID.findall(parts.get(INCLUSION, ""))
    )


def _unquoted(quoted: str) -> str:
    return re.sub(r"\\(.)", r"\1", quoted).strip()


COVIDENCE = "covidence #"  # a column of every Covidence export
# The errors that `zipfile` raises for a damaged, encrypted or unsupported archive.
_UNREADABLE = (BadZipFile, OSError, EOFError, RuntimeError, zlib.error)
_NOTHING = ("na", "n/a", "none", "nan", "null", "-")  # empty reasons or notes in exports
_EXCLUSION_REASON = "Exclusion reason:"  # in the notes of Covidence


@dataclass(frozen=True)
class ForeignFile:
    """The rows of a file, and its columns."""

    kind: str  # CSV, Rayyan, Covidence, ASReview
    rows: tuple[ForeignRow, ...]
    columns: Mapping[str, str] = field(default_factory=dict)  # field -> the file's column name


def read_foreign(
    path: Path | str,
    columns: TableColumns | None = None,
    *,
    everything: str | None = None,
    max_bytes: int = MAX_FILE_BYTES,
) -> ForeignFile:
    """Return the rows of a file of decisions from any supported program.

    Args:
        path: the file. A Rayyan export may still be in its archive.
        columns: the names of columns that Tamis should not guess.
        everything: the decision on every record, if the file lists only records with the same decision.
        max_bytes: the largest file to read.

    Raises `InputError` if the file is unreadable, or Tamis finds no decisions in it.
    """
    path = Path(path)
    if not is_zipfile(path):
        text = read_decoded(path, max_bytes=max_bytes).text
        return _read(text, path, columns or TableColumns(), everything, max_bytes)
    try:
        with ZipFile(path) as archive:
            if PROJECT in archive.namelist():
                return ForeignFile("ASReview", tuple(read_project(archive, path, max_bytes)))
            tables = [member for member in archive.infolist() if member.filename.lower().endswith(".csv")]
            articles = [member for member in tables if "customizations_log" not in member.filename.lower()]
            if len(articles) != 1:
                raise InputError("the archive is not an export of Rayyan or ASReview: extract the table", path=path)
            with TemporaryDirectory(prefix="tamis-decisions-") as folder:
                table = _inflate(archive, articles[0].filename, max_bytes, folder)
                text = read_decoded(table, max_bytes=max_bytes).text
    except _UNREADABLE as error:
        raise InputError(f"the archive cannot be read: {error}", path=path) from error
    return _read(text, path, columns or TableColumns(), everything, max_bytes)


def _read(text: str, path: Path, named: TableColumns, everything: str | None, max_bytes: int) -> ForeignFile:
    form = recognise(text)
    if form is not Format.DELIMITED:
        return _references(form, path, everything, max_bytes)
    header, rows = _rows(text, path)
    record = header.record_places(named, path)

    def row_of(row: CellRow, decisions: tuple[ForeignWord, ...]) -> ForeignRow:
        cells = {role: row.cells[place].strip() for role, place in record.items()}
        return ForeignRow(f"line {row.line}", {role: cell for role, cell in cells.items() if cell}, decisions)

    # Rayyan's column of decisions.
    notes = next((place for place, name in enumerate(header.plain) if name in ("notes", "note")), None)
    if named.decision is None and notes is not None and is_rayyan(row.cells[notes] for row in rows):
        foreign_rows = tuple(row_of(row, read_notes(row.cells[notes])) for row in rows)
        return ForeignFile("Rayyan", foreign_rows, header.shown(record | {DECISION: notes}))
    covidence = COVIDENCE in header.plain
    places = header.places(named, path, decision=everything is None)
    foreign_rows = tuple(row_of(row, (_word(row.cells, places, everything, covidence=covidence),)) for row in rows)
    return ForeignFile("Covidence" if covidence else "CSV", foreign_rows, header.shown(record | places))


def _references(form: Format, path: Path, everything: str | None, max_bytes: int) -> ForeignFile:
    """Return the decisions in a file of references.

    The decisions come from Rayyan's notes. But if `everything` is given, it is the decision on every record.
    """
    foreign_rows = []
    for record in read_records(path, max_bytes=max_bytes):
        fields = {name: str(record[name]) for name in RECORD if record.get(name)}
        texts = [text for value in record.values() for text in (value if isinstance(value, list) else [value])]
        note = next((text for text in texts if isinstance(text, str) and is_rayyan([text])), "")
        decisions = read_notes(note) if everything is None else (ForeignWord(everything),)
        foreign_rows.append(ForeignRow(f"line {record[LINE]}", fields, decisions))
    if not any(row.said for row in foreign_rows):
        raise InputError(
            f"this is {form.value} without decisions: Tamis reads them from tables and from Rayyan's notes. If all "
            "records have the same decision, use --all include or --all exclude",
            path=path,
        )
    return ForeignFile(f"Rayyan, {form.value}" if everything is None else form.value, tuple(foreign_rows))


def _word(cells: Sequence[str], places: Mapping[str, int], everything: str | None, *, covidence: bool) -> ForeignWord:
    texts = {role: cells[place].strip() or None for role, place in places.items()}
    reason, note = (None if str(texts.get(role)).casefold() in _NOTHING else texts[role] for role in (REASON, NOTE))
    if covidence and reason is None and note is not None:
        reason, note = _covidence(note)
    return ForeignWord(
        word=(texts[DECISION] or "") if everything is None else everything,
        reviewer=texts.get(REVIEWER),
        reason=reason,
        note=note,
        retrieval=texts.get(RETRIEVAL),
    )


def _rows(text: str, path: Path) -> tuple[Header, list[CellRow]]:
    """Return a table's header, and the rows below the header."""
    table = rows_of_table(text, path, lambda cells: (Header(cells).known, len(cells)))
    top = next(table)
    header = Header(top.cells)
    if repeated := next((name for name in header.plain if name and header.plain.count(name) > 1), None):
        raise InputError(f"the column {repeated!r} occurs twice", path=path, line=top.line)
    return header, list(table)


def _covidence(note: str) -> tuple[str | None, str | None]:
    """Return the exclusion reason and the other text of a note such as `Exclusion reason: Wrong population; `.

    Each of the two is None if it is missing.
    """
    parts = [part.strip() for part in note.split(";") if part.strip()]
    reasons = [part.removeprefix(_EXCLUSION_REASON).strip() for part in parts if part.startswith(_EXCLUSION_REASON)]
    others = [part for part in parts if not part.startswith(_EXCLUSION_REASON)]
    return "; ".join(reasons) or None, "; ".join(others) or None
