"""A file as it was read, shown before anything is submitted: its source, its first records, what became no record."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import Field

from tamis_schemas import SourceKind
from tamis_schemas.values.frozen import Frozen

from ..intake.sourced_records import FileRead, SourceRead
from .files import NOTES_TOLD, FileNote

FIRST = 5  # records: enough to see that it is the wrong file
LONGEST_SHOWN = 300  # characters of a value


class FirstRecord(Frozen):
    """The fields by which people know a record."""

    title: str | None
    authors: str | None
    year: str | None
    journal: str | None


class FilePreview(Frozen):
    """A file of some source, and what was read of it."""

    file: str
    source: str = Field(description="As stated, else what the file tells, else the file's name.")
    kind: SourceKind
    format: str
    encoding: str
    records: int
    completes: str | None = Field(description="The file of the same source whose records it completes.")
    replaced: int = Field(description="Bytes that are not of the encoding, and were read as cp1252.")
    skipped: int = Field(description="Lines and the like that belong to no record.")
    lost: int = Field(description="Records that could not be read.")
    notes: tuple[FileNote, ...] = Field(description=f"The first {NOTES_TOLD} of these.")
    first: tuple[FirstRecord, ...] = Field(description=f"The first {FIRST} records.")


def previews_of(sources: Sequence[SourceRead]) -> tuple[FilePreview, ...]:
    """Every file of the sources, in their order."""
    return tuple(_preview(source, file) for source in sources for file in source.files)


def _preview(source: SourceRead, file: FileRead) -> FilePreview:
    intake = file.intake
    return FilePreview(
        file=file.name,
        source=source.source.name,
        kind=source.source.kind,
        format=intake.format.value,
        encoding=intake.encoding,
        records=len(intake.records),
        completes=file.completes,
        replaced=len(intake.replaced),
        skipped=intake.skipped,
        lost=intake.lost,
        notes=tuple(FileNote(file=file.name, **asdict(note)) for note in intake.notes[:NOTES_TOLD]),
        first=tuple(_first(record) for record in intake.records[:FIRST]),
    )


def _first(record: Mapping[str, Any]) -> FirstRecord:
    return FirstRecord(**{name: _shown(record.get(name)) for name in FirstRecord.model_fields})


def _shown(value: object) -> str | None:
    text = "; ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return text[:LONGEST_SHOWN] or None
