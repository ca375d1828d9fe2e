"""The meaning of table columns, for databases whose column names are ambiguous.

The module also finds the database that a record or a table names.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import unquote

from .bibtex_values import latex_of, value_of
from .record import split_authors
from .source import as_text

# The column or tag that names a record's database: in RIS and Ovid, in EndNote, in tables that people made. The names
# lack the prefixes that readers add.
DATABASE_NAMES = ("db", "remote-database-name", "database name", "database", "source database", "source file", "source")
LONGEST_NAME = 60  # characters; a longer text under such a name is a citation
_BEFORE = re.compile(r"\A(?:ris|nbib|endnote) ")


def plain_name(column: str) -> str:
    """Return a column's plain name, as in mappings: lower case, with one space between words."""
    return re.sub(r"[\s_@]+", " ", column).strip().casefold()


@dataclass(frozen=True)
class ColumnMapping:
    """The meaning of the columns in one database's tables. Column names are in lower case, as in `plain_name`."""

    signs: frozenset[str]  # columns in every header of the database; no other database has all of them
    marker: str | None = None  # column filled in each of the database's rows, if a table has rows of several databases
    # Canonical name -> its columns, best first; they precede the usual columns.
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()  # columns that keep their name, though other databases use it for a known field
    # Canonical name -> the reader of its cell, if the text needs one.
    values: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    # Canonical name -> the writer of its cell, if a changed value needs one.
    written: Mapping[str, Callable[[object], str]] = field(default_factory=dict)
    # The filled cells of a row -> fields made from several cells or from parts of a cell. These fields override other
    # fields. Empty values are ignored.
    made: Callable[[Mapping[str, str]], Mapping[str, Any]] | None = None
    database: tuple[str, ...] = ()  # the columns that name the database, best first
    called: str | None = None  # name of the database, if no other database has such tables


# Ovid: the source contains year, journal and volume; a link contains the DOI; each author has a line.
SOURCE_READ = 2_000  # characters that the patterns search; a longer text is not a source
TITLE_END = 80  # characters searched for the end of a title
# "Journal. 12(3) (pp 4-5), 2020. Date ...", "Journal. Vol.12,(3), 2020, pp. 4-5.", "Journal. 12(3):4-5, 2020 Mar 1."
_BEHIND_JOURNAL = re.compile(
    r"\.\s+(?=Vol\.|Conference:|Conference Publication:"
    r"|(?:\(\d[^()]{0,40}\) )?\((?:no pag|pp |var)|\w{0,9}\d[\w /-]{0,40}[(:,])"
)
# "Bo, Gil [Ed]. (2021). Book. (pp. 1-9). Town: Press."
_BOOK = re.compile(r".{0,500}?\.\s\((?P<year>\d{4})\)\.\s(?P<title>.+?)\.\s\(pp")
_YEAR = re.compile(r"(?:,\s(?=\d{4}[,.\s])|\.\s(?=\d{4}, pp))((?:1[89]|20)\d\d)")
_VOLUME = re.compile(
    r"\.\s+(?:Vol\.(?P<vol>[^,(\s]+),?\s?(?:\((?P<no>(?:[^()]|\([^()]{0,40}\)){0,80})\),)?"
    r"|(?!\d{4}, pp)(?P<volume>\w{0,9}\d[\w /-]{0,40}?)?\s?(?:\((?!no pag|pp |var)(?P<issue>[^()]{0,80})\))?\s?"
    r"(?=\((?:no pag|pp |var)|:|,))"
)
_PAGES = re.compile(r"(?:\(pp |\bpp\. |:)(?P<pages>[A-Za-z]?\d\w*(?:\.\w+)?(?:-\w+(?:\.\w+)?)?)")
_OVID_DOI_IN_LINK = re.compile(r"[?&]DO=([^&\s]+)|doi\.org/(10\.[^\s\]]+)", re.IGNORECASE)
_BARE_DOI = re.compile(r"10\.\d{4,9}/\S+")
_BEHIND_TITLE = re.compile(r"(?:\s*\[References\]\.?|DP {1,2}- .{0,40})\s*$")
_LINKS = ("do", "digital object identifier", "url", "fturl", "link to the ovid full text or citation")


def _ovid_title(text: str) -> str:
    """Return the title without its end "[References]." (in PsycINFO), and without a date that an export appended."""
    return text[:-TITLE_END] + _BEHIND_TITLE.sub("", text[-TITLE_END:])


