"""All pairs of duplicates in whole files: every copy and every doubtful pair, each with its reason."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TextIO, Unpack

from tamis_producer.results.formula_guard import GuardedTable
from tamis_schemas import resolve_item_id

from ..intake.duplicates import find_duplicates, reason_of
from ..intake.notes import Note
from ..intake.reading import ReadingOptions
from ..intake.sourced_records import SourcedRecord, SourceRead, read_sources
from ..intake.stated_source import StatedSource

_OF_A_RECORD = ("file", "index", "line", "id", "title", "year", "journal", "doi")
COLUMNS = ("kind", "reason", *_OF_A_RECORD, *(f"stays_{column}" for column in _OF_A_RECORD))


class PairKind(StrEnum):
    """The kind of a pair. In a pair of copies, one record is excluded. In a doubtful pair, both records stay."""

    COPY = "copy"
    DOUBT = "doubt"


class PlacedRecord(SourcedRecord):
    """A record of a pair, with its file and its index in this file."""

    @property
    def facts(self) -> dict[str, Any]:
        """Return the fields that identify the record, under the names of `COLUMNS`."""
        fields = {name: self.record.get(name) for name in ("title", "year", "journal", "doi")}
        place = {"file": self.path.name, "index": self.index, "line": self.record.get("_line")}
        return {**place, "id": resolve_item_id(self.record), **fields}


@dataclass(frozen=True)
class RecordPair:
    """Two records that are copies of each other, or may be copies."""

    kind: PairKind
    reason: str
    one: PlacedRecord  # the record that is excluded as a copy, or would be in a doubtful pair
    stays: PlacedRecord  # the record that stays

    def called(self, names: Mapping[Path, str]) -> Self:
        """Return the pair with display names in the place of its files' paths. `names`: path -> display name."""
        first, stays = (replace(placed, path=Path(names[placed.path])) for placed in (self.one, self.stays))
        return replace(self, one=first, stays=stays)


@dataclass(frozen=True)
class DuplicatePairs:
    """The pairs among all records of some files: first the copies, then the doubtful pairs."""

    records: int
    pairs: Sequence[RecordPair]
    notes: Mapping[Path, tuple[Note, ...]] = field(default_factory=dict)  # file -> texts that became no record
    sources: tuple[SourceRead, ...] = ()  # the sources as read

    def of(self, kind: PairKind) -> list[RecordPair]:
        """Return the pairs of one kind."""
        return [pair for pair in self.pairs if pair.kind is kind]


def find_pairs(
    files: Iterable[Path | StatedSource], *, names: Mapping[Path, str] | None = None, **reading: Unpack[ReadingOptions]
) -> DuplicatePairs:
    """Return every pair of duplicates within and between the files, by the comparison that a screening uses.

    Two files that have the same export in different formats are merged first. `names`: path -> the file's
    name to show. `reading`: options of `read_file`.

    Raises `InputError` if a file cannot be read or is empty.
    """
    read = read_sources(list(files), names=names, **reading)
    placed = [PlacedRecord(entry.record, entry.path, entry.index) for source in read for entry in source.sourced]
    records = [entry.record for entry in placed]
    duplicates = find_duplicates(records)
    copies = [
        RecordPair(PairKind.COPY, reason_of(copy, records), placed[copy.index], placed[copy.of])
        for copy in duplicates.copies
    ]
    doubts = [RecordPair(PairKind.DOUBT, d.reason, placed[d.index], placed[d.of]) for d in duplicates.doubts]
    notes = {file.path: file.intake.notes for source in read for file in source.files}
    return DuplicatePairs(len(records), [*copies, *doubts], notes, read)


def write_pairs(pairs: Sequence[RecordPair], stream: TextIO) -> int:
    """Write a CSV row for each pair under `COLUMNS`, and return the number of pairs."""
    table = GuardedTable(stream)
    table.write(COLUMNS)
    for pair in pairs:
        table.write((pair.kind.value, pair.reason, *pair.one.facts.values(), *pair.stays.facts.values()))
    return len(pairs)
