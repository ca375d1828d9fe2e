"""The format of a text, by its content."""

import re
from enum import StrEnum

LOOKED_AT = 20_000  # characters; a format shows itself in its first record


class Format(StrEnum):
    """The formats that are recognised; the values are how messages, and a batch's source, name them."""

    RIS = "RIS"
    NBIB = "NBIB"
    BIBTEX = "BibTeX"
    ENDNOTE_XML = "EndNote XML"
    DELIMITED = "CSV"
    TSV = "TSV"  # as a format to write, and of a record; a text is recognised as `DELIMITED`, whatever its delimiter
    JSONL = "JSONL"
    JSON_ARRAY = "a JSON array"
    XML = "XML"
    HTML = "a web page (HTML)"
    ENDNOTE_TAGGED = "EndNote tagged"
    WOS_TAGGED = "Web of Science tagged"
    PUBMED_TEXT = "PubMed text"


WRITABLE = (
    Format.RIS,
    Format.NBIB,
    Format.BIBTEX,
    Format.ENDNOTE_XML,
    Format.DELIMITED,
    Format.TSV,
    Format.JSONL,
)
# What people call the formats that can be written, in small letters, besides their own names.
ALIASES = {
    "medline": Format.NBIB,
    "pubmed": Format.NBIB,
    "bib": Format.BIBTEX,
    "endnote": Format.ENDNOTE_XML,
    "endnote-xml": Format.ENDNOTE_XML,
    "xml": Format.ENDNOTE_XML,
}


# In this order: the first that is found decides. EndNote XML may have its declaration, DOCTYPE and comments before it.
SIGNS: tuple[tuple[Format, re.Pattern[str]], ...] = (
    (Format.JSON_ARRAY, re.compile(r"\s*\[\s*[\]\[{\"]")),
    (Format.JSONL, re.compile(r"\s*\{")),
    (Format.ENDNOTE_XML, re.compile(r"\s*(?:<[?!][^<]*>\s*)*<xml>\s*<records[\s/>]", re.IGNORECASE)),
    (Format.HTML, re.compile(r"\s*<(?:!doctype html|html|head|body)", re.IGNORECASE)),
    (Format.XML, re.compile(r"\s*<(?:\?xml|!DOCTYPE|!--|[A-Za-z])")),
    (Format.ENDNOTE_TAGGED, re.compile(r"\s*%(?:0[ \t]|[A-Z][ \t][^\r\n]*[\r\n]+%[0-9A-Z@?!+][ \t])")),
    # A header with a title or an abstract among its columns: whatever stands in a cell below, a table it is.
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
            # Hundreds of authors may stand before the first id: a journal and a year, then a paragraph's end.
            r"|\. (?:1[89]|20)\d\d\b[^\r\n]*(?:\r\n|\r|\n)(?:\S[^\r\n]*(?:\r\n|\r|\n)){0,2}(?:\r\n|\r|\n)\S)"
        ),
    ),
)
_AT_LINE_START = r"(?:^|(?<=[\r\n]))\ufeff?[ \t]*"
# How a record begins; groups are called as members of `Format`. Text may stand before the first record (comments,
# numbering, a line of the program's own), and the beginning of another format may stand within one: the first decides.
BEGINNINGS = re.compile(
    _AT_LINE_START + "(?:"
    r"(?P<NBIB>(?:PMID|STAT|OWN )- )"
    r"|(?P<RIS>TY {1,2}-(?:\s|$))"
    r"|(?P<BIBTEX>@[A-Za-z]+\s*[{(])"
    r"|(?P<WOS_TAGGED>PT [A-Z](?:\r\n|\r|\n)[A-Z][A-Z0-9] )"
    r"|(?P<ENDNOTE_TAGGED>%0 [A-Z])"
    ")"
)
# A file that lost its first lines still has tags: better the readers of these say so than that of CSV.
HEADLESS = re.compile(
    _AT_LINE_START + "(?:"
    r"(?P<NBIB>(?:DCOM|STAT|EDAT|MHDA|CRDT|PHST|LID |FAU )- )"
    r"|(?P<RIS>[A-Z][A-Z0-9]  - )"
    r"|(?P<PUBMED_TEXT>(?:DOI: 10\.\S+|PMCID: PMC\d+)\s+PMC?ID: )"
    ")"
)


def recognise(text: str) -> Format:
    """The format of `text`; `DELIMITED` where nothing tells another."""
    beginning = text[:LOOKED_AT].lstrip("\ufeff")
    for form, sign in SIGNS:
        if sign.match(beginning):
            return form
    first = BEGINNINGS.search(beginning) or HEADLESS.search(beginning)
    return Format[first.lastgroup] if first and first.lastgroup else Format.DELIMITED


def format_named(name: str) -> Format | None:
    """The format that a person calls `name`, in any case, if it is one that can be written."""
    plain = name.strip().casefold()
    return {form.value.casefold(): form for form in WRITABLE}.get(plain) or ALIASES.get(plain)
