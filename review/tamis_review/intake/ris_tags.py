"""The tags of RIS: which of them hold what a record is made of, and where what it has is written."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .decision import DECISION_FIELDS, decision_places, decision_value
from .fields import FieldPlace
from .recognise import Format
from .record import assemble, is_bare_year, year_of
from .source import Field, remember

# Canonical name -> the tags that may hold it, best first. The others of them are kept under their own names.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "title": ("TI", "T1", "CT", "BT"),
    "abstract": ("AB", "N2"),
    "authors": ("AU", "A1"),
    "year": ("PY", "Y1", "DA"),
    "journal": ("JF", "T2", "JO", "JA", "J1", "J2"),
    "keywords": ("KW",),
    "type": ("PT", "M3", "TY"),  # "Review" says more than "JOUR"; where Ovid has a `PT`, `M3` is a classification
    "language": ("LA",),
    "doi": ("DO", "DI"),
    "url": ("UR",),
}
LISTS = frozenset(("authors", "keywords"))
ACCESSIONS = ("AN", "ID")
# Embase has no tag for them: it puts the PubMed id and its own number into custom fields. So does Scopus.
EMBASE_PMID, EMBASE_ACCESSION = "C5", "U2"
SCOPUS_PMID = "C2"
COCHRANE_PMID = "C3"  # `PUBMED 21314913,EMBASE 361584103`
VALUE_A_LINE = frozenset(("KW", "AU", "A1", "DB", "UR"))  # EndNote writes the tag once and a value a line
NOTE = "N1"
NOTES: Mapping[str, FieldPlace] = {
    "pmid": FieldPlace(NOTE, "PMID: "),  # as Zotero has it
    "nct_id": FieldPlace(NOTE, "NCT ID: "),
    **decision_places(NOTE),
}
# What a record has, and its source has not, or is not RIS: where it is written, in this order.
PLACES: Mapping[str, FieldPlace] = {
    "title": FieldPlace("TI"),
    "authors": FieldPlace("AU"),
    "year": FieldPlace("PY"),
    "journal": FieldPlace("T2"),
    "abstract": FieldPlace("AB"),
    "keywords": FieldPlace("KW"),
    "language": FieldPlace("LA"),
    "doi": FieldPlace("DO"),
    "url": FieldPlace("UR"),
    "id": FieldPlace("ID"),
    **NOTES,
}

_COCHRANE_PMID = re.compile(r"PUBMED (\d+)(?:,.*)?")
_PMID_NOTE = re.compile(r"^PMID: *(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Tagged:
    """A tag, and the lines of its text."""

    tag: str
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True)
class _Value:
    """One value of a tag, and the number of the field in which it stands."""

    text: str
    at: int


def record_of(tagged: Sequence[Tagged], *, line: int, number: int) -> dict[str, Any]:
    """The record of these fields, which it remembers. `number` counts the file's records from 1."""
    reading = _Reading(tagged)
    tags, fields = reading.tags, reading.fields
    for name, candidates in SOURCES.items():
        held = [tag for tag in candidates if tag in tags]
        if name == "year":
            # `DA` may hold a month alone: it serves only where it begins with a year.
            held = [tag for tag in held if year_of(reading.first(tag))] or [tag for tag in held if tag != "DA"]
        elif name == "type" and held[:1] == ["M3"] and reading.first("M3").startswith("10."):
            held = held[1:]  # some exports put the DOI there
        if held:
            reading.take(name, held[0])
    # Embase names itself as database only where a record is not Medline's alone; its address is always there.
    databases = " ".join([*(value.text for value in tags.get("DB", ())), fields.get("url", "")]).lower()
    for database, tag in (("embase", EMBASE_PMID), ("scopus", SCOPUS_PMID)):
        if database in databases and reading.first(tag).isdigit():
            reading.take("pmid", tag)
            break
    reading.take_cochrane_pmid()
    reading.take_notes(tagged)
    accession = None
    if fields.keys().isdisjoint(("pmid", "nct_id")):
        sources = (*ACCESSIONS, EMBASE_ACCESSION) if "embase" in databases else ACCESSIONS
        if tag := next((tag for tag in sources if tags.get(tag)), ""):
            accession = reading.take_accession(tag)
    kept: dict[str, Any] = {}
    for tag, values in tags.items():
        texts = [value.text for value in values]
        if texts:
            kept[f"ris_{tag}"] = texts[0] if len(texts) == 1 else texts
    record = assemble(fields, {**kept, **reading.decision}, accession=accession, line=line, number=number)
    source = [Field(one.tag, one.text, reading.key_of.get(at)) for at, one in enumerate(tagged)]
    return remember(record, Format.RIS, source)


