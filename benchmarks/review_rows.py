"""A published review's own deduplication, record by record: to which of its 1,498 rows each of 2,695 records belongs.

No code of Tamis is used. A row of the review has only a title without capitals, punctuation and foreign letters; for a
repository, only a number. So these signs place a record, the surest first: the repository's number, the title as the
review wrote it, the title's letters, a DOI or PubMed id of a placed record, the title's words. A record without any
sign is lost: the review screened neither the record nor a copy of it.
"""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote

from rapidfuzz import fuzz, process

REVIEW = Path(__file__).parents[2] / "shared" / "data" / "reviews" / "snhl_dimitrov_2024"
WORDS_ALIKE = 90.0  # of 100, by the words that both titles have: the review took such titles for one
PIECE_ALIKE = 80.0  # of 100, of the shorter title in the longer one: not the same words by chance
FEW_WORDS = 4  # stand in many a longer title

_TITLE: Mapping[str, str] = {
    "base": "title",
    "cinahl": "artinfo/tig/atl",
    "embase": "TI",
    "github": "title",
    "ieee": "Document Title",
    "medline": "Title",
    "psychinfo": "TI",
    "scopus": "Title",
}
_WITH_DOI: Mapping[str, Sequence[str]] = {
    "base": ("url",),
    "cinahl": ("artinfo/ui/0/__text",),
    "embase": ("FTURL",),
    "ieee": ("DOI",),
    "medline": ("DOI",),
    "psychinfo": ("FTURL", "URL"),
    "scopus": ("DOI",),
}
_PMID: Mapping[str, str] = {"embase": "PM", "medline": "PMID", "scopus": "PubMed ID"}
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>&}]+")


@dataclass(frozen=True)
class ExportedRecord:
    """One record of an export, with the fields that show its row."""

    source: str
    place: int  # in its export, from 1
    title: str
    identifiers: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The name of the record for people, such as `embase 303`."""
        return f"{self.source} {self.place}"


class PlacedBy(StrEnum):
    """The sign that places a record in a row, the surest first."""

    NUMBER = "the repository's number"
    WRITTEN = "the title as the review wrote it"
    LETTERS = "the title's letters"
    IDENTIFIER = "an identifier of a placed record"
    WORDS = "the title's words"


@dataclass(frozen=True)
class Placed:
    """A record and its row; None if the review lost the record."""

    record: ExportedRecord
    row: str | None = None
    by: PlacedBy | None = None


def exported_records() -> list[ExportedRecord]:
    """Return the 2,695 records of the eight exports."""
    return [
        ExportedRecord(source, place, row[column], _identifiers(source, row))
        for source, column in _TITLE.items()
        for place, row in enumerate(_rows(REVIEW / "search_returns" / f"{source}.csv"), 1)
    ]


def screened_titles() -> dict[str, str]:
    """Return the 1,498 rows that the review screened: `ID` -> title."""
    return {row["ID"]: row["title"] for row in _rows(REVIEW / "responses" / "LB_response_complete.csv")}


def place(records: Sequence[ExportedRecord], titles: Mapping[str, str]) -> list[Placed]:
    """Return each record with its row, in the order of `records`. If two rows fit equally, the first is used."""
    placed = [_by_title(record, titles_by) for titles_by in [_folded(titles)] for record in records]
    placed = _by_identifiers(placed)
    return [_by_words(one, titles) if one.row is None else one for one in placed]


def as_written(title: str) -> str:
    """Return the title as the review wrote it: small ASCII letters, digits and spaces."""
    return re.sub(r"[^a-z0-9\s]", "", title.lower())


def letters(title: str) -> str:
    """Return the title's ASCII letters and digits."""
    return re.sub(r"\s", "", as_written(title))


_FOLDS: Mapping[PlacedBy, Callable[[ExportedRecord], str]] = {
    PlacedBy.NUMBER: lambda record: f"github{record.place}" if record.source == "github" else "",
    PlacedBy.WRITTEN: lambda record: as_written(record.title),
    PlacedBy.LETTERS: lambda record: letters(record.title),
}


def _folded(titles: Mapping[str, str]) -> Mapping[str, str]:
    rows: dict[str, str] = {}
    for row, title in titles.items():
        rows.setdefault(title, row)
    for row, title in titles.items():
        rows.setdefault(letters(title), row)
    return rows


def _by_title(record: ExportedRecord, rows: Mapping[str, str]) -> Placed:
    for by, fold in _FOLDS.items():
        if (title := fold(record)) and (row := rows.get(title)):
            return Placed(record, row, by)
    return Placed(record)


def _by_identifiers(placed: Sequence[Placed]) -> list[Placed]:
    """Return the records after placing those that share an identifier with a placed record, again and again."""
    rows = {key: one.row for one in reversed(placed) if one.row for key in one.record.identifiers}
    found = [
        replace(one, row=rows[known[0]], by=PlacedBy.IDENTIFIER)
        if one.row is None and (known := sorted(one.record.identifiers & rows.keys()))
        else one
        for one in placed
    ]
    return found if found == list(placed) else _by_identifiers(found)


def _by_words(one: Placed, titles: Mapping[str, str]) -> Placed:
    title = as_written(one.record.title)
    telling = {row: own for row, own in titles.items() if min(len(own.split()), len(title.split())) > FEW_WORDS}
    found = process.extract(title, telling, scorer=fuzz.token_set_ratio, score_cutoff=WORDS_ALIKE, limit=None)
    alike = [(fuzz.ratio(title, own), row) for own, _, row in found if fuzz.partial_ratio(title, own) >= PIECE_ALIKE]
    return replace(one, row=max(alike)[1], by=PlacedBy.WORDS) if alike else one


def _identifiers(source: str, row: Mapping[str, str]) -> frozenset[str]:
    dois = (_DOI.search(unquote(row.get(column) or "")) for column in _WITH_DOI.get(source, ()))
    pmid = re.match(r"\d+", row.get(_PMID.get(source, "")) or "")
    return frozenset({doi[0].lower().rstrip(".") for doi in dois if doi} | ({pmid[0]} if pmid else set()))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))
