"""Identification: the records of a file, and which of them no model needs to see.

The first box of a PRISMA flow: copies of a record, and what the initial filter (tier 1, spec 3) rejects, stay in the
batch as exclusions with their reasons.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tamis_schemas import Exclusion, SearchCriteria, Source
from tamis_schemas.answers.exclusion import DUPLICATE

from ..intake import Intake, read_file
from ..intake.decode import MAX_FILE_BYTES
from ..intake.duplicates import Doubt, Duplicates, find_duplicates
from ..intake.duplicates import exclusion_of as exclusion_of_copy
from .initial_filter import InitialFilter


@dataclass(frozen=True)
class Identified:
    """Records in the file's order, the places of those kept out, and what to tell of the source."""

    intake: Intake
    source: Source
    exclusions: dict[int, Exclusion] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()  # pairs that may be copies: none is kept out for it, a human looks at them

    @property
    def records(self) -> list[dict[str, Any]]:
        """All of them, excluded or not."""
        return self.intake.records

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Those that a model is asked about, in the file's order."""
        return [record for index, record in enumerate(self.records) if index not in self.exclusions]

    @property
    def duplicates(self) -> int:
        """The number of copies of other records."""
        return sum(exclusion.rule == DUPLICATE for exclusion in self.exclusions.values())

    @property
    def rejected(self) -> int:
        """The number of records that the initial filter rejected."""
        return len(self.exclusions) - self.duplicates


def identify(
    path: Path,
    *,
    keep_duplicates: bool = False,
    initial_filter: SearchCriteria | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    strict: bool = False,
) -> Identified:
    """The records of a file; duplicates are excluded unless kept, then what the initial filter rejects.

    Args:
        path: a file that `read_file` reads.
        keep_duplicates: ask a model about every copy of a record.
        initial_filter: the criteria after which tier 1 filters; None: it does not.
        max_bytes: a larger file is not read.
        strict: a record that cannot be read is an error; else it is lost, and the intake's notes say so.

    Raises:
        InputError: the file cannot be read.
    """
    intake = read_file(path, max_bytes=max_bytes, strict=strict)
    exclusions: dict[int, Exclusion] = {}
    duplicates = Duplicates() if keep_duplicates else find_duplicates(intake.records)
    for copy in duplicates.copies:
        exclusions[copy.index] = exclusion_of_copy(copy, intake.records)
    switched_off: dict[str, str] = {}
    if initial_filter is not None:
        tier_one = InitialFilter(initial_filter)
        switched_off = {str(rule): reason for rule, reason in tier_one.switched_off.items()}
        for index, record in enumerate(intake.records):
            if index not in exclusions and (exclusion := tier_one.exclusion(record)) is not None:
                exclusions[index] = exclusion
    source = Source(
        file=path.name,
        format=intake.format.value,
        encoding=intake.encoding,
        replaced=len(intake.replaced),
        skipped=intake.skipped,
        lost=intake.lost,
        sha256=intake.sha256,
        duplicates_kept=keep_duplicates,
        initial_filter=initial_filter is not None,
        switched_off=switched_off,
    )
    return Identified(intake, source, exclusions, tuple(duplicates.doubts))
