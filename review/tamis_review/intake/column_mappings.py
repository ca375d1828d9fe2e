"""The sources whose tables need more than the names of their columns."""

from collections.abc import Collection

from .base_columns import BIBTEX_TABLE
from .column_mapping import ColumnMapping
from .ebsco_columns import EBSCO, EBSCO_XML
from .ovid_columns import OVID_CODES, OVID_LABELS
from .record import split_authors


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
