"""Record sets with known duplicates: a published review's sources, exports of several tools, and labelled sets."""

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


@dataclass(frozen=True)
class LabelledCopies:
    """Records of which people labelled the copies."""

    name: str
    records: Sequence[Mapping[str, Any]]
    labels: Sequence[bool]  # for each record, whether it is labelled as a copy
    unlabelled: int  # records of a group of copies that have no label: the record that people kept, or none


def labelled_copies() -> list[LabelledCopies]:
    """Return the labelled sets."""
    asysd = read_records(DATA / "duplicates" / "asysd_labelled.csv")
    copper = read_records(DATA / "duplicates" / "sra_copper.xml")
    captions = [str(record.get("_endnote_caption")).casefold() for record in copper]
    return [
        LabelledCopies("ASySD", asysd, [record["__source"] != "unique" for record in asysd], 1),
        LabelledCopies("copper", copper, ["duplicate" in caption for caption in captions], 0),
    ]


def sources(records: Sequence[SourcedRecord]) -> list[str]:
    """Return the sources of the records, each once, in their order."""
    return list(dict.fromkeys(own.source for own in records))
