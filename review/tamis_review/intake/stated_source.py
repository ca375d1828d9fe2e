"""A source as a reviewer states it: its files, and facts that no file contains."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from pydantic import ConfigDict, Field

from tamis_schemas import SourceKind
from tamis_schemas.values.frozen import Frozen


class StatedSource(Frozen):
    """The files of one database, register or other search, with facts about the search."""

    model_config = ConfigDict(extra="forbid")

    files: tuple[Path, ...] = Field(min_length=1)
    name: str | None = Field(default=None, min_length=1, max_length=200)  # None: as the records say, or the file's name
    kind: SourceKind | None = None  # None: the name and the records decide
    searched: date | None = None
    query: str | None = Field(default=None, max_length=100_000)  # the query as sent to the database


def stated(files: Sequence[Path | StatedSource] | Path | StatedSource) -> list[StatedSource]:
    """Return the files as a list of sources. Each path becomes a source without further facts."""
    listed = [files] if isinstance(files, Path | StatedSource) else files
    return [file if isinstance(file, StatedSource) else StatedSource(files=(file,)) for file in listed]
