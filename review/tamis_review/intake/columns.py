"""The columns of a CSV export, and the fields of a record that they fill."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .column_mappings import DATABASE_NAMES, LONGEST_NAME, MAPPINGS, ColumnMapping, mappings_for, plain_name
from .decision import DECISION_NAMES

ACCESSION = "accession"  # used as the id if there is no better one; otherwise kept under its own name

# Canonical name -> its names in exports (Embase, Scopus, PubMed, Web of Science, IEEE, ProQuest, Springer, OpenAlex,
# Lens, Dimensions, Zotero, EndNote, Rayyan, ClinicalTrials.gov), best first. The first filled column of a row is used;
# the others are kept unchanged.
# fmt: off
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "item id", "record id", "recordid", "ref id", "refid", "covidence #", "rayyan id", "key"),
    "title": (
        "title", "primary title", "article title", "document title", "study title", "item title", "ti",
        "original title", "artinfo/tig/atl",
    ),
    "abstract": (
        "abstract", "abstract note", "abstract text", "abstracts", "notes abstract", "brief summary", "ab",
        "original abstract", "artinfo/ab", "artinfo/ab/0", "artinfo/ab/1", "artinfo/ab/2",
    ),
    "authors": (
        "authors", "author", "author names", "author(s)", "author/s", "au", "author full names", "af",
        "contributors", "authorships.author.display name",
    ),
    "year": (
        "year", "publication year", "published year", "pub year", "pubyear", "year of publication", "py",
        "publication date", "date", "date published", "pubdate", "yr", "first posted", "pubinfo/dt/ year",
    ),
    "journal": (
        "journal", "journal/book", "journal title", "journal name", "source title", "publication title", "pubtitle",
        "publication name", "secondary title", "container title", "so", "primary location.source.display name",
        "jinfo/jtl", "journaltitle", "booktitle", "jn", "jt",
    ),
    "keywords": (
        "keywords", "author keywords", "key words", "keyword", "de", "manual tags", "index keywords", "ieee terms",
        "mesh terms", "inspec controlled terms", "identifierkeywords", "subjectterms", "subjects",
        "emtree medical index terms (major focus)", "emtree medical index terms",
        "emtree drug index terms (major focus)", "emtree drug index terms",
    ),
    "type": (
        "type", "publication type", "document type", "item type", "reference type", "type of reference", "content type",
        "dt", "documenttype", "articletype", "doctypes", "pubtypes", "document identifier", "entrytype",
    ),
    "language": ("language", "languages", "article language", "language of original document", "lg", "la"),
    "doi": ("doi", "digital object identifier", "digitalobjectidentifier", "item doi", "di"),
    "pmid": ("pmid", "pubmed id", "pubmedid", "medline pmid", "ids.pmid", "pm"),
    "nct_id": ("nct id", "nctid", "nct number"),
    "url": (
        "study url", "url", "urls", "link", "links", "full text link", "embase link", "pdf link", "documenturl",
        "external url", "source urls", "source linkout", "dimensions url", "plink", "articleurl", "doi link",
        "web of science record", "header/displayinfo/plink/url", "fturl", "link to the ovid full text or citation",
    ),
    ACCESSION: (
        "accession number", "accession", "embase accession id", "pui", "ut (unique wos id)", "ut", "eid", "storeid",
        "lens id", "publication id", "cochrane review id", "header/ uiterm", "unique identifier",
    ),
}
# fmt: on
LISTED = 30  # column names in a message
LONGEST_PLACEHOLDER = 80  # characters
_PLACEHOLDER = re.compile(
    r"[\s\[(<*\"'.-]*(?:(?:there is |the )?(?:no|without)(?: an?)?(?: english)? ?abstracts?(?: is| was)?"
    r"(?: (?:available|provided|given|supplied|found|present|exists))?(?: for this (?:article|paper|record))?|"
    r"(?:the )?abstract(?: is| was)? (?:not|un)[ -]?(?:available|provided|given|supplied|found)(?: \w+){0,4}|abstract|"
    r"abstract missing|missing abstract|not (?:available|applicable|provided|given)|unavailable|missing|unknown|"
    r"n\.?\s?/?\s?a\.?|none|null|nan|nil|no data|tbd|empty)[\s\])>*\"'.:-]*",
    re.IGNORECASE,
)
_CANONICAL = {synonym: name for name, synonyms in SYNONYMS.items() for synonym in synonyms}
_CANONICAL_SOMEWHERE = {
    column: name for mapping in MAPPINGS for name, columns in mapping.names.items() for column in columns
} | _CANONICAL


def canonical_name(column: str) -> str | None:
    """Return the name of the record's field that a column usually fills, or None. Case does not matter."""
    return _CANONICAL_SOMEWHERE.get(plain_name(column))