def _ovid_made(cells: Mapping[str, str]) -> Mapping[str, Any]:
    source = " ".join((cells.get("so") or cells.get("source") or "")[:SOURCE_READ].split())
    made: dict[str, Any] = {}
    if years := _YEAR.findall(source.partition("Date of Publication")[0]):
        made["year"] = int(years[-1])  # the date of a congress may come before it
    elif dated := re.search(r"\b(?:1[89]|20)\d\d\b", cells.get("dp", "")):
        made["year"] = int(dated[0])
    if book := _BOOK.match(source):
        made |= {"journal": book["title"], "year": int(book["year"])}
    elif source:
        end = _BEHIND_JOURNAL.search(source)
        behind = source[end.start() :] if end else ""
        if end:
            made["journal"] = source[: end.start()]
        if volume := _VOLUME.search(behind):
            made["volume"] = volume["vol"] or volume["volume"]
            made["issue"] = volume["no"] or volume["issue"]
        if pages := _PAGES.search(behind):
            made["pages"] = pages["pages"]
    for name in _LINKS:
        if link := _OVID_DOI_IN_LINK.search(text := cells.get(name, "")):
            made.setdefault("doi", unquote(unquote(link[1] or link[2])))
        elif bare := _BARE_DOI.match(text):
            made.setdefault("doi", bare[0])
    if "medline" in cells.get("db", cells.get("database", "")).casefold() and cells.get("ui", "").strip().isdigit():
        made["pmid"] = cells["ui"].strip()
    return made


_OVID_VALUES: Mapping[str, Callable[[str], Any]] = {"title": _ovid_title}

# EBSCO (CINAHL and others): a record's XML as a row, with a column for each author, subject and number.
_EBSCO_NUMBER = re.compile(r"/(\d+)(?:/|$)")


def _ebsco_elements(cells: Mapping[str, str], stem: str) -> list[tuple[str, str]]:
    """Return the pairs (number, text) of the columns `stem`, `stem/0`, `stem/0/ text` and so on, sorted by number.

    `cells`: column name -> text. The number is the digits in the column's name, or "".
    """
    elements = (
        (match[1] if (match := _EBSCO_NUMBER.match(name, len(stem))) else "", text.strip())
        for name, text in cells.items()
        if name.startswith(stem) and not name.endswith("/ type")
    )
    return sorted(elements, key=lambda element: (int(element[0] or 0), *element))


def _ebsco_texts(cells: Mapping[str, str], stem: str) -> list[str]:
    return list(dict.fromkeys(text for _, text in _ebsco_elements(cells, stem)))


def _ebsco_made(cells: Mapping[str, str]) -> Mapping[str, Any]:
    made: dict[str, Any] = {
        "authors": _ebsco_texts(cells, "artinfo/aug/au"),
        "keywords": _ebsco_texts(cells, "artinfo/sug/subj"),
        "type": "; ".join(_ebsco_texts(cells, "artinfo/doctype")) or cells.get("artinfo/pubtype"),
        "issn": cells.get("jinfo/issn"),
        "volume": cells.get("pubinfo/vid"),
        "issue": cells.get("pubinfo/iid"),
    }
    for number, text in _ebsco_elements(cells, "artinfo/ui"):
        kind = cells.get(f"artinfo/ui/{number}/ type" if number else "artinfo/ui/ type")
        if kind == "doi":
            made.setdefault("doi", text)
        elif kind == "pmid":
            made.setdefault("pmid", re.sub(r"\D", "", text))
    return made


# BibTeX in a table.
PUBLISHER = 80  # maximum characters of a publisher's name before a description
_SOURCE = re.compile(r"Source: (?!https?:)(?P<journal>.+?)(?:,? Vol\.? [\w-]+|; Volume|, Iss\b|, Pp?\b|(?= ; )|$)")
_DESCRIPTION = re.compile(r"(?:^|; )Description:(?P<text>.*)", re.DOTALL)
_ISSN = re.compile(r"\bISSN (\d{4}-\d{3}[\dXx])")


def _bibtex_abstract(description: str) -> str:
    """Return the abstract in the text after "Description:" of a BibTeX note; "" if there is no abstract.

    The publisher's name at the beginning of the text is removed.
    """
    publisher, mark, behind = description.partition(" ; ")
    text = behind if mark and len(publisher) <= PUBLISHER else description
    return text.strip().removeprefix(": ") if mark or len(text) > PUBLISHER else ""


def _bibtex_made(cells: Mapping[str, str]) -> Mapping[str, Any]:
    note = value_of("abstract", cells.get("note", ""))
    above, _, _ = note.partition("Description:")
    made: dict[str, Any] = {}
    if source := _SOURCE.match(above):
        made["journal"] = source["journal"].strip(" ;,")
    if description := _DESCRIPTION.search(note):
        made["abstract"] = _bibtex_abstract(description["text"].strip())
    if issn := _ISSN.search(above):
        made["issn"] = issn[1]
    return made


