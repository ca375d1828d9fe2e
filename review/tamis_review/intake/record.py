"""Records with canonical field names, such as `title` and `year`. Every reader makes such records."""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from tamis_schemas.records.item import UNKNOWN_ID, resolve_item_id

from .source import SOURCE

# The order of a record's fields, also for display.
# fmt: off
CANONICAL = (
    "id", "title", "abstract", "authors", "year", "journal", "keywords", "type", "language", "doi", "pmid", "nct_id",
    "url",
)
# fmt: on
LINE = "_line"

_DOI_PREFIX = re.compile(r"\A(?:https?://(?:dx\.)?doi\.org/|doi:\s*)+(?=10\.)", re.IGNORECASE)
# `123`, `PUBMED 123,EMBASE 456`, `123 [https://...]`, the address of the paper in PubMed.
_PMID = re.compile(r"\s*(?:https?://\S*/|PUBMED )?(\d{1,9})(?:\.0|/)?(?=\s*(?:[\[,;]|\Z))", re.IGNORECASE)
_DOI_IN_LINK = re.compile(r"https?://(?:dx\.)?doi\.org/(10\.\d{4,9}/\S+)", re.IGNORECASE)
_GIVEN = re.compile(r"record-\d+")
_LINE_END = re.compile(r"[\r\n]")
_YEAR = re.compile(r"(\d{4})(?:\d{4})?(?!\d)")
_NOTHING_BUT_A_YEAR = re.compile(r"\d{4}(?:/*|\.0)")
_INITIALS = re.compile(r"[^\W\d_](?:[.-]?[^\W\d_]){0,4}\.?")
_SUFFIXES = frozenset(("Jr", "Jr.", "Sr", "Sr.", "2nd", "3rd", "4th"))


def assemble(
    fields: Mapping[str, Any], kept: Mapping[str, Any], *, line: int, number: int, accession: str | None = None
) -> dict[str, Any]:
    """Return a record from its canonical fields, its other fields, and its line. Empty canonical fields are omitted.

    Args:
        fields: canonical name -> value.
        kept: other name -> value. Each name gets an underscore, and a list of one text becomes this text.
        line: the record's first line in the file.
        number: the record's number in the file, from 1.
        accession: the database's own id, which becomes the id of a record without a better id.
    """
    record = {name: fields[name] for name in CANONICAL if fields.get(name)}
    if "doi" in record:
        record["doi"] = bare_doi(record["doi"])
    elif link := _DOI_IN_LINK.fullmatch(record.get("url", "")):
        record["doi"] = unquote(link[1])
    if pmid := _PMID.match(record.get("pmid", "")):
        record["pmid"] = pmid[1]
    if "id" not in record:
        chosen = record.get("pmid") or record.get("nct_id") or accession or record.get("doi")
        record = {"id": chosen or f"record-{number}", **record}
    for name, value in kept.items():
        hidden = hide(name)
        while hidden in record or hidden in (LINE, SOURCE):
            hidden = f"_{hidden}"
        record[hidden] = value[0] if isinstance(value, list) and len(value) == 1 else value
    record[LINE] = line
    return record


def with_id_and_line(own: Mapping[str, Any], *, line: int, number: int) -> dict[str, Any]:
    """Return the record with its line in the file. A record without an identifier also gets an `id`.

    This id is the DOI, or `record-<number>`. `number`: the record's number in the file, from 1.
    """
    record = dict(own)
    if resolve_item_id(record) == UNKNOWN_ID:
        doi = record.get("doi")
        record["id"] = doi if isinstance(doi, str) and doi else f"record-{number}"
    record[LINE] = line
    return record


def own_id(record: Mapping[str, Any]) -> str | None:
    """Return the record's id. Return None if Tamis made the id, or if the id repeats PubMed id, trial id or DOI."""
    stated = record.get("id")
    if stated is None or stated == "" or stated in [record.get(name) for name in ("pmid", "nct_id", "doi")]:
        return None
    return None if _GIVEN.fullmatch(str(stated)) else str(stated)


def one_line(record: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
    """Return the record with each text in these fields on a single line: line breaks become spaces."""

    def folded(value: Any) -> Any:
        if isinstance(value, list):
            return [folded(element) for element in value]
        return " ".join(value.split()) if isinstance(value, str) and _LINE_END.search(value) else value

    changed = {name: now for name in names if (now := folded(was := record.get(name))) != was}
    return {**record, **changed} if changed else record


def hide(name: str) -> str:
    """Return the name with an underscore in front. A field with such a name is never shown to a model."""
    return name if name.startswith("_") and name != LINE else f"_{name}"


def bare_doi(text: str) -> str:
    """Return a DOI without a prefix such as `https://doi.org/` or `doi:`."""
    return _DOI_PREFIX.sub("", text.strip())


def year_of(text: str) -> int | None:
    """Return the year at the beginning of a date (`2024`, `2024///`, `20240501`, `2020 Feb`), or None."""
    match = _YEAR.match(text)
    return int(match[1]) if match else None


def is_bare_year(text: str) -> bool:
    """Return True if the text of a date is only a year, such as `2024` or `2024///`."""
    return _NOTHING_BUT_A_YEAR.fullmatch(text) is not None


def split_keywords(text: str) -> list[str]:
    """Return the keywords in a cell.

    The first of these signs that occurs separates the keywords: semicolon, line break, bar, comma.
    """
    mark = next((mark for mark in ";\n|," if mark in text), ";")
    return _parts(text.split(mark))


def split_authors(text: str) -> list[str]:
    """Return the authors in a cell: `Wilson L.N.; Gardner J.D.`, or in PubMed's form `Griffin DK, Larkin DM.`

    A comma separates authors only if initials precede most commas: `Sampson, Scott D.` is one author.
    """
    mark = next((mark for mark in ";\n|" if mark in text), None)
    if mark is not None:
        return _parts(text.split(mark))
    parts = _parts(text.split(","))
    if len(parts) < 2 or sum(map(_ends_in_initials, parts)) * 2 <= len(parts):
        parts = [text.strip()]
    # PubMed ends the list with a full stop; Embase and Scopus write one after every initial.
    if re.search(r"[^\W\d_]{2}\.$", parts[-1]) and not any(part.endswith(".") for part in parts[:-1]):
        parts[-1] = parts[-1][:-1]
    return parts


def _ends_in_initials(name: str) -> bool:
    words = name.split()
    if words and words[-1] in _SUFFIXES:
        words.pop()
    return len(words) > 1 and words[-1] == words[-1].upper() and _INITIALS.fullmatch(words[-1]) is not None


def _parts(texts: Iterable[str]) -> list[str]:
    return [part for text in texts if (part := text.strip())]
