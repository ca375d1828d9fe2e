"""Ovid's tables: year, journal and volume stand in the source, the DOI in a link, authors on lines of their own."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from .column_mapping import ColumnMapping

SOURCE_READ = 2_000  # characters; patterns run over this text, and what is longer is no source
TITLE_END = 80  # characters in which what stands behind a title is looked for
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
_DOI_IN_LINK = re.compile(r"[?&]DO=([^&\s]+)|doi\.org/(10\.[^\s\]]+)", re.IGNORECASE)
_BARE_DOI = re.compile(r"10\.\d{4,9}/\S+")
_PMID = re.compile(r"\s*(\d{1,9})\b")
_BEHIND_TITLE = re.compile(r"(?:\s*\[References\]\.?|DP {1,2}- .{0,40})\s*$")
_LINKS = ("do", "digital object identifier", "url", "fturl", "link to the ovid full text or citation")


def _title(text: str) -> str:
    """The title without PsycINFO's "[References].", and without the date that an export has glued to it."""
    return text[:-TITLE_END] + _BEHIND_TITLE.sub("", text[-TITLE_END:])


def _pmid(text: str) -> str:
    return match[1] if (match := _PMID.match(text)) else text


def _made(cells: Mapping[str, str]) -> Mapping[str, Any]:
    source = " ".join((cells.get("so") or cells.get("source") or "")[:SOURCE_READ].split())
    made: dict[str, Any] = {}
    if years := _YEAR.findall(source.partition("Date of Publication")[0]):
        made["year"] = int(years[-1])  # a congress before it may have another
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
        if link := _DOI_IN_LINK.search(text := cells.get(name, "")):
            made.setdefault("doi", unquote(unquote(link[1] or link[2])))
        elif bare := _BARE_DOI.match(text):
            made.setdefault("doi", bare[0])
    if "medline" in cells.get("db", cells.get("database", "")).casefold() and cells.get("ui", "").strip().isdigit():
        made["pmid"] = cells["ui"].strip()
    return {name: value for name, value in made.items() if value}


_VALUES = {"title": _title, "pmid": _pmid}
# The fields by their codes, as the option "field labels: short" and most exports have them.
OVID_CODES = ColumnMapping(
    signs=frozenset(("db", "ti", "so")),
    marker="db",
    names={
        "title": ("ti",),
        "abstract": ("ab",),
        "authors": ("au",),
        "year": ("yr",),
        "journal": ("jn", "jt"),
        "keywords": ("kw", "sh", "mh", "hw", "de"),
        "type": ("pt",),
        "language": ("lg", "la"),
        "pmid": ("pm",),
        "url": ("url", "fturl"),
        "accession": ("an", "ui"),
    },
    own=frozenset(("so", "do", "id", "py")),
    values=_VALUES,
    made=_made,
    database=("db",),
)
# The same by their names.
OVID_LABELS = ColumnMapping(
    signs=frozenset(("link to the ovid full text or citation", "title", "source")),
    marker="link to the ovid full text or citation",
    names={
        "journal": ("journal name",),
        "year": ("year of publication",),
        "url": ("link to the ovid full text or citation",),
        "accession": ("accession number", "unique identifier"),
    },
    own=frozenset(("source", "digital object identifier")),
    values=_VALUES,
    made=_made,
    database=("database",),
)
