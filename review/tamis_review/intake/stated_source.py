"""A source as a reviewer states it: its files, and what no file says of itself."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from pydantic import ConfigDict, Field

from tamis_schemas import SourceKind
from tamis_schemas.values.frozen import Frozen


class StatedSource(Frozen):
    """The files of one database, register or other search, and what is known of it."""

    model_config = ConfigDict(extra="forbid")

    files: tuple[Path, ...] = Field(min_length=1)
    name: str | None = Field(default=None, min_length=1, max_length=200)  # None: what the files tell, else their name
    kind: SourceKind | None = None  # None: a register where the name is one's, else a database
    searched: date | None = None
    query: str | None = Field(default=None, max_length=100_000)  # as it was sent to the database


def stated(files: Sequence[Path | StatedSource] | Path | StatedSource) -> list[StatedSource]:
    """Return each of the files as a source of which nothing else is known, unless it is one already."""
    listed = [files] if isinstance(files, Path | StatedSource) else files
    return [one if isinstance(one, StatedSource) else StatedSource(files=(one,)) for one in listed]
