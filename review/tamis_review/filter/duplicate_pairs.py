"""Pairs of duplicates over whole files: every copy with the record it copies, and every doubt, each with its reason."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TextIO

from tamis_producer.files.decode import MAX_FILE_BYTES
from tamis_producer.results.formula_guard import guarded
from tamis_schemas import resolve_item_id

from ..intake.duplicates import find_duplicates, reason_of
from ..intake.notes import Note
from ..intake.sourced_records import SourcedRecord, SourceRead, read_sources
from ..intake.stated_source import StatedSource

_OF_A_RECORD = ("file", "index", "line", "id", "title", "year", "journal", "doi")
COLUMNS = ("kind", "reason", *_OF_A_RECORD, *(f"stays_{column}" for column in _OF_A_RECORD))


class PairKind(StrEnum):
    """The kind of a pair: of a copy one record is kept out, of a doubt none."""

    COPY = "copy"
    DOUBT = "doubt"


class PlacedRecord(SourcedRecord):
    """A record, and where it stands."""

    @property
    def facts(self) -> dict[str, Any]:
        """The fields that tell it from others, under the names of `COLUMNS`."""
        own = {name: self.record.get(name) for name in ("title", "year", "journal", "doi")}
        place = {"file": self.path.name, "index": self.index, "line": self.record.get("_line")}
        return {**place, "id": resolve_item_id(self.record), **own}


@dataclass(frozen=True)
class RecordPair:
    """Two records that are one, or may be."""

    kind: PairKind
    reason: str
    one: PlacedRecord  # of a copy the one that is kept out
    stays: PlacedRecord  # of a doubt the one that would stay if they were copies

    def called(self, names: Mapping[Path, str]) -> Self:
        """The same pair, with files under the names that their owner knows."""
        one, stays = (replace(placed, path=Path(names[placed.path])) for placed in (self.one, self.stays))
        return replace(self, one=one, stays=stays)


@dataclass(frozen=True)
class DuplicatePairs:
    """The pairs among all records of some files, the copies first."""

    records: int
    pairs: Sequence[RecordPair]
    notes: Mapping[Path, tuple[Note, ...]] = field(default_factory=dict)  # file -> what became no record
    sources: tuple[SourceRead, ...] = ()  # as they were read

    def of(self, kind: PairKind) -> list[RecordPair]:
        """The pairs of one kind."""
        return [pair for pair in self.pairs if pair.kind is kind]


def find_pairs(
    files: Iterable[Path | StatedSource],
    *,
    names: Mapping[Path, str] | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    strict: bool = False,
) -> DuplicatePairs:
    """Every pair of duplicates within and between the files, which are compared as one, as a screening compares them.

    Files that complete each other are one, here too. A file of more than `max_bytes` is not read; where reading is
    `strict`, a record that cannot be read is an error. `names` say what files are called, where not as their paths.

    Raises `InputError`: a file cannot be read, or is empty.
    """
    read = read_sources(list(files), names=names, max_bytes=max_bytes, strict=strict)
    placed = [PlacedRecord(one.record, one.path, one.index) for source in read for one in source.sourced]
    records = [one.record for one in placed]
    duplicates = find_duplicates(records)
    copies = [
        RecordPair(PairKind.COPY, reason_of(copy, records), placed[copy.index], placed[copy.of])
        for copy in duplicates.copies
    ]
    doubts = [RecordPair(PairKind.DOUBT, one.reason, placed[one.index], placed[one.of]) for one in duplicates.doubts]
    notes = {file.path: file.intake.notes for source in read for file in source.files}
    return DuplicatePairs(len(records), [*copies, *doubts], notes, read)


def write_pairs(pairs: Iterable[RecordPair], stream: TextIO) -> int:
    """One CSV row a pair under `COLUMNS`; how many."""
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    rows = 0
    for pair in pairs:
        cells = (pair.kind.value, pair.reason, *pair.one.facts.values(), *pair.stays.facts.values())
        writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in cells])
        rows += 1
    return rows
