"""The types of records, with each format's name for a journal article, a book, a chapter ..."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A type of record, such as a book, with its name or code in each format. `also`: other names, in lower case."""

    ris: str
    bibtex: str
    endnote: int
    endnote_name: str
    medline: str
    also: tuple[str, ...] = ()


OTHER = Kind("GEN", "misc", 13, "Generic", "", ("misc", "document", "other"))
# fmt: off
JOURNAL_ARTICLE = Kind(
    "JOUR", "article", 17, "Journal Article", "Journal Article",
    (
        "journal", "journalarticle", "research article", "original article", "article-journal", "article in press",
        "ieee journals", "iet journals",
    ),
)
# fmt: on
KINDS: tuple[Kind, ...] = (
    JOURNAL_ARTICLE,
    Kind("BOOK", "book", 6, "Book", "Book", ("books", "edited book", "edbook", "monograph")),
    Kind("CHAP", "incollection", 5, "Book Section", "Book Chapter", ("inbook", "chapter", "booksection")),
    Kind("CONF", "proceedings", 10, "Conference Proceedings", "Congress", ("conference", "conference proceeding")),
    Kind(
        "CPAPER",
        "inproceedings",
        47,
        "Conference Paper",
        "Congress",
        ("conferencepaper", "conference abstract", "ieee conferences", "iet conferences"),
    ),
    Kind("THES", "phdthesis", 32, "Thesis", "Academic Dissertation", ("dissertation", "mastersthesis")),
    Kind("RPRT", "techreport", 27, "Report", "Technical Report", ("government document", "techreport")),
    Kind("NEWS", "article", 23, "Newspaper Article", "Newspaper Article", ("newspaper", "newspaperarticle")),
    Kind("MGZN", "article", 19, "Magazine Article", "", ("magazine", "magazinearticle", "ieee magazines")),
    Kind("UNPB", "unpublished", 34, "Unpublished Work", "Preprint", ("manuscript", "posted content", "preprint")),
    Kind("ELEC", "online", 12, "Web Page", "", ("webpage", "web site", "website")),
    Kind("PAT", "misc", 25, "Patent", "Patent", ("patents",)),
    Kind("DATA", "misc", 59, "Dataset", "Dataset", ("data set",)),
    OTHER,
)
# Words in a type's name that mean an article in a journal.
_IN_A_JOURNAL = ("article", "review", "trial", "study", "letter", "editorial", "case report", "meta-analysis")


def kind_of(record_type: object) -> Kind:
    """Return the kind that a record's `type` names in any format, or `OTHER` if the type is unknown.

    `Review`, `Randomized Controlled Trial` and similar types are journal articles. If semicolons separate several
    types, the first known type decides.
    """
    if not isinstance(record_type, str):
        return OTHER
    parts = [part.strip().casefold() for part in record_type.split(";")]
    if kind := next((_BY_NAME[part] for part in parts if part in _BY_NAME), None):
        return kind
    return JOURNAL_ARTICLE if any(sign in part for part in parts for sign in _IN_A_JOURNAL) else OTHER


def medline_types(record_type: object) -> list[str]:
    """Return the publication types in a record's `type`. Codes of other formats become PubMed's names."""
    parts = [part.strip() for part in record_type.split(";")] if isinstance(record_type, str) else []
    return [
        kind.medline if (kind := _BY_NAME.get(part.casefold())) is not None and kind.medline else part
        for part in parts
        if part
    ]


# If several kinds share a name, the first kind counts: "article" is a journal article.
_BY_NAME: Mapping[str, Kind] = {
    name.casefold(): kind
    for kind in reversed(KINDS)
    for name in (*kind.also, kind.ris, kind.bibtex, kind.endnote_name, kind.medline)
    if name
}