def listed(columns: Sequence[str]) -> str:
    """Return the names of columns as a text for a message. Further names are counted only."""
    names = [repr(name.strip()[:40]) for name in columns if name.strip()]
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")


def is_no_abstract(text: str) -> bool:
    """Return True if the text is not an abstract: "", "No abstract available.", "N/A" and similar texts."""
    return not text.strip() or (len(text) <= LONGEST_PLACEHOLDER and _PLACEHOLDER.fullmatch(text) is not None)


def is_decision(column: str) -> bool:
    """Return True if the column has decisions that Tamis exported."""
    return column.strip().casefold() in DECISION_NAMES


@dataclass(frozen=True)
class Columns:
    """The columns of a table, from its header row."""

    names: Sequence[str]

    @property
    def width(self) -> int:
        return len(self.names)

    @cached_property
    def plain(self) -> list[str]:
        """Return the names of the columns in lower case, with one space between words."""
        return [plain_name(name) for name in self.names]

    @cached_property
    def mappings(self) -> tuple[ColumnMapping, ...]:
        """Return the mappings of columns to fields for the databases whose tables have these columns."""
        return mappings_for(frozenset(self.plain))

    def mapping_of(self, cells: Sequence[str]) -> ColumnMapping | None:
        """Return the mapping of columns to fields for a row's database, or None if the database is unknown."""
        for mapping in self.mappings:
            at = None if mapping.marker is None else self.plain.index(mapping.marker)
            if at is None or (at < len(cells) and cells[at].strip()):
                return mapping
        return None

    @cached_property
    def known(self) -> dict[int, str]:
        """Return a mapping from a column's position to the canonical name of the field that the column fills."""
        claimed: dict[str, str | None] = {}
        for mapping in self.mappings:
            for name, columns in mapping.names.items():
                claimed |= dict.fromkeys((column for column in columns if column not in claimed), name)
            claimed |= dict.fromkeys(column for column in mapping.own if column not in claimed)
        name_of = {**_CANONICAL, **claimed}
        return {at: canonical for at, plain in enumerate(self.plain) if (canonical := name_of.get(plain)) is not None}

    @property
    def has_content(self) -> bool:
        """Return True if the table has a column for titles or for abstracts."""
        return not {"title", "abstract"}.isdisjoint(self.known.values())

    @cached_property
    def database_at(self) -> list[int]:
        """Return the positions of the columns that name a record's database, best first."""
        first = {plain: at for at, plain in reversed([*enumerate(self.plain)])}
        mapped = [first[name] for mapping in self.mappings for name in mapping.database if name in first]
        not_canonical = frozenset[str]().union(*(mapping.own for mapping in self.mappings))
        others = [first[name] for name in DATABASE_NAMES if name in first and name not in not_canonical]
        return [at for at in dict.fromkeys((*mapped, *others)) if at not in self.known]

    def database_of(self, cells: Sequence[str]) -> str | None:
        """Return the database that a row names, or None."""
        names = (cells[at].strip() for at in self.database_at if at < len(cells))
        return next((name for name in names if 0 < len(name) <= LONGEST_NAME), None)

    @cached_property
    def _order(self) -> dict[str, list[int]]:
        """Return for each canonical name the positions of its columns, best first.

        The name ACCESSION, the database's own number, is included.
        """
        order: dict[str, list[int]] = {}
        for name in dict.fromkeys(self.known.values()):
            best_first = [column for mapping in self.mappings for column in mapping.names.get(name, ())]
            positions = [at for at, canonical in self.known.items() if canonical == name]
            columns = dict.fromkeys((*best_first, *SYNONYMS[name]))
            order[name] = [at for column in columns for at in positions if self.plain[at] == column]
        return order

    @cached_property
    def own_names(self) -> list[str]:
        """Return a unique name for each column, for the cells that fill no canonical field.

        An empty name is replaced by the column's position. A repeated name is numbered.
        """
        own_names: list[str] = []
        taken = {name.casefold() for name in self.names}
        seen: Counter[str] = Counter()
        for position, name in enumerate(self.names, 1):
            seen[name.casefold()] += 1
            if not name:
                label = f"column_{position}"
                while label in taken:
                    label = f"_{label}"
            elif (nth := seen[name.casefold()]) > 1:
                while (label := f"{name}_{nth}").casefold() in taken:
                    nth += 1
            else:
                label = name.casefold() if is_decision(name) else name
            taken.add(label.casefold())
            own_names.append(label)
        return own_names

    def sort(self, cells: Sequence[str]) -> tuple[dict[int, str], dict[str, int]]:
        """Return two mappings for a row: position -> filled cell, and field -> position of the cell with its value.

        Fields have canonical names, such as `title`, or the name `ACCESSION` (the database's own number). Cells beyond
        the header are ignored.
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
        """Return a mapping from the canonical name of a field to the position of its best column."""
        return {name: positions[0] for name, positions in self._order.items() if name != ACCESSION}
