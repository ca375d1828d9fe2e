"""The columns of a CSV export: which of them hold what a record is made of."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .decision import DECISION_FIELDS

ACCESSION = "accession"  # serves as id where there is no better one; otherwise kept under its own name

# Canonical name -> what exports call it (Embase, Scopus, PubMed, Web of Science, Zotero, EndNote, Rayyan,
# ClinicalTrials.gov), best first: the first that is not empty in a row serves, the others are kept as they are.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "item id", "record id", "recordid", "ref id", "refid", "covidence #", "rayyan id", "key"),
    "title": ("title", "primary title", "article title", "document title", "study title", "ti", "original title"),
    "abstract": (
        "abstract",
        "abstract note",
        "abstract text",
        "abstracts",
        "notes abstract",
        "brief summary",
        "ab",
        "original abstract",
    ),
    "authors": ("authors", "author", "author names", "author(s)", "au", "author full names", "af"),
    "year": ("year", "publication year", "pub year", "year of publication", "py", "publication date", "date"),
    "journal": (
        "journal",
        "journal/book",
        "journal title",
        "journal name",
        "source title",
        "publication title",
        "publication name",
        "secondary title",
        "container title",
        "so",
    ),
    "keywords": ("keywords", "author keywords", "key words", "keyword", "de", "manual tags", "index keywords"),
    "type": ("type", "publication type", "document type", "item type", "reference type", "type of reference", "dt"),
    "language": ("language", "languages", "article language", "language of original document", "la"),
    "doi": ("doi", "digital object identifier", "di"),
    "pmid": ("pmid", "pubmed id", "pubmedid", "medline pmid", "pm"),
    "nct_id": ("nct id", "nctid", "nct number"),
    "url": ("url", "urls", "link", "links", "full text link", "embase link"),
    ACCESSION: ("accession number", "accession", "embase accession id", "pui", "ut (unique wos id)", "ut", "eid"),
}
# The columns of the decision -> where the record keeps it.
DECISION_COLUMNS: Mapping[str, str] = {key.removeprefix("_"): key for key in DECISION_FIELDS}
_CANONICAL = {synonym: name for name, synonyms in SYNONYMS.items() for synonym in synonyms}


def canonical_name(column: str) -> str | None:
    """Return the canonical name of a column, whatever its case, or None."""
    return _CANONICAL.get(_plain(column))


def is_decision(column: str) -> bool:
    """True for the columns that hold what Tamis decided."""
    return column.strip().casefold() in DECISION_COLUMNS


def _plain(column: str) -> str:
    return re.sub(r"[\s_]+", " ", column).strip().casefold()


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"_{name}"
    return name


@dataclass(frozen=True)
class SortedCells:
    """One row: canonical name -> text, its own column name -> text for the rest; empty cells left out."""

    canonical: Mapping[str, str]
    kept: Mapping[str, str]
    column_of: Mapping[str, str]  # canonical name -> the column that served
    accession: str | None
    roles: Mapping[int, str]  # position -> the canonical name that it serves, or would serve if it were not empty
    kept_at: Mapping[int, str]  # position -> the name in `kept`
    accession_at: int | None


@dataclass(frozen=True)
class Columns:
    """A header row."""

    names: Sequence[str]

    @property
    def width(self) -> int:
        return len(self.names)

    @cached_property
    def known(self) -> dict[int, str]:
        """Position -> canonical name, for the columns that have one."""
        plain = {_plain(name) for name in self.names}
        name_at = {position: canonical_name(name) for position, name in enumerate(self.names)}
        if plain >= {"pt", "ut"}:  # the two-letter columns of Web of Science, where ID means Keywords Plus
            name_at = {position: name for position, name in name_at.items() if name != "id"}
        return {position: name for position, name in name_at.items() if name is not None}

    @property
    def has_content(self) -> bool:
        """True where a column holds a title or an abstract."""
        return not {"title", "abstract"}.isdisjoint(self.known.values())

    @property
    def repeated(self) -> str | None:
        """A name that stands twice, if one does; columns without a name may."""
        seen: set[str] = set()
        for name in self.names:
            if name and name.casefold() in seen:
                return name
            seen.add(name.casefold())
        return None

    @cached_property
    def _order(self) -> list[tuple[str, list[int]]]:
        by_name: dict[str, list[int]] = {}
        for position, name in self.known.items():
            by_name.setdefault(name, []).append(position)
        return [
            (name, sorted(positions, key=lambda at: SYNONYMS[name].index(_plain(self.names[at]))))
            for name, positions in by_name.items()
        ]

    @cached_property
    def own_names(self) -> list[str]:
        """The name of each column that keeps its own; one without a name is called by its position."""
        taken = set(self.names)
        return [
            name.casefold() if is_decision(name) else name or _free(f"column_{position}", taken)
            for position, name in enumerate(self.names, 1)
        ]

    def sort(self, cells: Sequence[str]) -> SortedCells:
        """The cells of one row, by what they hold. Cells beyond the header are the caller's business."""
        filled = {at: cell for at, cell in enumerate(cells[: self.width]) if cell.strip()}
        served: dict[str, int] = {}
        for name, positions in self._order:
            if (at := next((at for at in positions if at in filled), None)) is not None:
                served[name] = at
        accession_at = served.pop(ACCESSION, None)
        if accession_at is not None and not served.keys().isdisjoint(("id", "pmid", "nct_id")):
            accession_at = None
        used = {*served.values(), accession_at}
        kept_at = {at: self.own_names[at] for at in filled if at not in used}
        would_serve = {name: positions[0] for name, positions in self._order if name != ACCESSION}
        return SortedCells(
            canonical={name: filled[at].strip() for name, at in served.items()},
            kept={name: filled[at] for at, name in kept_at.items()},
            column_of={name: self.names[at] for name, at in served.items()},
            accession=None if accession_at is None else filled[accession_at].strip(),
            roles={at: name for name, at in {**would_serve, **served}.items() if at not in kept_at},
            kept_at=kept_at,
            accession_at=accession_at,
        )
