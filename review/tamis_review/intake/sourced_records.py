"""The records of each source, from one file or several, and the joining of files into one source.

A database exports the same records in several forms, and no form is complete: PubMed's CSV has no abstracts. If the
records of two files share the database's own identifiers, the files are one export in two forms. Records with the same
identifier are joined: each field comes from the first file that has the field.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from tamis_schemas import Source, SourceFile, SourceKind

from .column_mappings import database_of, database_of_table
from .filling import filled
from .likeness import Likeness, by_identifier
from .reading import Intake, ReadingOptions, read_file
from .recognise import Format
from .record import CANONICAL, LINE, own_id
from .source import SOURCE, entries_of
from .stated_source import StatedSource, stated
from .traits import pmid_in, traits_of, trial_in

# Registers of trials by their names in reviews and exports. Other sources are databases, unless their kind is stated.
# fmt: off
REGISTERS = frozenset((
    "clinicaltrials.gov", "ictrp", "who ictrp", "isrctn", "isrctn registry", "anzctr", "chictr", "ctri", "drks",
    "eu clinical trials register", "euctr", "ctis", "jrct", "umin-ctr", "cris", "rebec", "pactr",
))
# fmt: on

# The database that writes a format. ERIC also writes NBIB, and then names itself in each record.
OF_PUBMED = (Format.NBIB, Format.PUBMED_TEXT, Format.PUBMED_XML)
OF_FORMAT = {**dict.fromkeys(OF_PUBMED, "PubMed"), Format.WOS_TAGGED: "Web of Science"}
ERIC = "ERIC"

FILE = "_tamis_file"  # name of the file that the record's line refers to, if the source has several files

# Minimum share of the smaller file's identifiers that the other file has. A form of an export may lack the rest.
SHARED = 0.9
# The most records with one identifier to compare. An identifier of more records proves nothing.
CROWD = 16

Identifier = tuple[str, str]  # its kind, and its text


@dataclass(frozen=True)
class FileRead:
    """A file of a source, as it was read."""

    path: Path
    name: str
    intake: Intake
    completes: str | None = None  # name of the source's first file, if this file completes its records
    joined: int = 0  # number of this file's records that were joined to records of the first file


@dataclass(frozen=True)
class SourcedRecord:
    """A record, with its file and its index in this file."""

    record: dict[str, Any]
    path: Path  # the first file, if the record is in two files
    index: int  # index in that file, from 0


@dataclass(frozen=True)
class SourceRead:
    """A source with its records, in the order of its files."""

    source: Source
    files: tuple[FileRead, ...]
    sourced: tuple[SourcedRecord, ...]


@dataclass(frozen=True)
class Completed:
    """The records of two files of one source, joined into one list."""

    records: list[dict[str, Any]]  # the first file's records in order, then records that only the second file has
    joined: int  # number of the second file's records that complete records of the first file
    added: list[int]  # indexes, in the second file, of the records that only this file has


def read_sources(
    files: Sequence[Path | StatedSource] | Path | StatedSource,
    *,
    names: Mapping[Path, str] | None = None,
    **reading: Unpack[ReadingOptions],
) -> tuple[SourceRead, ...]:
    """Return the sources of some files, in the order of their first files.

    Files form one source if a reviewer states them together, or if their records name the same database. If two
    records of a source have the same identifier, they are joined. This is done only if a reviewer stated their files
    together, or if one file is the other in another format.

    Args:
        files: paths, and sources as a reviewer states them.
        names: path -> the file's name to show.
        reading: options of `read_file`.

    Raises `InputError` if a file cannot be read.
    """
    groups: dict[str, _Group] = {}
    for statement in stated(files):
        read = [
            FileRead(path, (names or {}).get(path, path.name), read_file(path, **reading)) for path in statement.files
        ]
        databases = dict.fromkeys(database_told_by(file.intake) for file in read)
        name = statement.name or (next(iter(databases)) if len(databases) == 1 else None)
        key = str(statement.files[0].resolve()) if name is None else name.casefold()
        group = groups.setdefault(key, _Group(name))
        group.statements.append(statement)
        for place, file in enumerate(read):
            group.take(file, stated_together=place > 0)
    called = Counter(group.called for group in groups.values())
    return tuple(group.read(alone=called[group.called] == 1) for group in groups.values())


def database_told_by(intake: Intake) -> str | None:
    """Return the name of a file's database, from its records or from a format that only this database writes.

    Return None if the records name several databases, if fewer than half of them name the database, or if no database
    is known.
    """
    counts = Counter(map(database_of, intake.records))
    named = [name for name in counts if name is not None]
    if len(named) == 1 and 2 * counts[named[0]] >= counts.total():
        return named[0]
    if named or not intake.records:
        return None
    if intake.format is Format.NBIB:
        owners = {record.get("_nbib_OWN") for record in intake.records}
        return OF_FORMAT[intake.format] if ERIC not in owners else ERIC if len(owners) == 1 else None
    if (called := OF_FORMAT.get(intake.format)) is not None:
        return called
    return database_of_table(entry[0] for entry in entries_of(intake.records[0], intake.format))


def kind_of_source(name: str, records: Iterable[Mapping[str, Any]]) -> SourceKind:
    """Return whether a source is a register of trials or a database.

    A source is a register if it has the name of a register, or if all its records are trials.
    """
    named = " ".join(name.casefold().split()) in REGISTERS
    trials = (record.get("nct_id") not in (None, "") and record.get("id") == record["nct_id"] for record in records)
    return SourceKind.REGISTER if named or all(trials) else SourceKind.DATABASE


def complete(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]], name: str) -> Completed:
    """Return the records of the first file, filled from records of the second file with the same identifier.

    Fields without a canonical name are filled too. Records with the same identifier but different titles stay separate,
    because the ids in some files are only numbers from 1. A record is filled only once. `name`: the name of the second
    file.
    """
    records = [dict(record) for record in first]
    places: dict[Identifier, list[int]] = {}
    for place, record in enumerate(records):
        for identifier in identifiers_of(record):
            places.setdefault(identifier, []).append(place)
    taken: set[int] = set()
    added: list[int] = []
    for at, other in enumerate(second):
        alike = (place for identifier in identifiers_of(other) for place in places.get(identifier, ())[:CROWD])
        own_place = next((place for place in alike if place not in taken and _same(records[place], other)), None)
        if own_place is None:
            added.append(at)
            continue
        taken.add(own_place)
        merged = filled(records[own_place], [(other, {"file": name, "line": other.get(LINE)})])
        kept = {name: value for name, value in other.items() if name not in merged and name not in (LINE, SOURCE)}
        records[own_place] = merged | kept
    return Completed([*records, *(dict(second[at]) for at in added)], len(taken), added)


def in_two_forms(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if two files of one database are one export in two forms, not two searches or two parts.

    At least 90 % of the smaller file's identifiers must be in the larger file. At least half of one file's records must
    have a canonical field that the other file lacks.
    """
    ours, theirs = ({key for record in records for key in identifiers_of(record)[:1]} for records in (one, other))
    fewer = min(len(ours), len(theirs))
    if not fewer or len(ours & theirs) < SHARED * fewer:
        return False
    return _has_more(one, other) or _has_more(other, one)


