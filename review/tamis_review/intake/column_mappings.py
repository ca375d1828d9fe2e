"""The sources whose tables need more than the names of their columns."""

import re
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

from .bibtex_values import latex_of, value_of
from .column_mapping import ColumnMapping
from .ebsco_columns import EBSCO, EBSCO_XML
from .ovid_columns import OVID_CODES, OVID_LABELS
from .record import split_authors

PUBLISHER = 80  # characters at the most of the publisher's name that may stand before a description
_SOURCE = re.compile(r"Source: (?!https?:)(?P<journal>.+?)(?:,? Vol\.? [\w-]+|; Volume|, Iss\b|, Pp?\b|(?= ; )|$)")
_DESCRIPTION = re.compile(r"(?:^|; )Description:(?P<text>.*)", re.DOTALL)
_ISSN = re.compile(r"\bISSN (\d{4}-\d{3}[\dXx])")
_DOI_IN_LINK = re.compile(r"https?://(?:dx\.)?doi\.org/(10\.\d{4,9}/\S+)", re.IGNORECASE)


def _abstract(description: str) -> str:
    """The description without the publisher's name before it; "" where it is no more than a name."""
    publisher, mark, behind = description.partition(" ; ")
    text = behind if mark and len(publisher) <= PUBLISHER else description
    return text.strip().removeprefix(": ") if mark or len(text) > PUBLISHER else ""


def _made(cells: Mapping[str, str]) -> Mapping[str, Any]:
    note = value_of("abstract", cells.get("note", ""))
    above, _, _ = note.partition("Description:")
    made: dict[str, Any] = {}
    if source := _SOURCE.match(above):
        made["journal"] = source["journal"].strip(" ;,")
    if description := _DESCRIPTION.search(note):
        made["abstract"] = _abstract(description["text"].strip())
    if issn := _ISSN.search(above):
        made["issn"] = issn[1]
    if link := _DOI_IN_LINK.search(cells.get("url", "")):
        made["doi"] = unquote(link[1])
    return {name: value for name, value in made.items() if value}


_READ = ("title", "abstract", "authors", "year", "journal", "keywords", "type", "language", "doi", "url")
BIBTEX_TABLE = ColumnMapping(
    signs=frozenset(("entrytype", "id", "title")),
    marker="entrytype",
    names={"type": ("type", "entrytype"), "journal": ("journal", "journaltitle", "booktitle")},
    values={name: partial(value_of, name) for name in _READ},
    written={name: partial(latex_of, name) for name in _READ},
    made=_made,
)


def _pubmed_authors(text: str) -> list[str]:
    return split_authors(text.removesuffix("."))  # the list is closed with a full stop


PUBMED = ColumnMapping(
    signs=frozenset(("journal/book", "create date")), values={"authors": _pubmed_authors}, called="PubMed"
)
SCOPUS = ColumnMapping(signs=frozenset(("eid", "source title")), database=("source",), called="Scopus")
# Here the source is the whole citation.
EMBASE = ColumnMapping(
    signs=frozenset(("pui", "embase link")),
    names={
        "keywords": (
            "author keywords",
            "emtree medical index terms (major focus)",
            "emtree medical index terms",
            "emtree drug index terms (major focus)",
            "emtree drug index terms",
        )
    },
    own=frozenset(("source",)),
    called="Embase",
)
# The two-letter columns, where ID means Keywords Plus and PT says no more than "J".
WEB_OF_SCIENCE_CODES = ColumnMapping(
    signs=frozenset(("pt", "ut")), own=frozenset(("id", "pt")), called="Web of Science"
)
WEB_OF_SCIENCE = ColumnMapping(
    signs=frozenset(("ut (unique wos id)",)),
    names={"type": ("document type",), "url": ("doi link", "web of science record")},
    own=frozenset(("publication type",)),
    called="Web of Science",
)
IEEE_XPLORE = ColumnMapping(
    signs=frozenset(("date added to xplore",)),
    names={
        "keywords": ("author keywords", "ieee terms", "mesh terms", "inspec controlled terms"),
        "type": ("document identifier",),
        "url": ("pdf link",),
    },
    called="IEEE Xplore",
)
COCHRANE = ColumnMapping(
    signs=frozenset(("cochrane review id",)),
    names={"journal": ("source",), "accession": ("cochrane review id",)},
    called="Cochrane Library",
)
PROQUEST = ColumnMapping(
    signs=frozenset(("storeid", "pubtitle")),
    names={
        "year": ("year", "pubdate"),
        "journal": ("pubtitle",),
        "keywords": ("identifierkeywords", "subjectterms", "subjects"),
        "type": ("documenttype", "articletype"),
        "doi": ("digitalobjectidentifier",),
        "url": ("documenturl",),
        "accession": ("storeid",),
    },
    database=("database",),
)
CLINICAL_TRIALS = ColumnMapping(
    signs=frozenset(("nct number", "conditions")),
    names={
        "year": ("first posted",),
        "keywords": ("keywords", "conditions"),
        "type": ("study type",),
        "url": ("study url", "url"),
    },
    called="ClinicalTrials.gov",
)
LENS = ColumnMapping(
    signs=frozenset(("lens id", "date published")),
    names={
        "authors": ("author/s",),
        "year": ("publication year", "date published"),
        "keywords": ("keywords", "mesh terms"),
        "url": ("external url", "source urls"),
        "accession": ("lens id",),
    },
    called="Lens",
)
DIMENSIONS = ColumnMapping(
    signs=frozenset(("publication id", "pubyear")),
    names={
        "year": ("pubyear", "publication date"),
        "keywords": ("mesh terms",),
        "url": ("source linkout", "dimensions url"),
        "accession": ("publication id",),
    },
    called="Dimensions",
)
# Google Scholar, as Publish or Perish saves it.
GOOGLE_SCHOLAR = ColumnMapping(
    signs=frozenset(("gsrank",)),
    names={"journal": ("source",), "url": ("articleurl",)},
    called="Google Scholar",
)

MAPPINGS = (
    OVID_CODES,
    OVID_LABELS,
    EBSCO_XML,
    EBSCO,
    BIBTEX_TABLE,
    PUBMED,
    SCOPUS,
    EMBASE,
    WEB_OF_SCIENCE_CODES,
    WEB_OF_SCIENCE,
    IEEE_XPLORE,
    COCHRANE,
    PROQUEST,
    CLINICAL_TRIALS,
    LENS,
    DIMENSIONS,
    GOOGLE_SCHOLAR,
)


def mappings_for(columns: Collection[str]) -> tuple[ColumnMapping, ...]:
    """Return the mappings that a header with these columns, under their plain names, has the signs of."""
    return tuple(mapping for mapping in MAPPINGS if mapping.signs.issubset(columns))
