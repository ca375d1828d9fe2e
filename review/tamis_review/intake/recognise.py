"""The recognition of a text's format by its content."""

import re
from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from typing import Any

LOOKED_AT = 20_000  # characters; the first record shows the format


class Format(StrEnum):
    """The recognised file formats. Messages, and the stored source of a batch, use the values."""

    RIS = "RIS"
    NBIB = "NBIB"
    BIBTEX = "BibTeX"
    ENDNOTE_XML = "EndNote XML"
    DELIMITED = "CSV"
    TSV = "TSV"  # of records and for writing; `recognise` returns `DELIMITED` for all delimited texts
    JSONL = "JSONL"
    JSON_ARRAY = "JSON"
    PUBMED_XML = "PubMed XML"
    XML = "XML"
    HTML = "a web page (HTML)"
    ENDNOTE_TAGGED = "EndNote tagged"
    WOS_TAGGED = "Web of Science tagged"
    PUBMED_TEXT = "PubMed text"


WRITABLE = (Format.RIS, Format.NBIB, Format.BIBTEX, Format.ENDNOTE_XML, Format.DELIMITED, Format.TSV, Format.JSONL)
# Other names of the formats that can be written, in lower case.
ALIASES = {
    **dict.fromkeys(("medline", "pubmed"), Format.NBIB),
    **dict.fromkeys(("endnote", "endnote-xml", "xml"), Format.ENDNOTE_XML),
    "bib": Format.BIBTEX,
}


# The first match decides. EndNote XML may begin with a declaration, DOCTYPE and comments.
SIGNS: tuple[tuple[Format, re.Pattern[str]], ...] = (
    (Format.JSON_ARRAY, re.compile(r"\s*\[\s*[\]\[{\"]")),
    (Format.JSONL, re.compile(r"\s*\{")),
    (Format.ENDNOTE_XML, re.compile(r"\s*(?:<[?!][^<]*>\s*)*<xml>\s*<records[\s/>]", re.IGNORECASE)),
    (Format.PUBMED_XML, re.compile(r"\s*(?:<[?!][^<]*>\s*)*<Pubmed(?:Book)?Article(?:Set)?[\s>]")),
    (Format.HTML, re.compile(r"\s*<(?:!doctype html|html|head|body)", re.IGNORECASE)),
    (Format.XML, re.compile(r"\s*<(?:\?xml|!DOCTYPE|!--|[A-Za-z])")),
    (Format.ENDNOTE_TAGGED, re.compile(r"\s*%(?:0[ \t]|[A-Z][ \t][^\r\n]*[\r\n]+%[0-9A-Z@?!+][ \t])")),
    # A header with a column for titles or abstracts shows a table. The cells may contain any text.
    (
        Format.DELIMITED,
        re.compile(
            r"\s*(?=[^\r\n]*[,;\t|])(?:[^\r\n]*[,;\t|])?\"?(?:[a-z]+ )?(?:title|abstract|ti|ab)\"?(?:[,;\t|]|[\r\n])",
            re.IGNORECASE,
        ),
    ),
    (Format.WOS_TAGGED, re.compile(r"\s*(?:FN [^\r\n]*\s+VR |PT [A-Z]\s)")),
    (
        Format.PUBMED_TEXT,
        re.compile(
            r"\s*\d+\. \S[^\r\n]*(?:[\r\n](?s:.*[\r\n])?PMID: \d"
            # Hundreds of authors may precede the first id: a journal and a year, then a paragraph's end.
            r"|\. (?:1[89]|20)\d\d\b[^\r\n]*(?:\r\n|\r|\n)(?:\S[^\r\n]*(?:\r\n|\r|\n)){0,2}(?:\r\n|\r|\n)\S)"
        ),
    ),
)
_AT_LINE_START = r"(?:^|(?<=[\r\n]))\ufeff?[ \t]*"
# The beginning of a record; groups have the names of members of `Format`. Text may precede the first record (comments,
# numbering, a program's line). The first match decides, because a record may contain another format's beginning.
BEGINNINGS = re.compile(
    _AT_LINE_START + "(?:"
    r"(?P<NBIB>(?:PMID|STAT|OWN )- )"
    r"|(?P<RIS>TY {1,2}-(?:\s|$))"
    r"|(?P<BIBTEX>@[A-Za-z]+\s*[{(])"
    r"|(?P<WOS_TAGGED>PT [A-Z](?:(?:\r\n|\r|\n)[A-Z][A-Z0-9] |\Z))"
    r"|(?P<ENDNOTE_TAGGED>%0 [A-Z])"
    ")"
)
# Tags in a file without its first lines. The error of a tagged format helps more than an error about a CSV header.
HEADLESS = re.compile(
    _AT_LINE_START + "(?:"
    r"(?P<NBIB>(?:DCOM|STAT|EDAT|MHDA|CRDT|PHST|LID |FAU )- )"
    r"|(?P<RIS>[A-Z][A-Z0-9]  - )"
    r"|(?P<PUBMED_TEXT>(?:DOI: 10\.\S+|PMCID: PMC\d+)\s+PMC?ID: )"
    ")"
)


def recognise(text: str) -> Format:
    """Return the format of `text`. Return `DELIMITED` if there is no sign of another format."""
    beginning = text[:LOOKED_AT].lstrip("\ufeff")
    for form, sign in SIGNS:
        if sign.match(beginning):
            return form
    first = BEGINNINGS.search(beginning) or HEADLESS.search(beginning)
    return Format[first.lastgroup] if first and first.lastgroup else Format.DELIMITED


def deferred(module: str, function: str) -> Callable[..., Any]:
    """Return a function of a module in this folder. The first call of the function imports the module."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(module, __package__), function)(*arguments)

    return call


def format_named(name: str) -> Format | None:
    """Return the writable format with this name or alias (upper or lower case), or None if there is none."""
    plain = name.strip().casefold()
    return {form.value.casefold(): form for form in WRITABLE}.get(plain) or ALIASES.get(plain)
