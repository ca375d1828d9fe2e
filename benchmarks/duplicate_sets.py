"""The record sets in which it is known which records are copies: the sources of a published review, and exports.

What Tamis reads is read by Tamis. Four sources of the review keep what is compared in places that no reader looks into
yet (nested columns, `SO`, a link); this module takes it from there.
"""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tamis_producer.intake import read_records

DATA = Path(__file__).parents[2] / "shared" / "data"
REVIEW = DATA / "reviews" / "snhl_dimitrov_2024"
EXPORTS = (
    "CSV/_baseline_embase.csv",
    "CSV/_baseline_pubmed.csv",
    "CSV/_baseline_scopus.csv",
    "RIS/_baseline_embase.ris",
    "RIS/_baseline_endnote.ris",
    "RIS/_baseline_pubmed.ris",
    "RIS/_baseline_scopus.ris",
    "RIS/_baseline_webofscience.ris",
    "RIS/_baseline_zotero.ris",
)
MORE_EXPORTS = ("_baseline_eric_ovid.ris", "_baseline_psychInfo_ovid.ris")

_DOI_IN_LINK = re.compile(r"[?&]DO=([^&\s]+)|doi\.org/(10\.[^\s}]+)")
_YEAR = re.compile(r",\s((?:19|20)\d\d)[,.]|^((?:19|20)\d\d)$")


@dataclass(frozen=True)
class SourcedRecord:
    """A record, and the export that it stands in."""

    source: str
    record: Mapping[str, Any]


def review_records() -> list[SourcedRecord]:
    """The 2,695 records of the review's eight sources."""
    returns = REVIEW / "search_returns"
    found: list[SourcedRecord] = []
    for name, completed in _COMPLETED.items():
        path = returns / f"{name}.csv"
        rows = _ebsco_rows(path) if name == "cinahl" else read_records(path)
        found += [SourcedRecord(name, completed(row)) for row in rows]
    return found


def export_records() -> list[SourcedRecord]:
    """The records of the exports that can be read."""
    paths = [*(DATA / "exports" / name for name in EXPORTS), *(DATA / "more_exports" / name for name in MORE_EXPORTS)]
    named = [(path.stem.removeprefix("_baseline_") + path.suffix, path) for path in paths]
    return [SourcedRecord(name, record) for name, path in named for record in read_records(path)]


def _as_read(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return record


def _of_base(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """BASE as BibTeX's braces in CSV; the journal stands in a note."""
    journal = re.search(r"Source: ([^;,}]+)", str(record.get("_note", "")))
    return _with(
        record,
        title=str(record.get("title", "")).strip("{}"),
        authors=str(next(iter(record.get("authors") or [""]))).split(" AND "),
        journal=journal[1].strip() if journal else None,
        doi=_linked_doi(record.get("url")),
    )


def _of_ovid(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Ovid's Embase and PsycINFO: year and journal stand in `SO`, the DOI in a link."""
    source = str(record.get("journal", ""))
    year = _YEAR.search(str(record.get("_YR") or source))
    return _with(
        record,
        title=str(record.get("title", "")).removesuffix(" [References]."),
        year=(year[1] or year[2]) if year else None,
        journal=source,
        doi=_linked_doi(record.get("_FTURL")) or _linked_doi(record.get("url")),
        pmid=str(record.get("pmid", "")).partition(" ")[0],
    )


def _ebsco_rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return [dict(row) for row in csv.DictReader(stream)]


def _of_ebsco(row: Mapping[str, Any]) -> Mapping[str, Any]:
    is_doi = row["artinfo/ui/0/_type"] == "doi"
    return _with(
        {},
        title=row["artinfo/tig/atl"],
        abstract=row.get("artinfo/ab/0"),
        authors=[row[f"artinfo/aug/au/{place}"] for place in range(8) if row.get(f"artinfo/aug/au/{place}")],
        year=row["pubinfo/dt/_year"],
        journal=row["jinfo/jtl"],
        _issn=row["jinfo/issn"],
        doi=row["artinfo/ui/0/__text"] if is_doi else None,
    )


def _with(record: Mapping[str, Any], **fields: object) -> Mapping[str, Any]:
    return {name: value for name, value in {**record, **fields}.items() if value}


def _linked_doi(link: object) -> str | None:
    found = _DOI_IN_LINK.search(str(link or ""))
    return unquote(found[1] or found[2]) if found else None


_COMPLETED: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "base": _of_base,
    "cinahl": _of_ebsco,
    "embase": _of_ovid,
    "github": _as_read,
    "ieee": _as_read,
    "medline": _as_read,
    "psychinfo": _of_ovid,
    "scopus": _as_read,
}


def sources(records: Sequence[SourcedRecord]) -> list[str]:
    """Their sources, each once, in their order."""
    return list(dict.fromkeys(own.source for own in records))
