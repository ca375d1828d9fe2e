"""A row of a file of decisions: what is known of its record, and what people said of it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ForeignWord:
    """What one person said, in the file's own words."""

    word: str  # empty: nothing
    reviewer: str | None = None  # None: the file does not say
    reason: str | None = None  # why it is excluded, or could not be got
    note: str | None = None
    retrieval: str | None = None  # whether the report could be got, where the file says so apart


@dataclass(frozen=True)
class ForeignRow:
    """One record."""

    place: str  # in the file: line 12
    record: Mapping[str, str]  # id, title, doi, pmid: what the row has of them
    said: tuple[ForeignWord, ...]
