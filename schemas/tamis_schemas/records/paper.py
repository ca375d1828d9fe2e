"""A paper: what the initial filter reads of a record."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Self

from pydantic import ConfigDict, Field

from ..values.frozen import Frozen
from .item import resolve_item_id


class PaperData(Frozen):
    """A record under the names of spec 3. Only a title is demanded, and it may be empty."""

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
        """The paper that a record describes, under the names that every reader gives its fields.

        No record is refused: a field that is missing or empty is None (the title: empty), a value that is no text is
        read as its text, and a year that is no number as unknown. Names that a paper does not have are left out.
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
        """The id by which an item is known: `id`, else `pmid`, else `unknown`."""
        return resolve_item_id({"id": self.id, "pmid": self.pmid})


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    text = value if isinstance(value, str) else value.isoformat() if isinstance(value, date) else str(value)
    if text.isascii():
        return text
    # Half of a character, as JSON can write it, is no text; one question mark keeps every place where it is.
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
