"""The tags of NBIB: which of them hold what a record is made of, and where what it has is written."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .decision import DECISION_FIELDS, decision_places, decision_value
from .fields import FieldPlace
from .recognise import Format
from .record import assemble, is_bare_year, year_of
from .source import Field, remember

NOTE = "GN"  # general note
# Canonical name -> the tags that may hold it, best first. The others of them are kept under their own names.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "pmid": ("PMID",),
    "title": ("TI", "BTI", "TT"),
    "abstract": ("AB", "OAB"),
    "authors": ("FAU", "AU", "CN"),
    "year": ("DP", "DEP"),
    "journal": ("JT", "TA"),
    "language": ("LA",),
}
KEYWORD_TAGS = ("MH", "OT")  # subject headings, then the authors' own
TYPE = "PT"  # one publication type each
DOI_TAGS = ("LID", "AID")
DOI = re.compile(r"(10\.\S+)\s*\[doi\]", re.IGNORECASE)
# ERIC has addresses there: of the DOI, or its own.
DOI_ADDRESS = re.compile(r"https?://(?:dx\.)?doi\.org/(10\.\S+)", re.IGNORECASE)
ADDRESS = re.compile(r"(https?://\S+)", re.IGNORECASE)
ACCESSION = "OID"  # ERIC's number
TRIAL_TAG = "SI"
TRIAL = re.compile(r"ClinicalTrials\.gov/(NCT\d+)", re.IGNORECASE)
NOTES: Mapping[str, FieldPlace] = {
    "url": FieldPlace(NOTE, "URL: "),
    "id": FieldPlace(NOTE, "Record ID: "),
    **decision_places(NOTE),
}
# What a record has, and its source has not, or is not NBIB: where it is written, in this order.
PLACES: Mapping[str, FieldPlace] = {
    "pmid": FieldPlace("PMID"),
    "year": FieldPlace("DP"),
    "title": FieldPlace("TI"),
    "doi": FieldPlace("LID", "", " [doi]"),
    "abstract": FieldPlace("AB"),
    "authors": FieldPlace("FAU"),
    "language": FieldPlace("LA"),
    "nct_id": FieldPlace("SI", "ClinicalTrials.gov/"),
    "type": FieldPlace("PT"),
    "journal": FieldPlace("JT"),
    "keywords": FieldPlace("OT"),
    **NOTES,
}


def record_of(fields: Sequence[Field], *, line: int, number: int) -> dict[str, Any]:
    """The record of these fields, which it remembers. `number` counts the file's records from 1."""
    reading = _Reading(fields)
    for name, tags in SOURCES.items():
        if tag := next((tag for tag in tags if tag in reading.by_tag), None):
            reading.take(name, tag)
    reading.take_all("keywords", KEYWORD_TAGS)
    reading.take_types()
    reading.take_pattern("doi", DOI_TAGS, DOI)
    if "doi" not in reading.canonical:
        reading.take_pattern("doi", DOI_TAGS, DOI_ADDRESS)
    reading.take_pattern("url", DOI_TAGS, ADDRESS)
    reading.take_pattern("nct_id", (TRIAL_TAG,), TRIAL)
    accession = reading.take_notes() or reading.take_accession()
    record = assemble(
        reading.canonical, {**reading.kept(), **reading.decision}, accession=accession, line=line, number=number
    )
    source = [Field(one.name, one.text, reading.key_of.get(at)) for at, one in enumerate(fields)]
    return remember(record, Format.NBIB, source)


class _Reading:
    """One record in the making: what has been placed, and under which key each field's text stands."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.raw = [one.text for one in fields]
        self.texts = [one.text.strip() for one in fields]
        self.names = [one.name for one in fields]
        self.by_tag: dict[str, list[int]] = {}
        self.key_of: dict[int, str] = {}
        self.also_kept: set[int] = set()  # numbers of fields that say more than the canonical field has room for
        self.canonical: dict[str, Any] = {}
        self.decision: dict[str, Any] = {}
        for at, text in enumerate(self.texts):
            if text:
                self.by_tag.setdefault(self.names[at], []).append(at)

    def take(self, name: str, tag: str) -> None:
        at = self.by_tag[tag]
        first = self.texts[at[0]]
        if name == "authors":
            self.take_all(name, (tag,))
            return
        year = year_of(first) if name == "year" else None
        if year is not None and not is_bare_year(first):
            self.also_kept.add(at[0])
        self.canonical[name] = first.replace("\n", " ") if name == "title" else year or first
        self.key_of[at[0]] = name

    def take_all(self, name: str, tags: Sequence[str]) -> None:
        """A list of all values of these tags, in the order of the file."""
        if numbers := sorted(at for tag in tags for at in self.by_tag.get(tag, ())):
            self.canonical[name] = [self.texts[at] for at in numbers]
            self.key_of.update((at, name) for at in numbers)

    def take_types(self) -> None:
        if numbers := self.by_tag.get(TYPE):
            self.canonical["type"] = "; ".join(self.texts[at] for at in numbers)
            self.key_of.update((at, "type") for at in numbers)

    def take_pattern(self, name: str, tags: Sequence[str], pattern: re.Pattern[str]) -> None:
        """The first value that a tag of these has in this form, and every repetition of it."""
        for at in (at for tag in tags for at in self.by_tag.get(tag, ())):
            match = pattern.fullmatch(self.texts[at]) if at not in self.key_of else None
            if match and self.canonical.setdefault(name, match[1]) == match[1]:
                self.key_of[at] = name

    def take_notes(self) -> str | None:
        """Read the notes that hold a decision, or something for which the format has no tag; the record's own id."""
        accession = None
        for at in self.by_tag.get(NOTE, ()):
            key = next((key for key, place in NOTES.items() if place.holds(self.raw[at])), None)
            if key is None or key in self.canonical or key in self.decision or (key == "id" and accession):
                continue
            value = NOTES[key].value(self.raw[at])
            if key in DECISION_FIELDS:
                self.decision[key] = decision_value(key, value)
            elif key == "id":
                if not self.canonical.keys().isdisjoint(("pmid", "nct_id")):
                    continue
                accession = value.strip()
            else:
                self.canonical[key] = value.strip()
            self.key_of[at] = key
        return accession

    def take_accession(self) -> str | None:
        at = next(iter(self.by_tag.get(ACCESSION, ())), None)
        if at is None or not self.canonical.keys().isdisjoint(("pmid", "nct_id")):
            return None
        self.key_of[at] = "id"
        return self.texts[at]

    def kept(self) -> dict[str, Any]:
        """Return the texts without a canonical name or room there, by tag; each field in them finds its text there."""
        kept: dict[str, Any] = {}
        for tag, numbers in self.by_tag.items():
            left = [at for at in numbers if at not in self.key_of or at in self.also_kept]
            if left:
                texts = [self.texts[at] for at in left]
                kept[f"nbib_{tag}"] = texts[0] if len(texts) == 1 else texts
                self.key_of.update((at, f"_nbib_{tag}") for at in left if at not in self.key_of)
        return kept
