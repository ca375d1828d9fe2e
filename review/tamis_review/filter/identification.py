"""Identification: the records of the searched sources, and the records that are excluded before any model call.

The first boxes of a PRISMA flow count these records by source. Duplicates, and records that the initial filter (tier 1)
rejects, stay in the batch as exclusions with reasons.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from tamis_schemas import Exclusion, InputError, SearchCriteria, Source
from tamis_schemas.answers.exclusion import DUPLICATE
from tamis_schemas.records.source import Doubt

from ..intake.duplicates import Duplicate, rank
from ..intake.duplicates import exclusion_of as exclusion_of_copy
from ..intake.filling import filled
from ..intake.reading import ReadingOptions
from ..intake.sourced_records import FILE, FileRead, SourcedRecord, SourceRead, read_sources
from ..intake.stated_source import StatedSource
from .initial_filter import InitialFilter
from .known_records import KnownRecords, NewDuplicates, find_new_duplicates


@dataclass(frozen=True)
class Identified:
    """All records in the order of sources and files, with exclusions by record index, and doubtful pairs."""

    sources: tuple[Source, ...]
    files: tuple[FileRead, ...]
    records: list[dict[str, Any]]  # all records, including exclusions
    exclusions: dict[int, Exclusion] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()  # pairs that may be copies: both records stay for a human to check

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Return the records for the model, in order."""
        return [record for index, record in enumerate(self.records) if index not in self.exclusions]

    @property
    def duplicates(self) -> int:
        """Return the number of excluded copies of records in these files or in an earlier search."""
        return sum(exclusion.rule == DUPLICATE for exclusion in self.exclusions.values())

    @property
    def known(self) -> int:
        """Return the number of copies of records of an earlier search, which are not screened again."""
        return sum(entry.rule == DUPLICATE and entry.duplicate_of is None for entry in self.exclusions.values())

    @property
    def rejected(self) -> int:
        """Return the number of records that the initial filter rejected."""
        return len(self.exclusions) - self.duplicates


def identify(
    files: Sequence[Path | StatedSource] | Path | StatedSource,
    *,
    keep_duplicates: bool = False,
    initial_filter: SearchCriteria | None = None,
    names: Mapping[Path, str] | None = None,
    known: KnownRecords | None = None,
    **reading: Unpack[ReadingOptions],
) -> Identified:
    """Return the records of some files, with the duplicates and the initial filter's rejections as exclusions.

    Duplicates are found within and between the sources. The record that stays gets its missing fields from its copies,
    the most useful copy first. Each such field has a note of its origin.

    Args:
        files: one or more files, or files with the details of their source.
        keep_duplicates: do not exclude copies, so that a model is asked about each copy.
        initial_filter: the criteria of tier 1. None: no initial filter.
        names: path -> the file's name to show.
        known: records of an earlier search. Their copies are always excluded. None: no earlier search.
        reading: options of `read_file`.

    Raises:
        InputError: a file cannot be read, or two files have the same content.
    """
    read = read_sources(files, names=names, **reading)
    files_read = tuple(file for source in read for file in source.files)
    _check_contents(files_read)
    records = [entry.record for source in read for entry in source.sourced]
    source_of = [source.source.name for source in read for _ in source.sourced] if len(read) > 1 else []
    places = [_place(source, entry) for source in read for entry in source.sourced] if len(files_read) > 1 else []
    new = NewDuplicates()
    if known is not None or not keep_duplicates:
        new = find_new_duplicates(known or KnownRecords("", ()), records)
    copies, doubts = ([], []) if keep_duplicates else (new.copies, new.doubts)
    exclusions = new.known | {copy.index: exclusion_of_copy(copy, records, places) for copy in copies}
    records = with_copies(records, copies, source_of)
    switched_off: dict[str, str] = {}
    if initial_filter is not None:
        tier_one = InitialFilter(initial_filter)
        switched_off = tier_one.switched_off
        for index, record in enumerate(records):
            if index not in exclusions and (exclusion := tier_one.exclusion(record)) is not None:
                exclusions[index] = exclusion
    done = {
        "duplicates_kept": keep_duplicates,
        "initial_filter": initial_filter is not None,
        "switched_off": switched_off,
    }
    first, *others = (source.source.model_copy(update=done) for source in read)
    return Identified(
        sources=(first.model_copy(update={"doubts": tuple(doubts)}), *others),
        files=files_read,
        records=records,
        exclusions=exclusions,
        doubts=tuple(doubts),
    )


def _place(source: SourceRead, entry: SourcedRecord) -> str:
    """Return the name of a record's source, with the file's name if the source has several files."""
    file = entry.record.get(FILE)
    return source.source.name if file is None else f"{source.source.name}, {file}"


def _check_contents(files: Sequence[FileRead]) -> None:
    first: dict[str, FileRead] = {}
    for file in files:
        if (twin := first.setdefault(file.intake.sha256, file)) is not file:
            raise InputError(
                f"this file is identical to {twin.name}, and its records would count twice: omit it",
                path=file.path,
            )


def label_of(names: Sequence[str]) -> str:
    """Return one display name for files with these names: `a.ris and 2 more files`."""
    more = len(names) - 1
    return names[0] if not more else f"{names[0]} and {more} more file{'' if more == 1 else 's'}"


def with_copies(
    records: Sequence[dict[str, Any]], copies: Sequence[Duplicate], source_of: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the records. Originals get their missing fields from their copies, the most useful copy first.

    `source_of`: the name of each record's source; empty if there is a single source.
    """
    copies_of: dict[int, list[int]] = {}
    for copy in copies:
        copies_of.setdefault(copy.of, []).append(copy.index)
    whole = list(records)
    for stays, others in copies_of.items():
        others.sort(key=lambda index: (*rank(records[index]), -index), reverse=True)
        origins = [{"from": index} | ({"source": source_of[index]} if source_of else {}) for index in others]
        whole[stays] = filled(records[stays], zip((records[index] for index in others), origins, strict=True))
    return whole
