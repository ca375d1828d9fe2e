"""The searches and decisions of a published review, read from its own files.

The project contains no data of the review.
"""

import csv
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

SHORT = 8  # records of each export's beginning; the short form has these and what people did not exclude alike
PEOPLE = {"LB": "LB_response_complete.csv", "LD": "LD_response_complete.csv"}
THIRD = "third reader"

_SAYS = {"1": "include", "2": "exclude", "Include": "include", "Exclude": "exclude"}
_TEXTS = {"medline": "pubmed_abstracts.txt"}  # the abstracts that the CSV lacks
_NEXT_TEXT = re.compile(r"(?:\r?\n){3}(?=\d+\. )")
_RETURNS = re.compile(r"^\| *([A-Za-z]+)\s*\|.*\|\s*([\d,]+)\s*\|\s*$", re.MULTILINE)
_RESOLVED = re.compile(r"^\| (.+?) ?\| (Include|Exclude) \| (\d+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Export:
    """A source of the review."""

    name: str  # as the review spells it
    published: int  # number of records, as the review states it
    files: tuple[Path, ...]  # the rows of the first file are the records

    @property
    def source(self) -> str:
        """The name of the source in `review_rows.py`."""
        return self.files[0].stem


@dataclass(frozen=True)
class Decision:
    """One person's decision about a row."""

    row: str  # the review's ID of the row
    title: str  # as in the person's table
    says: str  # include or exclude


@dataclass(frozen=True)
class FullText:
    """An assessed report, with the decisions of two people and their final decision."""

    row: str | None  # None: no search had found it
    title: str
    abstract: str
    authors: str
    said: Mapping[str, str]  # person -> include or exclude
    final: str
    reason: str | None  # why it was excluded


def exports(review: Path) -> list[Export]:
    """Return the eight sources, in the order of their files' names."""
    said = (review / "search_results.md").read_text("utf-8")
    counts = {name.lower(): (name, int(count.replace(",", ""))) for name, count in _RETURNS.findall(said)}
    found = []
    for path in sorted((review / "search_returns").glob("*.csv")):
        name, published = counts[path.stem]
        text = [path.with_name(_TEXTS[path.stem])] if path.stem in _TEXTS else []
        found.append(Export(name, published, (path, *text)))
    return found


def shortened(export: Export, places: Collection[int], folder: Path) -> Export:
    """Write a shorter export with the first records and the records at `places` (from 1), and return it."""
    kept = {*places, *range(1, SHORT + 1)}
    first, *texts = export.files
    rows = [row for at, row in enumerate(_cells(first)) if at == 0 or at in kept]
    with (folder / first.name).open("w", encoding="utf-8-sig", newline="") as stream:
        csv.writer(stream).writerows(rows)
    for text in texts:
        parts = _NEXT_TEXT.split(text.read_bytes().decode("utf-8-sig"))
        short = [part for at, part in enumerate(parts, 1) if at in kept]
        (folder / text.name).write_bytes("\r\n\r\n\r\n".join(short).encode())
    return Export(export.name, len(rows) - 1, tuple(folder / path.name for path in export.files))


def kept_places(count: int, places: Collection[int]) -> list[int]:
    """Return the places that `shortened` keeps of an export with `count` records, in order."""
    return sorted({*places, *range(1, min(SHORT, count) + 1)})


def decisions(review: Path) -> dict[str, list[Decision]]:
    """Return the decisions of each of two people about the 1,498 rows, by title and abstract."""
    return {
        person: [
            Decision(row["ID"], row["title"], _SAYS[row["response"]]) for row in _rows(review / "responses" / name)
        ]
        for person, name in PEOPLE.items()
    }


def resolutions(review: Path) -> list[Decision]:
    """Return the third person's decisions about rows on which the two people differ."""
    said = (review / "third_reviewer_responses.md").read_text("utf-8")
    return [Decision(row, title, _SAYS[says]) for title, says, row in _RESOLVED.findall(said)]


def full_texts(review: Path) -> list[FullText]:
    """Return the 18 assessed reports. Three of them came from lists of references."""
    return [
        FullText(
            row["ID"] if row["from_searches"] == "1" else None,
            row["title"],
            row["abstract"],
            row["authors"],
            {person: _SAYS[row[f"{person.lower()}_full_text_response"]] for person in PEOPLE},
            _SAYS[row["final_decision"]],
            None if row["reason for exclusion"] == "NA" else row["reason for exclusion"],
        )
        for row in _rows(review / "responses" / "full_text_reviews.csv")
    ]


def _rows(path: Path) -> list[dict[str, str]]:
    names, *rows = _cells(path)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _cells(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.reader(stream))
