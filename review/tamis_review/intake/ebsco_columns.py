"""EBSCO's tables (CINAHL and others): a record's XML laid out flat, one column for each author, subject and number."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .column_mapping import ColumnMapping

_NUMBER = re.compile(r"/(\d+)(?:/|$)")
_DATE = re.compile(r"\s*(\d{4})\d{4}\s*")


def _elements(cells: Mapping[str, str], stem: str) -> Iterator[tuple[str, str]]:
    """Yield number and text of each column `stem`, `stem/0`, `stem/0/ text` ..., by number."""
    found: list[tuple[int, str, str]] = []
    for name, text in cells.items():
        if name.startswith(stem) and not name.endswith("/ type"):
            number = match[1] if (match := _NUMBER.match(name, len(stem))) else ""
            found.append((int(number or 0), number, text.strip()))
    for _, number, text in sorted(found):
        yield number, text


def _texts(cells: Mapping[str, str], stem: str) -> list[str]:
    return list(dict.fromkeys(text for _, text in _elements(cells, stem)))


def _made(cells: Mapping[str, str]) -> Mapping[str, Any]:
    made: dict[str, Any] = {
        "authors": _texts(cells, "artinfo/aug/au"),
        "keywords": _texts(cells, "artinfo/sug/subj"),
        "type": "; ".join(_texts(cells, "artinfo/doctype")) or cells.get("artinfo/pubtype"),
        "issn": cells.get("jinfo/issn"),
        "volume": cells.get("pubinfo/vid"),
        "issue": cells.get("pubinfo/iid"),
    }
    for number, text in _elements(cells, "artinfo/ui"):
        kind = cells.get(f"artinfo/ui/{number}/ type" if number else "artinfo/ui/ type")
        if kind == "doi":
            made.setdefault("doi", text)
        elif kind == "pmid":
            made.setdefault("pmid", re.sub(r"\D", "", text))
    return {name: value for name, value in made.items() if value}


EBSCO_XML = ColumnMapping(
    signs=frozenset(("artinfo/tig/atl", "jinfo/jtl")),
    marker="artinfo/tig/atl",
    names={
        "title": ("artinfo/tig/atl",),
        "abstract": ("artinfo/ab", "artinfo/ab/0", "artinfo/ab/1", "artinfo/ab/2"),
        "year": ("pubinfo/dt/ year",),
        "journal": ("jinfo/jtl",),
        "url": ("header/displayinfo/plink/url",),
        "accession": ("header/ uiterm",),
    },
    made=_made,
    database=("header/ longdbname", "header/ shortdbname"),
)


def _year(text: str) -> str:
    return match[1] if (match := _DATE.fullmatch(text)) else text  # 20200131 says no more to a reader than 2020


# The columns of its newer pages.
EBSCO = ColumnMapping(
    signs=frozenset(("longdbname", "contributors", "title")),
    marker="longdbname",
    names={
        "authors": ("contributors",),
        "keywords": ("subjects",),
        "journal": ("source",),
        "year": ("publicationdate", "coverdate"),
        "type": ("doctypes", "pubtypes"),
        "url": ("plink",),
        "accession": ("an",),
    },
    values={"year": _year},
    database=("longdbname", "shortdbname"),
)
