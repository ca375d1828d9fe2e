"""A paper: the fields of a record that the initial filter reads."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Self

from pydantic import ConfigDict, Field

from ..values.frozen import Frozen
from .item import resolve_item_id


class PaperData(Frozen):
    """A record with the fields that the initial filter reads. Only a title is required, and it may be empty."""

    model_config = ConfigDict(extra="forbid")

    title: str
    abstract: str | None = None
    year: int | None = None
    authors: list[str] = Field(default_factory=list)
    journal: str | None = None
    publication_date: str | None = None  # as the source writes it: 2020-05-01, 2020 May, ...
    doi: str | None = None
    pmid: str | None = None
    id: str | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return a record as a paper. No record is refused.

        A missing or empty title becomes "". Any other missing or empty field, or an invalid year, becomes None. Except
        for the year, values are converted to text. Fields with other names are omitted.
        """
        get = record.get
        authors = get("authors")
        if not isinstance(authors, list | tuple):
            authors = () if authors is None else (authors,)
        return cls(
            title=_text(get("title")) or "",
            abstract=_text(get("abstract")),
            year=_year(get("year")),
            authors=[text for author in authors if (text := _text(author))],
            journal=_text(get("journal")),
            publication_date=_text(get("publication_date")),
            doi=_text(get("doi")),
            pmid=_text(get("pmid")),
            id=_text(get("id")),
        )

    @property
    def item_id(self) -> str:
        """The id of the item: `id`, else `pmid`, else `unknown`."""
        return resolve_item_id({"id": self.id, "pmid": self.pmid})


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    text = value if isinstance(value, str) else value.isoformat() if isinstance(value, date) else str(value)
    if text.isascii():
        return text
    # JSON can contain half a surrogate pair; one question mark for it keeps all positions.
    return text.encode("utf-8", "replace").decode("utf-8")


def _year(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    digits = value.strip() if isinstance(value, str) else ""
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 4 else None
