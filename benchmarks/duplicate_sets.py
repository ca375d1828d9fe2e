"""The record sets in which it is known which records are copies: the sources of a published review, and exports."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_producer.intake import read_records

DATA = Path(__file__).parents[2] / "shared" / "data"
REVIEW = DATA / "reviews" / "snhl_dimitrov_2024"
SEARCHED = ("base", "cinahl", "embase", "github", "ieee", "medline", "psychinfo", "scopus")
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


@dataclass(frozen=True)
class SourcedRecord:
    """A record, and the export that it stands in."""

    source: str
    record: Mapping[str, Any]


def review_records() -> list[SourcedRecord]:
    """The 2,695 records of the review's eight sources."""
    returns = REVIEW / "search_returns"
    return [SourcedRecord(name, record) for name in SEARCHED for record in read_records(returns / f"{name}.csv")]


def review_titles() -> list[str]:
    """The titles that the review screened after its own deduplication, as it folded them."""
    with (REVIEW / "responses" / "LB_response_complete.csv").open(encoding="utf-8-sig", newline="") as stream:
        return [row["title"] for row in csv.DictReader(stream)]


def export_records() -> list[SourcedRecord]:
    """The records of the exports that can be read."""
    paths = [*(DATA / "exports" / name for name in EXPORTS), *(DATA / "more_exports" / name for name in MORE_EXPORTS)]
    named = [(path.stem.removeprefix("_baseline_") + path.suffix, path) for path in paths]
    return [SourcedRecord(name, record) for name, path in named for record in read_records(path)]


def sources(records: Sequence[SourcedRecord]) -> list[str]:
    """Their sources, each once, in their order."""
    return list(dict.fromkeys(own.source for own in records))
