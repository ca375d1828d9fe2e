"""A source: a database, a register or another place of a search, and the files with its records."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from pydantic import Field, model_validator

from ..values.frozen import Frozen


class SourceKind(StrEnum):
    """The kind of a source, as PRISMA 2020 counts records: from databases, from registers, by other methods."""

    DATABASE = "database"
    REGISTER = "register"  # for trials
    OTHER = "other"  # websites, organisations, citation searching ...


class SourceFile(Frozen):
    """A file of records, and how it was read."""

    file: str  # name, without the folder
    format: str  # RIS, CSV, ...
    encoding: str  # utf-8, utf-16, cp1252, ...
    replaced: int = Field(default=0, ge=0)  # bytes that were invalid in that encoding, and were read as cp1252
    skipped: int = 0  # lines and similar parts that belong to no record
    lost: int = 0  # records that could not be read
    sha256: str  # of the file's bytes


@dataclass(frozen=True)
class Doubt:
    """Two records that may be copies; neither is removed. `index` and `of`: places in the batch or the file, from 0."""

    index: int
    of: int  # the record that would stay
    reason: str  # the agreement, and its contradiction


class Source(SourceFile):
    """The origin of records, for a methods section: where they come from, and how they were read and filtered.

    If a source has several files, the fields of `SourceFile` describe the first file.
    """

    name: str = ""  # of the database or register; by default the file's name
    kind: SourceKind = SourceKind.DATABASE
    searched: date | None = None  # None: unknown
    query: str | None = None  # as sent to the database; None: unknown
    records: int | None = Field(default=None, ge=0)  # records identified in it; None: all records of the batch
    more_files: tuple[SourceFile, ...] = ()  # files that complete the records of the first file, or follow them
    duplicates_kept: bool = False  # True: copies of a record were screened too
    initial_filter: bool = False  # True: tier 1 rejected records before any model was asked
    switched_off: dict[str, str] = Field(default_factory=dict)  # rules of tier 1 that did not apply -> reason
    doubts: tuple[Doubt, ...] = ()  # pairs of the batch's records that may be copies; the first source has all

    @model_validator(mode="before")
    @classmethod
    def _named(cls, values: Any) -> Any:
        return {"name": values.get("file", ""), **values} if isinstance(values, Mapping) else values

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """Every file, in the order of reading."""
        return (self, *self.more_files)
