"""A source: a database, a register or another place that was searched, and the files in which its records came."""

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Any

from pydantic import Field, model_validator

from ..values.frozen import Frozen


class SourceKind(StrEnum):
    """The kind of a source, as PRISMA 2020 counts records: from databases, from registers, by other methods."""

    DATABASE = "database"
    REGISTER = "register"  # of trials
    OTHER = "other"  # websites, organisations, citation searching ...


class SourceFile(Frozen):
    """A file of records, and how it was read."""

    file: str  # its name, without the folder
    format: str  # RIS, CSV, ...
    encoding: str  # utf-8, utf-16, cp1252, ...
    replaced: int = Field(default=0, ge=0)  # bytes that were not valid in that encoding, and were read as cp1252
    skipped: int = 0  # lines and the like that belong to no record
    lost: int = 0  # records that could not be read
    sha256: str  # of the file's bytes


class Source(SourceFile):
    """The origin of records, for a methods section: where from, how read, how filtered.

    Its own fields as a file are those of the first one, in the case of several.
    """

    name: str = ""  # of the database or register; where none is given, that of the file
    kind: SourceKind = SourceKind.DATABASE
    searched: date | None = None  # None: nobody said when
    query: str | None = None  # as it was sent to the database; None: nobody said which
    records: int | None = Field(default=None, ge=0)  # identified; None: all of the batch
    more_files: tuple[SourceFile, ...] = ()  # whose records complete those of the first file, or follow them
    duplicates_kept: bool = False  # True: copies of a record were screened as well
    initial_filter: bool = False  # True: tier 1 rejected records before any model was asked
    switched_off: dict[str, str] = Field(default_factory=dict)  # rules of tier 1 that did not apply -> why not

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        return {"name": given.get("file", ""), **given} if isinstance(given, Mapping) else given

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """Every file, in the order in which they were read."""
        return (self, *self.more_files)
