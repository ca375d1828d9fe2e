"""Record sets with known duplicates: the sources of a published review, and exports of several tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_review.intake import read_records
from tamis_review.intake.sourced_records import read_sources
from tamis_review.intake.stated_source import StatedSource

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
MORE_FILES = {"medline": ("pubmed_abstracts.txt",)}
MORE_EXPORTS = ("_baseline_eric_ovid.ris", "_baseline_psychInfo_ovid.ris")


@dataclass(frozen=True)
class SourcedRecord:
    """A record, and the export that contains it."""

    source: str
    record: Mapping[str, Any]


def review_records() -> list[SourcedRecord]:
    """Return the 2,695 records of the review's eight sources. MEDLINE's abstracts come from a separate file."""
    found: list[SourcedRecord] = []
    for path in sorted((REVIEW / "search_returns").glob("*.csv")):
        files = [path, *(path.with_name(name) for name in MORE_FILES.get(path.stem, ()))]
        (source,) = read_sources(StatedSource(files=tuple(files), name=path.stem))
        found += [SourcedRecord(path.stem, own.record) for own in source.sourced]
    return found


def export_records() -> list[SourcedRecord]:
    """Return the records of the exports that can be read."""
    paths = [*(DATA / "exports" / name for name in EXPORTS), *(DATA / "more_exports" / name for name in MORE_EXPORTS)]
    named = [(path.stem.removeprefix("_baseline_") + path.suffix, path) for path in paths]
    return [SourcedRecord(name, record) for name, path in named for record in read_records(path)]


def sources(records: Sequence[SourcedRecord]) -> list[str]:
    """Return the sources of the records, each once, in their order."""
    return list(dict.fromkeys(own.source for own in records))
