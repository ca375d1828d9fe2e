"""Records of an earlier search. A later search does not screen their copies again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tamis_schemas import Exclusion
from tamis_schemas.answers.exclusion import DUPLICATE

from ..intake.duplicates import Duplicate, Duplicates, find_duplicates


@dataclass(frozen=True)
class KnownRecords:
    """The records of an earlier search, whose copies a later search excludes.

    These are the records of a batch, and of the earlier batches that this batch updates.
    """

    name: str  # name of the batch, for the reasons of exclusions
    records: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class NewDuplicates(Duplicates):
    """The copies and doubtful pairs among the records of a later search, by record index in this search."""

    known: dict[int, Exclusion] = field(default_factory=dict)  # index of a copy of an earlier record -> its exclusion


def find_new_duplicates(known: KnownRecords, records: Sequence[dict[str, Any]]) -> NewDuplicates:
    """Return which of `records` are copies of known records, and which are copies of each other."""
    before = len(known.records)
    duplicates = find_duplicates([*known.records, *records])
    group_of = {copy.index: copy.of for copy in duplicates.copies} | {copy.of: copy.of for copy in duplicates.copies}
    known_of: dict[int, dict[str, Any]] = {}  # group -> its first known record
    exclusions: dict[int, Exclusion] = {}
    for index, group in sorted(group_of.items()):
        if index < before:
            known_of.setdefault(group, known.records[index])
        elif group in known_of:
            own_id = str(known_of[group].get("id", ""))
            reason = f"A copy of record {own_id!r} of {known.name}, found by an earlier search."
            exclusions[index - before] = Exclusion(rule=DUPLICATE, reason=reason)
    copies = [_moved(copy, before) for copy in duplicates.copies if copy.index >= before and copy.of not in known_of]
    doubts = [
        replace(doubt, index=doubt.index - before, of=doubt.of - before)
        for doubt in duplicates.doubts
        if min(doubt.index, doubt.of) >= before
    ]
    return NewDuplicates(copies, doubts, exclusions)


def _moved(copy: Duplicate, before: int) -> Duplicate:
    via = None if copy.via is None else copy.via - before
    return replace(copy, index=copy.index - before, of=copy.of - before, via=via)
