"""A file of decisions made elsewhere: a table, or an export of Rayyan, Covidence or ASReview; of references, too.

It is read into rows, each with what is known of its record and what people said of it, in the file's own words. The
columns of a table are named by the caller, or guessed from what people and programs call them.
"""

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

from tamis_producer.files.decode import MAX_FILE_BYTES, read_decoded
from tamis_producer.results.formula_guard import unguarded
from tamis_schemas import InputError

from ..intake.cell_rows import DELIMITERS, CellRow
from ..intake.columns import canonical_name
from ..intake.reading import read_records
from ..intake.recognise import Format, recognise
from ..intake.record import LINE
from ..plans.spreadsheet import rows_of_table

DECISION, REVIEWER, REASON, NOTE, RETRIEVAL = "decision", "reviewer", "reason", "note", "retrieval"
RECORD = ("id", "title", "doi", "pmid")  # by which a record is found
LISTED = 30  # column names in a message

# What people and programs call them; a table may have one of each.
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
_ASREVIEW = "asreview label"  # the data set's own labels, which were known before, stand beside it as `included`


@dataclass(frozen=True)
class TableColumns:
    """Names of columns; None: to be guessed. An empty name: the table has none."""

    id: str | None = None
    decision: str | None = None
    reviewer: str | None = None
    reason: str | None = None
    note: str | None = None
    retrieval: str | None = None


@dataclass(frozen=True)
class Header:
    """The row that names the columns."""

    cells: Sequence[str]

    @cached_property
    def plain(self) -> list[str]:
        """The names without case, underscores and blanks around them."""
        return [_plain(cell) for cell in self.cells]

    @property
    def known(self) -> int:
        """How many of the columns have a name that says what they hold."""
        ours = {name for names in _NAMES.values() for name in names} | {_ASREVIEW}
        return sum(
            canonical_name(cell) is not None or plain in ours
            for cell, plain in zip(self.cells, self.plain, strict=True)
        )

    def record_places(self, named: TableColumns, path: Path) -> dict[str, int]:
        """The columns by which a row's record is found: id, title, doi, pmid. Raises `InputError` as `places`."""
        found: dict[str, int] = {}
        for place, cell in enumerate(self.cells):
            role = canonical_name(cell)
            if role in RECORD:
                found.setdefault(role, place)
        return found | ({"id": self._named(named.id, path)} if named.id else {})

    def places(self, named: TableColumns, path: Path, *, decision: bool) -> dict[str, int]:
        """The columns of what was said. `decision`: whether there must be one of decisions.

        Raises `InputError`: a named column is not there, several could hold the decision, or none does.
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
        """What is read -> the column's own name, for people."""
        return {role: self.cells[place].strip() for role, place in places.items()}

    def _named(self, name: str, path: Path) -> int:
        if _plain(name) not in self.plain:
            raise InputError(f"no column {name!r}; there are: {self._listed}", path=path)
        return self.plain.index(_plain(name))

    def _guessed(self, role: str) -> list[int]:
        if role == DECISION and _ASREVIEW in self.plain:
            return [self.plain.index(_ASREVIEW)]
        return [place for place, name in enumerate(self.plain) if name in _NAMES[role]]

    def _which(self, guessed: Sequence[int]) -> str:
        if guessed:
            several = ", ".join(repr(self.cells[place].strip()) for place in guessed)
            return f"several columns could hold the decisions: {several}; say which one with --decision-column"
        return (
            f"no column is known to hold decisions: name it with --decision-column; there are: {self._listed}. Of a "
            "file that lists the records of one decision, as Covidence's exports do, say which: --all include, or "
            "--all exclude"
        )

    @property
    def _listed(self) -> str:
        names = [cell.strip() for cell in self.cells if cell.strip()]
        return ", ".join(repr(name[:40]) for name in names[:LISTED]) + ("" if len(names) <= LISTED else ", ...")


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name).strip().casefold()


@dataclass(frozen=True)
class ForeignWord:
    """What one person said, in the file's own words."""

    word: str  # empty: nothing
    reviewer: str | None = None  # None: the file does not say
    reason: str | None = None  # why it is excluded, or could not be got
    note: str | None = None
    retrieval: str | None = None  # whether the report could be got, where the file says so apart


@dataclass(frozen=True)
class ForeignRow:
    """One record."""

    place: str  # in the file: line 12
    record: Mapping[str, str]  # id, title, doi, pmid: what the row has of them
    said: tuple[ForeignWord, ...]


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


INCLUSION, REASONS, NOTES = "RAYYAN-INCLUSION", "RAYYAN-EXCLUSION-REASONS", "USER-NOTES"
_PARTS = re.compile(r"\s*(?:^|\|)\s*(?=(?:RAYYAN-[A-Z-]+|USER-NOTES):)")
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_SAID = re.compile(rf"{_QUOTED}\s*=>\s*{_QUOTED}")
_NOTED = re.compile(rf"{_QUOTED}\s*=>\s*\[((?:[^\]\"]|{_QUOTED})*)\]")
_TEXT = re.compile(_QUOTED)
_EXCLUDED = "excluded"


def is_rayyan(notes: Iterable[str]) -> bool:
    """True where notes of a file are Rayyan's."""
    return any(f"{INCLUSION}:" in note for note in notes)


def read_notes(note: str) -> tuple[ForeignWord, ...]:
    """What each member decided; nothing of a record on which nobody has."""
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


COVIDENCE = "covidence #"  # a column of every export of Covidence
# What `zipfile` raises of an archive that is damaged, encrypted, or packed in a way that it does not know.
_UNREADABLE = (BadZipFile, OSError, EOFError, RuntimeError, zlib.error)
_NOTHING = ("na", "n/a", "none", "nan", "null", "-")  # as programs write an empty reason or note
_EXCLUSION_REASON = "Exclusion reason:"  # in the notes of Covidence