def identifiers_of(record: Mapping[str, Any]) -> list[Identifier]:
    """Return the identifiers that the source itself gave the record, as pairs (kind, text).

    The order is PubMed id, trial id, own id.

    DOIs are not used, because publishers assign them: all parts of a congress supplement share a DOI.
    """
    trial = trial_in(record)
    of_trial = trial if record.get("id") == trial else None  # a paper may name a trial without being its record
    kinds = {"pmid": pmid_in(record), "nct_id": of_trial, "id": own_id(record)}
    return [(kind, text) for kind, text in kinds.items() if text]


@dataclass
class _Group:
    name: str | None  # stated by a reviewer, or named by the records
    statements: list[StatedSource] = field(default_factory=list)
    files: list[FileRead] = field(default_factory=list)
    sourced: list[SourcedRecord] = field(default_factory=list)

    @property
    def called(self) -> str:
        return self.name or self.files[0].name

    def take(self, file: FileRead, *, stated_together: bool) -> None:
        """Add a file to the source. Join the file's records to existing records that they complete.

        `stated_together`: whether a reviewer states this file together with another file of the source.
        """
        records, added = [entry.record for entry in self.sourced], list(range(len(file.intake.records)))
        if records and (stated_together or in_two_forms(records, file.intake.records)):
            completed = complete(records, file.intake.records, file.name)
            self.sourced = [
                replace(entry, record=record) for record, entry in zip(completed.records, self.sourced, strict=False)
            ]
            added = completed.added
            if completed.joined:
                file = replace(file, completes=self.files[0].name, joined=completed.joined)
        self.sourced += [SourcedRecord(file.intake.records[at], file.path, at) for at in added]
        self.files.append(file)

    def read(self, *, alone: bool) -> SourceRead:
        """Return the source with its files and records.

        `alone`: whether the source's name is unique. If it is not unique, the file's folder becomes part of the name.
        """
        first, *more = [
            SourceFile(
                file=file.name,
                format=file.intake.format.value,
                encoding=file.intake.encoding,
                replaced=len(file.intake.replaced),
                skipped=file.intake.skipped,
                lost=file.intake.lost,
                sha256=file.intake.sha256,
            )
            for file in self.files
        ]
        name = self.called if alone else f"{self.files[0].path.parent.name}/{self.called}"
        source = Source(
            **first.model_dump(),
            name=name,
            kind=self._stated("kind") or kind_of_source(name, (entry.record for entry in self.sourced)),
            searched=self._stated("searched"),
            query=self._stated("query"),
            records=len(self.sourced),
            more_files=tuple(more),
        )
        sourced = self.sourced
        if more:
            name_of = {file.path: file.name for file in self.files}
            sourced = [replace(entry, record=entry.record | {FILE: name_of[entry.path]}) for entry in sourced]
        return SourceRead(source, tuple(self.files), tuple(sourced))

    def _stated(self, what: str) -> Any:
        return next((value for statement in self.statements if (value := getattr(statement, what)) is not None), None)


def _same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    if first.get("title") == second.get("title"):
        return True
    return by_identifier(traits_of(first), traits_of(second)).likeness is Likeness.COPY


def _has_more(more: Sequence[Mapping[str, Any]], less: Sequence[Mapping[str, Any]]) -> bool:
    return any(
        2 * sum(bool(record.get(name)) for record in more) >= len(more) and not any(record.get(name) for record in less)
        for name in CANONICAL
    )
