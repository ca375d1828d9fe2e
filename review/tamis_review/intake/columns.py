"""The columns of a CSV export: which of them hold what a record is made of."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .column_mappings import DATABASE_NAMES, LONGEST_NAME, MAPPINGS, ColumnMapping, mappings_for, plain_name
from .decision import DECISION_NAMES

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
    "year": (
        "year",
        "publication year",
        "published year",
        "pub year",
        "year of publication",
        "py",
        "publication date",
        "date",
    ),
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
# What programs and databases write into the cell of an abstract that they do not have.
NO_ABSTRACT = frozenset(
    ("none", "nan", "null", "n/a", "no abstract", "no abstract available", "[no abstract available]")
)
_CANONICAL = {synonym: name for name, synonyms in SYNONYMS.items() for synonym in synonyms}
_CANONICAL_SOMEWHERE = {
    column: name for mapping in MAPPINGS for name, columns in mapping.names.items() for column in columns
} | _CANONICAL


def canonical_name(column: str) -> str | None:
    """Return the canonical name that a column has in some table, whatever its case, or None."""
    return _CANONICAL_SOMEWHERE.get(plain_name(column))


def is_no_abstract(text: str) -> bool:
    """True for what stands in the place of an abstract that is not there."""
    return len(text) < LONGEST_NAME and text.strip(" .").casefold() in NO_ABSTRACT


def is_decision(column: str) -> bool:
    """True for the columns that hold what Tamis decided."""
    return column.strip().casefold() in DECISION_NAMES


@dataclass(frozen=True)
class Columns:
    """A header row."""

    names: Sequence[str]

    @property
    def width(self) -> int:
        return len(self.names)

    @cached_property
    def plain(self) -> list[str]:
        """The names as mappings know them."""
        return [plain_name(name) for name in self.names]

    @cached_property
    def mappings(self) -> tuple[ColumnMapping, ...]:
        """Those of the sources whose columns these are."""
        return mappings_for(frozenset(self.plain))

    def mapping_of(self, cells: Sequence[str]) -> ColumnMapping | None:
        """The mapping of the source that a row comes from, if one is known."""
        for mapping in self.mappings:
            at = None if mapping.marker is None else self.plain.index(mapping.marker)
            if at is None or (at < len(cells) and cells[at].strip()):
                return mapping
        return None

    @cached_property
    def known(self) -> dict[int, str]:
        """Position -> canonical name, for the columns that have one."""
        claimed: dict[str, str | None] = {}
        for mapping in self.mappings:
            for name, columns in mapping.names.items():
                claimed |= dict.fromkeys((column for column in columns if column not in claimed), name)
            claimed |= dict.fromkeys(column for column in mapping.own if column not in claimed)
        name_of = {**_CANONICAL, **claimed}
        return {at: own for at, plain in enumerate(self.plain) if (own := name_of.get(plain)) is not None}

    @property
    def has_content(self) -> bool:
        """True where a column holds a title or an abstract."""
        return not {"title", "abstract"}.isdisjoint(self.known.values())

    @cached_property
    def database_at(self) -> list[int]:
        """The positions of the columns that name a record's database, best first."""
        first = {plain: at for at, plain in reversed([*enumerate(self.plain)])}
        mapped = [first[name] for mapping in self.mappings for name in mapping.database if name in first]
        own = frozenset[str]().union(*(mapping.own for mapping in self.mappings))
        others = [first[name] for name in DATABASE_NAMES if name in first and name not in own]
        return [at for at in dict.fromkeys((*mapped, *others)) if at not in self.known]

    def database_of(self, cells: Sequence[str]) -> str | None:
        """The database that a row names."""
        names = (cells[at].strip() for at in self.database_at if at < len(cells))
        return next((name for name in names if 0 < len(name) <= LONGEST_NAME), None)

    @cached_property
    def _order(self) -> dict[str, list[int]]:
        """Canonical name, or ACCESSION -> the positions of its columns, best first."""
        order: dict[str, list[int]] = {}
        for name in dict.fromkeys(self.known.values()):
            best_first = [column for mapping in self.mappings for column in mapping.names.get(name, ())]
            positions = [at for at, known in self.known.items() if known == name]
            columns = dict.fromkeys((*best_first, *SYNONYMS[name]))
            order[name] = [at for column in columns for at in positions if self.plain[at] == column]
        return order

    @cached_property
    def own_names(self) -> list[str]:
        """The name of each column that keeps its own: one without a name is called by its position, one that stands
        there again is numbered."""
        own_names: list[str] = []
        taken = {name.casefold() for name in self.names}
        seen: Counter[str] = Counter()
        for position, name in enumerate(self.names, 1):
            seen[name.casefold()] += 1
            if not name:
                own = f"column_{position}"
                while own in taken:
                    own = f"_{own}"
            elif (nth := seen[name.casefold()]) > 1:
                while (own := f"{name}_{nth}").casefold() in taken:
                    nth += 1
            else:
                own = name.casefold() if is_decision(name) else name
            taken.add(own.casefold())
            own_names.append(own)
        return own_names

    def sort(self, cells: Sequence[str]) -> tuple[dict[int, str], dict[str, int]]:
        """The cells of one row, by what they hold. Cells beyond the header are the caller's business.

        Those that are not blank by their positions; of those that serve, the position by canonical name or ACCESSION.
        """
        filled = {at: cell for at, cell in enumerate(cells[: self.width]) if cell.strip()}
        served: dict[str, int] = {}
        for name, positions in self._order.items():
            for at in positions:
                if at in filled and not (name == "abstract" and is_no_abstract(filled[at])):
                    served[name] = at
                    break
        if not served.keys().isdisjoint(("id", "pmid", "nct_id")):
            served.pop(ACCESSION, None)
        return filled, served

    @cached_property
    def best(self) -> dict[str, int]:
        """Canonical name -> position of the column that serves first."""
        return {name: positions[0] for name, positions in self._order.items() if name != ACCESSION}