class _Reading:
    """One record in the making: which values are still to be placed, and which key took a field's text."""

    def __init__(self, tagged: Sequence[Tagged]) -> None:
        self.fields: dict[str, Any] = {}
        self.decision: dict[str, Any] = {}
        self.key_of: dict[int, str] = {}
        self.tags: dict[str, list[_Value]] = {}
        for at, one in enumerate(tagged):
            texts = one.lines if one.tag in VALUE_A_LINE else [one.text]
            if values := [_Value(text.strip(), at) for text in texts if text.strip()]:
                self.tags.setdefault(one.tag, []).extend(values)
                self.key_of[at] = f"_ris_{one.tag}"

    def first(self, tag: str) -> str:
        return self.tags[tag][0].text if self.tags.get(tag) else ""

    def take(self, name: str, tag: str) -> None:
        """Give a tag's values to a canonical field; those for which it has no room stay with their tag."""
        values = self.tags[tag]
        taken = values if name in LISTS or name == "abstract" else values[:1]
        rest = values[len(taken) :]
        first = values[0].text
        if name in LISTS:
            self.fields[name] = [value.text for value in values]
        elif name == "abstract":
            self.fields[name] = "\n".join(value.text for value in values)
        elif name == "title":
            self.fields[name] = first.replace("\n", " ")
        elif name == "year" and (year := year_of(first)) is not None:
            self.fields[name] = year
            rest = rest if is_bare_year(first) else values
        else:
            self.fields[name] = first
        self.key_of.update((value.at, name) for value in taken)
        self.tags[tag] = rest

    def take_accession(self, tag: str) -> str:
        accession = self.tags[tag].pop(0)
        self.key_of[accession.at] = "id"
        return accession.text

    def take_cochrane_pmid(self) -> None:
        """Read the PubMed id where Cochrane has it; the field says more, and is kept as well where it does."""
        match = _COCHRANE_PMID.fullmatch(self.first(COCHRANE_PMID))
        if match and "pmid" not in self.fields:
            self.fields["pmid"] = match[1]
            self.key_of[self.tags[COCHRANE_PMID][0].at] = "pmid"
            if match.end(1) == match.end():
                self.tags[COCHRANE_PMID].pop(0)

    def take_notes(self, tagged: Sequence[Tagged]) -> None:
        """Read the notes that hold a decision, or an id for which RIS has no tag."""
        for note in list(self.tags.get(NOTE, ())):
            text = tagged[note.at].text
            match = _PMID_NOTE.search(text)
            key = next((key for key, place in NOTES.items() if place.holds(text)), None)
            if key is not None and key in DECISION_FIELDS and key not in self.decision:
                self.decision[key] = decision_value(key, NOTES[key].value(text))
            elif key == "nct_id" and key not in self.fields:
                self.fields[key] = NOTES[key].value(text).strip()
            elif match is not None and "pmid" not in self.fields:
                self.fields["pmid"] = match[1]
                key = "pmid"
            else:
                continue
            self.key_of[note.at] = key
            # A note that says more than the id stays under its own name as well.
            if key != "pmid" or match is None or match[0] == text:
                self.tags[NOTE].remove(note)
