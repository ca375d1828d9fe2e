"""Identification: the records of the sources that were searched, and which of them no model needs to see.

The first boxes of a PRISMA flow: records by source; copies of a record, and what the initial filter (tier 1, spec 3)
rejects, stay in the batch as exclusions with their reasons.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tamis_producer.files.decode import MAX_FILE_BYTES
from tamis_schemas import Exclusion, InputError, SearchCriteria, Source
from tamis_schemas.answers.exclusion import DUPLICATE

from ..intake.duplicates import Doubt, Duplicate, rank
from ..intake.duplicates import exclusion_of as exclusion_of_copy
from ..intake.filling import filled
from ..intake.sourced_records import FILE, FileRead, SourcedRecord, SourceRead, read_sources
from ..intake.stated_source import StatedSource
from .initial_filter import InitialFilter
from .known_records import KnownRecords, NewDuplicates, find_new_duplicates


@dataclass(frozen=True)
class Identified:
    """Records in the order of the sources and their files, the places of those kept out, and what to tell of them."""

    sources: tuple[Source, ...]
    files: tuple[FileRead, ...]
    records: list[dict[str, Any]]  # all of them, excluded or not
    exclusions: dict[int, Exclusion] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()  # pairs that may be copies: none is kept out for it, a human looks at them

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Those that a model is asked about, in their order."""
        return [record for index, record in enumerate(self.records) if index not in self.exclusions]

    @property
    def duplicates(self) -> int:
        """The number of copies of other records, here or in an earlier search."""
        return sum(exclusion.rule == DUPLICATE for exclusion in self.exclusions.values())

    @property
    def known(self) -> int:
        """The number of these that an earlier search gave: nothing here asks about them."""
        return sum(one.rule == DUPLICATE and one.duplicate_of is None for one in self.exclusions.values())

    @property
    def rejected(self) -> int:
        """The number of records that the initial filter rejected."""
        return len(self.exclusions) - self.duplicates


def identify(
    files: Sequence[Path | StatedSource] | Path | StatedSource,
    *,
    keep_duplicates: bool = False,
    initial_filter: SearchCriteria | None = None,
    names: Mapping[Path, str] | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    strict: bool = False,
    known: KnownRecords | None = None,
) -> Identified:
    """The records of some files; duplicates are excluded unless kept, then what the initial filter rejects.

    Duplicates are looked for within and between the sources. The copy that stays is filled: each field that it lacks
    is taken from the others, that which offers most first, and says so.

    Args:
        files: what `read_sources` reads.
        keep_duplicates: ask a model about every copy of a record.
        initial_filter: the criteria after which tier 1 filters; None: it does not.
        names: what files are called, where not as their paths.
        max_bytes: a larger file is not read.
        strict: a record that cannot be read is an error; else it is lost, and the intake's notes say so.
        known: what an earlier search gave; its copies are kept out in any case. None: there was none.

    Raises:
        InputError: a file cannot be read, or two are the same.
    """
    read = read_sources(files, names=names, max_bytes=max_bytes, strict=strict)
    files_read = tuple(file for each in read for file in each.files)
    _check_contents(files_read)
    records = [one.record for each in read for one in each.sourced]
    source_of = [each.source.name for each in read for _ in each.sourced] if len(read) > 1 else []
    places = [_place(each, one) for each in read for one in each.sourced] if len(files_read) > 1 else []
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
    return Identified(
        sources=tuple(each.source.model_copy(update=done) for each in read),
        files=files_read,
        records=records,
        exclusions=exclusions,
        doubts=tuple(doubts),
    )


def _place(source: SourceRead, one: SourcedRecord) -> str:
    """Return where a record stands, besides its line: of several files of a source also in which."""
    file = one.record.get(FILE)
    return source.source.name if file is None else f"{source.source.name}, {file}"


def _check_contents(files: Sequence[FileRead]) -> None:
    first: dict[str, FileRead] = {}
    for file in files:
        if (twin := first.setdefault(file.intake.sha256, file)) is not file:
            raise InputError(
                f"this is {twin.name} once more, byte for byte, and its records would count twice: leave it out",
                path=file.path,
            )


def label_of(names: Sequence[str]) -> str:
    """What people call the records of files with these names."""
    more = len(names) - 1
    return names[0] if not more else f"{names[0]} and {more} more file{'' if more == 1 else 's'}"


def with_copies(
    records: Sequence[dict[str, Any]], copies: Sequence[Duplicate], source_of: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The records, those that have copies filled from them; `source_of` names the source of each, where several are."""
    copies_of: dict[int, list[int]] = {}
    for copy in copies:
        copies_of.setdefault(copy.of, []).append(copy.index)
    whole = list(records)
    for stays, others in copies_of.items():
        others.sort(key=lambda index: (*rank(records[index]), -index), reverse=True)
        origins = [{"from": index} | ({"source": source_of[index]} if source_of else {}) for index in others]
        whole[stays] = filled(records[stays], zip((records[index] for index in others), origins, strict=True))
    return whole