_READ = ("title", "abstract", "authors", "year", "journal", "keywords", "type", "language", "doi", "url")


def _pubmed_authors(text: str) -> list[str]:
    return split_authors(text.removesuffix("."))  # the list ends with a full stop


MAPPINGS: tuple[ColumnMapping, ...] = (
    # Ovid: fields by their codes, as with the option "field labels: short" and in most exports.
    ColumnMapping(
        signs=frozenset(("db", "ti", "so")),
        marker="db",
        names={
            "keywords": ("kw", "sh", "mh", "hw", "de"),
            "type": ("pt",),
            "accession": ("an", "ui"),
        },
        own=frozenset(("so", "do", "id", "py")),
        values=_OVID_VALUES,
        made=_ovid_made,
        database=("db",),
    ),
    # Ovid: the fields by their full names.
    ColumnMapping(
        signs=frozenset(("link to the ovid full text or citation", "title", "source")),
        marker="link to the ovid full text or citation",
        own=frozenset(("source", "digital object identifier")),
        values=_OVID_VALUES,
        made=_ovid_made,
        database=("database",),
    ),
    # EBSCO: a record's XML as a row.
    ColumnMapping(
        signs=frozenset(("artinfo/tig/atl", "jinfo/jtl")),
        marker="artinfo/tig/atl",
        made=_ebsco_made,
        database=("header/ longdbname", "header/ shortdbname"),
    ),
    # EBSCO: the columns of its newer pages.
    ColumnMapping(
        signs=frozenset(("longdbname", "contributors", "title")),
        marker="longdbname",
        names={"journal": ("source",), "year": ("publicationdate", "coverdate"), "accession": ("an",)},
        database=("longdbname", "shortdbname"),
    ),
    # BibTeX in a table.
    ColumnMapping(
        signs=frozenset(("entrytype", "id", "title")),
        marker="entrytype",
        values={name: partial(value_of, name) for name in _READ},
        written={name: partial(latex_of, name) for name in _READ},
        made=_bibtex_made,
    ),
    ColumnMapping(
        signs=frozenset(("journal/book", "create date")), values={"authors": _pubmed_authors}, called="PubMed"
    ),
    ColumnMapping(signs=frozenset(("eid", "source title")), database=("source",), called="Scopus"),
    # In Embase, the column "source" is the whole citation.
    ColumnMapping(signs=frozenset(("pui", "embase link")), own=frozenset(("source",)), called="Embase"),
    # The two-letter columns: ID is Keywords Plus, and PT is only "J".
    ColumnMapping(signs=frozenset(("pt", "ut")), own=frozenset(("id", "pt")), called="Web of Science"),
    ColumnMapping(
        signs=frozenset(("ut (unique wos id)",)), own=frozenset(("publication type",)), called="Web of Science"
    ),
    ColumnMapping(signs=frozenset(("date added to xplore",)), called="IEEE Xplore"),
    ColumnMapping(signs=frozenset(("cochrane review id",)), names={"journal": ("source",)}, called="Cochrane Library"),
    ColumnMapping(
        signs=frozenset(("nct number", "conditions")),
        names={"keywords": ("keywords", "conditions"), "type": ("study type",)},
        called="ClinicalTrials.gov",
    ),
    ColumnMapping(signs=frozenset(("lens id", "date published")), called="Lens"),
    ColumnMapping(signs=frozenset(("publication id", "pubyear")), called="Dimensions"),
    # Google Scholar, as Publish or Perish saves it.
    ColumnMapping(signs=frozenset(("gsrank",)), names={"journal": ("source",)}, called="Google Scholar"),
)


def mappings_for(columns: Collection[str]) -> tuple[ColumnMapping, ...]:
    """Return the mappings of the databases whose tables have these columns (plain names, as in `plain_name`)."""
    return tuple(mapping for mapping in MAPPINGS if mapping.signs.issubset(columns))


def database_of(record: Mapping[str, Any]) -> str | None:
    """Return the name of the record's database as written, or None if the record names no database."""
    text_of: dict[str, str] = {}
    for key, value in record.items():
        if not key.startswith("_") or isinstance(value, Mapping):
            continue
        name = _BEFORE.sub("", key.lstrip("_").casefold().replace("_", " "))
        if name in DATABASE_NAMES and 0 < len(text := as_text(value).strip()) <= LONGEST_NAME:
            text_of.setdefault(name, text)
    return next((text_of[name] for name in DATABASE_NAMES if name in text_of), None)


def database_of_table(columns: Iterable[str]) -> str | None:
    """Return the database whose tables have this header. Return None if no database, or several, have such tables."""
    return next((m.called for m in mappings_for({plain_name(name) for name in columns}) if m.called), None)