@dataclass(frozen=True)
class ForeignFile:
    """The rows of a file, and how they were found."""

    kind: str  # CSV, Rayyan, Covidence, ASReview
    rows: tuple[ForeignRow, ...]
    columns: Mapping[str, str] = field(default_factory=dict)  # what was read -> the file's own name of the column


def read_foreign(
    path: Path | str,
    columns: TableColumns | None = None,
    *,
    everything: str | None = None,
    max_bytes: int = MAX_FILE_BYTES,
) -> ForeignFile:
    """The rows of a file of decisions, whichever program wrote it.

    Args:
        path: the file; an export of Rayyan may still be in its archive.
        columns: names of columns, where they are not to be guessed.
        everything: the word that counts for every record, of a file that lists those of one decision.
        max_bytes: a larger file is not read.

    Raises `InputError`: it cannot be read, or does not say where its decisions stand.
    """
    path = Path(path)
    if not is_zipfile(path):
        text = read_decoded(path, max_bytes=max_bytes).text
        return _read(text, path, columns or TableColumns(), everything, max_bytes)
    try:
        with ZipFile(path) as archive:
            if PROJECT in archive.namelist():
                return ForeignFile("ASReview", tuple(read_project(archive, path, max_bytes)))
            tables = [one for one in archive.infolist() if one.filename.lower().endswith(".csv")]
            articles = [one for one in tables if "customizations_log" not in one.filename.lower()]
            if len(articles) != 1 or articles[0].file_size > max_bytes:
                raise InputError("an archive, and no export of Rayyan or ASReview: take the table out of it", path=path)
            with TemporaryDirectory(prefix="tamis-decisions-") as folder:
                table = Path(folder) / "articles.csv"
                table.write_bytes(archive.read(articles[0]))
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

    def row_of(row: CellRow, said: tuple[ForeignWord, ...]) -> ForeignRow:
        cells = {role: row.cells[place].strip() for role, place in record.items()}
        return ForeignRow(f"line {row.line}", {role: cell for role, cell in cells.items() if cell}, said)

    # The column in which Rayyan keeps decisions.
    notes = next((place for place, name in enumerate(header.plain) if name in ("notes", "note")), None)
    if named.decision is None and notes is not None and is_rayyan(row.cells[notes] for row in rows):
        found = tuple(row_of(row, read_notes(row.cells[notes])) for row in rows)
        return ForeignFile("Rayyan", found, header.shown(record | {DECISION: notes}))
    covidence = COVIDENCE in header.plain
    places = header.places(named, path, decision=everything is None)
    found = tuple(row_of(row, (_word(row.cells, places, everything, covidence=covidence),)) for row in rows)
    return ForeignFile("Covidence" if covidence else "CSV", found, header.shown(record | places))


def _references(form: Format, path: Path, everything: str | None, max_bytes: int) -> ForeignFile:
    """Decisions in a file of references: in Rayyan's notes, or the one decision on all of them."""
    found = []
    for record in read_records(path, max_bytes=max_bytes):
        fields = {name: str(record[name]) for name in RECORD if record.get(name)}
        texts = [text for value in record.values() for text in (value if isinstance(value, list) else [value])]
        note = next((text for text in texts if isinstance(text, str) and is_rayyan([text])), "")
        said = read_notes(note) if everything is None else (ForeignWord(everything),)
        found.append(ForeignRow(f"line {record[LINE]}", fields, said))
    if not any(row.said for row in found):
        raise InputError(
            f"{form.value}, and nothing in it says what was decided: decisions are read from tables, and from the "
            "notes that Rayyan writes. Of a file that lists the records of one decision, say which: --all include, or "
            "--all exclude",
            path=path,
        )
    return ForeignFile(f"Rayyan, {form.value}" if everything is None else form.value, tuple(found))


def _word(cells: Sequence[str], places: Mapping[str, int], everything: str | None, *, covidence: bool) -> ForeignWord:
    said = {role: cells[place].strip() or None for role, place in places.items()}
    reason, note = (None if str(said.get(role)).casefold() in _NOTHING else said[role] for role in (REASON, NOTE))
    if covidence and reason is None and note is not None:
        reason, note = _covidence(note)
    return ForeignWord(
        word=(said[DECISION] or "") if everything is None else everything,
        reviewer=said.get(REVIEWER),
        reason=reason,
        note=note,
        retrieval=said.get(RETRIEVAL),
    )


def _rows(text: str, path: Path) -> tuple[Header, list[CellRow]]:
    """The header, and the rows below it, each as wide as the header."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(DELIMITERS, key=lambda one: (Header(first.split(one)).known, first.count(one)))
    table = rows_of_table(text, delimiter, path)
    top = next(table)
    header = Header(top.cells)
    if repeated := next((name for name in header.plain if name and header.plain.count(name) > 1), None):
        raise InputError(f"the column {repeated!r} stands there twice", path=path, line=top.line)
    rows = []
    for row in table:
        cells = [unguarded(cell) for cell, _ in zip(row.cells, top.cells, strict=False)]
        rows.append(CellRow(row.line, cells + [""] * (len(top.cells) - len(cells))))
    return header, rows


def _covidence(note: str) -> tuple[str | None, str | None]:
    """The reason of an exclusion, and the rest of the notes: `Exclusion reason: Wrong population; `."""
    parts = [part.strip() for part in note.split(";") if part.strip()]
    reasons = [part.removeprefix(_EXCLUSION_REASON).strip() for part in parts if part.startswith(_EXCLUSION_REASON)]
    others = [part for part in parts if not part.startswith(_EXCLUSION_REASON)]
    return "; ".join(reasons) or None, "; ".join(others) or None
