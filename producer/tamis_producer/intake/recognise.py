"""Which format a text is in, by its content."""

import re
from enum import StrEnum

LOOKED_AT = 20_000  # characters; a format shows itself in its first record


class Format(StrEnum):
    """The formats that are recognised; the values are how messages name them."""

    RIS = "RIS"
    DELIMITED = "CSV"
    JSONL = "JSONL"
    JSON_ARRAY = "a JSON array"
    NBIB = "MEDLINE/NBIB (as PubMed exports it)"
    BIBTEX = "BibTeX"
    ENDNOTE_XML = "EndNote XML"
    XML = "XML"
    HTML = "a web page (HTML)"
    ENDNOTE_TAGGED = "EndNote's tagged format (.enw)"
    WOS_TAGGED = "the plain-text format of Web of Science"


# In this order: the first that is found decides. MEDLINE before RIS: both have `TI  - `, only MEDLINE has `PMID- `.
SIGNS: tuple[tuple[Format, re.Pattern[str]], ...] = (
    (Format.JSON_ARRAY, re.compile(r"\s*\[\s*[\]\[{\"]")),
    (Format.JSONL, re.compile(r"\s*\{")),
    (Format.ENDNOTE_XML, re.compile(r"\s*(?:<\?xml.*?\?>\s*)?<xml>\s*<records>", re.DOTALL)),
    (Format.HTML, re.compile(r"\s*<(?:!doctype html|html|head|body)", re.IGNORECASE)),
    (Format.XML, re.compile(r"\s*<(?:\?xml|[A-Za-z])")),
    (Format.NBIB, re.compile(r"\s*(?:PMID|STAT|OWN )- ")),
    (Format.BIBTEX, re.compile(r"(?:\s*%[^\n]*\n)*\s*@\w+\s*[{(]")),
    (Format.ENDNOTE_TAGGED, re.compile(r"\s*%0 ")),
    (Format.WOS_TAGGED, re.compile(r"\s*(?:FN [^\r\n]*\s+VR |PT [A-Z]\s)")),
    (Format.RIS, re.compile(r"(?:.*[\r\n])?TY {1,2}-(?:[ \r\n]|$)", re.DOTALL)),
    # A file that lost its first lines still has tags: better the reader of RIS says so than that of CSV.
    (Format.RIS, re.compile(r"\s*[A-Z][A-Z0-9]  - ")),
)


def recognise(text: str) -> Format:
    """The format of `text`; `DELIMITED` where nothing tells another."""
    beginning = text[:LOOKED_AT]
    return next((found for found, sign in SIGNS if sign.match(beginning)), Format.DELIMITED)
