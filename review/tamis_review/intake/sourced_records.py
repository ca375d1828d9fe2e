"""Sources, read: the records of each, from one file or several, and how the files became one source."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tamis_producer.files.decode import MAX_FILE_BYTES
from tamis_schemas import Source, SourceFile, SourceKind

from .completion import complete, in_two_forms
from .databases import database_of, database_of_table
from .reading import Intake, read_file
from .recognise import Format
from .source import entries_of
from .stated_source import StatedSource, stated

# Registers of trials by the names that reviewers and exports give them; all else is a database, unless stated.
# fmt: off
REGISTERS = frozenset((
    "clinicaltrials.gov", "ictrp", "who ictrp", "isrctn", "isrctn registry", "anzctr", "chictr", "ctri", "drks",
    "eu clinical trials register", "euctr", "ctis", "jrct", "umin-ctr", "cris", "rebec", "pactr",
))
# fmt: on

# The database that writes a format; MEDLINE's is ERIC's too, which says so in each record.
OF_FORMAT = {Format.NBIB: "PubMed", Format.PUBMED_TEXT: "PubMed", Format.WOS_TAGGED: "Web of Science"}
ERIC = "ERIC"

FILE = "_tamis_file"  # of a record whose source has several files: the name of the one that its line is in


@dataclass(frozen=True)
class FileRead:
    """A file of a source, as it was read."""

    path: Path
    name: str
    intake: Intake
    completes: str | None = None  # the name of the source's first file, whose records it completes
    joined: int = 0  # so many of its records are no records of their own


@dataclass(frozen=True)
class SourcedRecord:
    """A record, and where it stands."""

    record: dict[str, Any]
    path: Path  # of a record in two files the first
    index: int  # place in that file, from 0


@dataclass(frozen=True)
class SourceRead:
    """A source with its records, in the order of its files."""

    source: Source
    files: tuple[FileRead, ...]
    sourced: tuple[SourcedRecord, ...]


def read_sources(
    files: Sequence[Path | StatedSource] | Path | StatedSource,
    *,
    names: Mapping[Path, str] | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    strict: bool = False,
) -> tuple[SourceRead, ...]:
    """The sources of some files, in the order in which each is first named.

    Files that are stated to be of one source, or whose records name the same database, are one source. Rows of stated
    ones are joined where they share the source's own identifier; rows of others, where the files are one export in two
    forms. What is not joined counts as records of their own.

    Args:
        files: paths, and sources as a reviewer states them.
        names: what files are called, where not as their paths.
        max_bytes: a larger file is not read.
        strict: a record that cannot be read is an error.

    Raises `InputError`: a file cannot be read.
    """
    groups: dict[str, _Group] = {}
    for one in stated(files):
        read = [
            FileRead(path, (names or {}).get(path, path.name), read_file(path, max_bytes=max_bytes, strict=strict))
            for path in one.files
        ]
        told = dict.fromkeys(database_told_by(file.intake) for file in read)
        name = one.name or (next(iter(told)) if len(told) == 1 else None)
        key = str(one.files[0].resolve()) if name is None else name.casefold()
        group = groups.setdefault(key, _Group(name))
        group.statements.append(one)
        for place, file in enumerate(read):
            group.take(file, stated_together=place > 0)
    called = Counter(group.called for group in groups.values())
    return tuple(group.read(alone=called[group.called] == 1) for group in groups.values())


def database_told_by(intake: Intake) -> str | None:
    """The database that a file's content tells: what its records name, else who writes such tables or such a format.

    None: they name several, or fewer than half of them name one, and anybody may have written the file.
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
    """The kind of a source of which nobody states one: a register by its name, or where each record is a trial."""
    named = " ".join(name.casefold().split()) in REGISTERS
    trials = (record.get("nct_id") not in (None, "") and record.get("id") == record["nct_id"] for record in records)
    return SourceKind.REGISTER if named or all(trials) else SourceKind.DATABASE


@dataclass
class _Group:
    """The files of one source, as they come."""

    name: str | None  # stated, or told by the records
    statements: list[StatedSource] = field(default_factory=list)
    files: list[FileRead] = field(default_factory=list)
    sourced: list[SourcedRecord] = field(default_factory=list)

    @property
    def called(self) -> str:
        return self.name or self.files[0].name

    def take(self, file: FileRead, *, stated_together: bool) -> None:
        """Add a file; rows that complete records which are there already become part of these."""
        records = [one.record for one in self.sourced]
        if records and (stated_together or in_two_forms(records, file.intake.records)):
            completed = complete(records, file.intake.records, file.name)
            self.sourced = [
                replace(one, record=record) for record, one in zip(completed.records, self.sourced, strict=False)
            ]
            added = completed.added
            if completed.joined:
                file = FileRead(file.path, file.name, file.intake, self.files[0].name, completed.joined)
        else:
            added = list(range(len(file.intake.records)))
        self.sourced += [SourcedRecord(file.intake.records[at], file.path, at) for at in added]
        self.files.append(file)

    def read(self, *, alone: bool) -> SourceRead:
        """The source; where it is not `alone` under its name, the folder of its file tells it from others."""
        first, *more = [_source_file(file) for file in self.files]
        name = self.called if alone else f"{self.files[0].path.parent.name}/{self.called}"
        source = Source(
            **first.model_dump(),
            name=name,
            kind=self._stated("kind") or kind_of_source(name, (one.record for one in self.sourced)),
            searched=self._stated("searched"),
            query=self._stated("query"),
            records=len(self.sourced),
            more_files=tuple(more),
        )
        sourced = self.sourced
        if more:
            name_of = {file.path: file.name for file in self.files}
            sourced = [replace(one, record=one.record | {FILE: name_of[one.path]}) for one in sourced]
        return SourceRead(source, tuple(self.files), tuple(sourced))

    def _stated(self, what: str) -> Any:
        return next((value for one in self.statements if (value := getattr(one, what)) is not None), None)


def _source_file(file: FileRead) -> SourceFile:
    intake = file.intake
    return SourceFile(
        file=file.name,
        format=intake.format.value,
        encoding=intake.encoding,
        replaced=len(intake.replaced),
        skipped=intake.skipped,
        lost=intake.lost,
        sha256=intake.sha256,
    )
