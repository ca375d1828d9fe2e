"""What the tables of one source mean by their columns, where that is not what such names mean elsewhere."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


def plain_name(column: str) -> str:
    """Return the name of a column by which mappings know it: small letters, one blank for what separates words."""
    return re.sub(r"[\s_@]+", " ", column).strip().casefold()


@dataclass(frozen=True)
class ColumnMapping:
    """The columns of one source, under their plain names."""

    signs: frozenset[str]  # stand in the header of each of its tables, and together in no other
    marker: str | None = None  # is filled in each of its rows; a table may hold rows of several sources
    # Canonical name -> the columns that hold it, best first, before those of that name elsewhere.
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()  # keep their own name, though elsewhere they hold a canonical field
    # Canonical name -> what its cell says, where it is not the text as it stands.
    values: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    # Canonical name -> the cell that says a value, where a changed one cannot stand as it is.
    written: Mapping[str, Callable[[object], str]] = field(default_factory=dict)
    # The filled cells of a row -> fields that several cells, or a part of one, make up; others go before these.
    made: Callable[[Mapping[str, str]], Mapping[str, Any]] | None = None
    database: tuple[str, ...] = ()  # the columns that name the database, best first
    called: str | None = None  # the database that such tables come from, where they come from no other
