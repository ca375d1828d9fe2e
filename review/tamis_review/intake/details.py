"""The details of a citation (volume, pages ...) from formats that Tamis only reads, with their names in other formats.

Records keep details under the names of their format (`_wos_VL`, `_enw_V`, `_pubmed_volume`). Tables (CSV, TSV) use the
same names. When Tamis writes a RIS file, it writes the remaining tags of Web of Science under their own names.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .fields import FieldPlace
from .source import Field, as_list, as_text

PREFIXES = ("_wos_", "_enw_", "_pubmed_", "_csl_")  # prefixes of read-only formats


@dataclass(frozen=True)
class Detail:
    """A detail of a citation, such as its volume: its RIS tag, its EndNote XML element, and its names in records."""

    ris: str
    endnote: str | None
    names: tuple[str, ...]
    before: str = ""  # prefix of the text, if the tag is for notes of any kind


DETAILS: tuple[Detail, ...] = (
    Detail("VL", "volume", ("_wos_VL", "_enw_V", "_pubmed_volume", "_csl_volume")),
    Detail("IS", "number", ("_wos_IS", "_enw_N", "_pubmed_issue", "_csl_issue")),
    Detail("SP", "pages", ("_wos_BP", "_enw_P", "_pubmed_pages", "_csl_page")),
    Detail("EP", "pages", ("_wos_EP",), "-"),  # EndNote has the first and the last page in one element
    Detail("C7", None, ("_wos_AR",)),
    Detail("DA", "dates/pub-dates/date", ("_wos_PD", "_enw_8", "_pubmed_date")),
    Detail("PY", None, ("_enw_D",)),
    Detail("JA", "periodical/abbr-1", ("_wos_JI", "_csl_container-title-short")),
    Detail("J2", None, ("_wos_J9", "_enw_O")),
    Detail("T2", "titles/secondary-title", ("_enw_B",)),
    Detail("T3", "titles/tertiary-title", ("_wos_SE", "_enw_S", "_csl_collection-title")),
    Detail("ST", "titles/short-title", ("_enw_!", "_csl_title-short")),
    Detail("TT", "titles/translated-title", ("_enw_Q",)),
    Detail("SN", "isbn", ("_wos_SN", "_enw_@", "_csl_ISSN", "_csl_ISBN")),
    Detail("SN", None, ("_wos_EI", "_wos_BN")),
    Detail("PB", "publisher", ("_wos_PU", "_enw_I", "_csl_publisher")),
    Detail("CY", "pub-location", ("_wos_PI", "_enw_C", "_csl_publisher-place")),
    Detail("AD", "auth-address", ("_wos_C1", "_enw_+", "_pubmed_affiliations")),
    Detail("A2", "contributors/secondary-authors/author", ("_wos_BE", "_wos_ED", "_enw_E")),
    Detail("A3", "contributors/tertiary-authors/author", ("_enw_Y",)),
    Detail("A4", "contributors/subsidiary-authors/author", ("_enw_?",)),
    Detail("KW", None, ("_wos_ID",)),
    Detail("ET", "edition", ("_enw_7", "_csl_edition")),
    Detail("M3", None, ("_enw_9",)),
    Detail("AN", None, ("_wos_UT", "_enw_M")),
    Detail("CN", "call-num", ("_enw_L", "_csl_call-number")),
    Detail("LB", "label", ("_enw_F",)),
    Detail("DB", "remote-database-name", ("_enw_~", "_csl_source")),
    Detail("DP", "remote-database-provider", ("_enw_W",)),
    Detail("SE", "section", ("_enw_&",)),
    Detail("OP", "orig-pub", ("_enw_(",)),
    Detail("RP", "reprint-edition", ("_enw_)",)),
    Detail("RI", "reviewed-item", ("_enw_*",)),
    Detail("CA", "caption", ("_enw_^",)),
    Detail("RN", None, ("_enw_<",)),
    Detail("L1", None, ("_enw_>",)),
    Detail("Y2", "access-date", ("_enw_[",)),
    Detail("NV", "num-vols", ("_enw_6",)),
    Detail("TA", "translated-author", ("_enw_H",)),
    *(Detail(f"C{number}", f"custom{number}", (f"_enw_{tag}",)) for number, tag in enumerate("1234#$]", 1)),
    Detail("UR", None, ("_enw_U",)),
    Detail("N1", "notes", ("_enw_Z", "_csl_note")),
    Detail("C2", "custom2", ("_pubmed_pmcid",)),
    Detail("N2", None, ("_pubmed_other_abstract",)),
    Detail("N1", None, ("_pubmed_citation",), "Citation: "),
    Detail("N1", None, ("_pubmed_copyright",), "Copyright: "),
    Detail("N1", None, ("_pubmed_conflict_of_interest",), "Conflict of interest statement: "),
    Detail("N1", None, ("_pubmed_collaborators",), "Collaborators: "),
    Detail("N1", None, ("_pubmed_related",), "Related: "),
    Detail("N1", None, ("_pubmed_notice",), "Notice: "),
    Detail("N1", None, ("_pubmed_language_note",), "Language: "),
)
IN_RIS: Mapping[str, FieldPlace] = {
    name: FieldPlace(detail.ris, detail.before if detail.ris == "N1" else "")
    for detail in DETAILS
    for name in detail.names
}
IN_ENDNOTE: Mapping[str, FieldPlace] = {
    name: FieldPlace(f"{detail.endnote}/~", detail.before)
    for detail in DETAILS
    if detail.endnote is not None
    for name in detail.names
}
# Names of people; EndNote XML has an element for each.
PEOPLE: Mapping[str, str] = {name: "author" for name, place in IN_ENDNOTE.items() if "/author/" in place.name}

_WOS = re.compile(r"_wos_([A-Z][A-Z0-9])")
# Tags of Web of Science that mean something else in RIS, or nothing about the record.
_NOT_IN_RIS = frozenset(("PT", "DA", "CT", "ID", "TY", "ER", "T2", "SP", "AN", "BT", "DB"))


def other_tag(name: str) -> str | None:
    """Return the Web of Science tag in a field's name, for use in RIS. Return None for any other field.

    Also return None if the field has a usual RIS tag, or if its own tag has another meaning in RIS.
    """
    match = _WOS.fullmatch(name)
    return match[1] if match is not None and name not in IN_RIS and match[1] not in _NOT_IN_RIS else None


def other_fields(record: Mapping[str, Any]) -> Iterator[Field]:
    """Yield a record's Web of Science fields that have no usual RIS tag, under the tags of Web of Science."""
    for name, value in record.items():
        if (tag := other_tag(name)) is not None:
            yield from [Field(tag, as_text(element), name) for element in as_list(value)]


def with_joined(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the record with lists of details joined by line breaks, because EndNote has one element for each list."""
    joined = {
        name: "\n".join(map(as_text, value))
        for name, value in record.items()
        if name in IN_ENDNOTE and name not in PEOPLE and isinstance(value, list)
    }
    return {**record, **joined} if joined else record
