"""RIS: `TY  - JOUR` begins a record, `ER  - ` ends it, a line without a tag continues the one above.

A continuation may be indented by three blanks, as Web of Science has it. So that every text reads back as it was, the
writer indents what would otherwise be lost or taken for something else: an empty line, one that begins with a blank,
one that looks like a tag (`ER  - ` within an abstract).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from tamis_producer.files.decode import LINE_END

from .between import note_between
from .decision import DECISION_FIELDS, decision_places, decision_value, is_withdrawn
from .details import IN_RIS, other_fields
from .fields import FieldPlace, fields_of
from .notes import Notes
from .recognise import Format
from .record import assemble, is_bare_year, one_line, year_of
from .record_type import kind_of
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


INDENT = "   "
_PLACES: Mapping[str, FieldPlace] = {**PLACES, **IN_RIS}
_ENDS = frozenset(("TY", "ER"))  # what begins and ends a record

_TAG = re.compile(r"[A-Z][A-Z0-9]")
_TAGGED = re.compile(r"([A-Z][A-Z0-9])( {1,2})-(?:\s(.*)|$)", re.DOTALL)
_LOOKS_TAGGED = re.compile(r"\s|\ufeff|[A-Z][A-Z0-9]\s*-|$")


@dataclass(frozen=True)
class _Block:
    """The fields of one record as they stand in the file, without `ER`."""

    line: int
    number: int  # among the file's records, from 1
    fields: list[Tagged] = field(default_factory=list)


def read_ris(text: str, path: Path, notes: Notes | None = None) -> list[dict[str, Any]]:
    """The records in `text`. One without its beginning or its end is lost; text between records is skipped.

    Raises `InputError` where no record can be read, and with the line of the first that is lost if reading is strict.
    """
    notes = notes or Notes(path, strict=True)
    records = [record_of(block.fields, line=block.line, number=block.number) for block in _blocks(text, notes)]
    if not records:
        raise notes.nothing_read("no record: none of its lines begins with `TY  - `")
    return records


def write_ris(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write the records. What comes from RIS keeps its tags; else `id`, canonical fields and decision get theirs.

    Line ends within a value become line feeds; in a name, a keyword or an address a line break becomes a blank, since
    there it separates values. What a format that is only read calls details has its tags; other hidden fields of a
    record that does not come from RIS have none: left out.
    """
    for record in records:
        for tag, text in _written(record):
            first, *others = re.split(r"\r\n|\r|\n", text)
            stream.write(f"{tag}  - {first}\n")
            for line in others:
                stream.write(f"{INDENT if _LOOKS_TAGGED.match(line) else ''}{line}\n")
        stream.write("ER  - \n\n")


def _written(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    tidy = one_line(record, ("authors", "keywords", "url"))
    fields = [field for field in fields_of(tidy, Format.RIS, _PLACES) if not is_withdrawn(field)]
    fields += other_fields(record)
    kind, stated = kind_of(record.get("type")), record.get("type")
    own = next((field.text for field in fields if field.name == "TY"), None)
    yield "TY", kind.ris if own is None else own
    if isinstance(stated, str) and not any(field.key == "type" for field in fields) and stated != kind.ris:
        yield "M3", stated
    # A source is data from elsewhere: no field of it may end the record, or begin another.
    yield from ((field.name, field.text) for field in fields if _TAG.fullmatch(field.name) and field.name not in _ENDS)


def _blocks(text: str, notes: Notes) -> Iterator[_Block]:
    first = re.search(r"^\ufeff?TY( {1,2})-", text, re.MULTILINE)
    # One blank before the dash instead of two: only where the record's start is written that way, since "US - based"
    # may begin a line of an abstract.
    gap = first[1] if first else "  "
    block: _Block | None = None
    begun = 0  # records, those that are lost among them
    headless = False  # within a record whose beginning is missing
    empty = 0  # lines since the last that said something: they belong to the value if it goes on after them
    for number, content in enumerate(LINE_END.split(text), 1):
        line = content.removeprefix("\ufeff")  # where two exports were put one after the other
        match = _TAGGED.fullmatch(line)
        is_tag = match and (len(match[2]) >= len(gap) or (block is None and match[1] == "TY"))
        tag = match[1] if match and is_tag else None
        if tag == "TY" and match:
            if block is not None:
                notes.lost(f"a record without its end: no `ER  - ` before the next one, in line {number}", block.line)
            begun, gap, headless = begun + 1, match[2], False
            block = _Block(number, begun)
        elif block is None:
            if tag is not None and tag != "ER" and not headless:
                notes.lost("a record without its beginning: no `TY  - ` stands before this line", number)
                begun, headless = begun + 1, True
            elif tag == "ER" and headless:
                headless = False
            elif line.strip() and note_between(line, number, notes, Format.RIS, of_lost=headless):
                headless = True
            continue
        if tag == "ER":
            yield block
            block = None
        elif tag is not None and match is not None:
            block.fields.append(Tagged(tag, [match[3] or ""]))
        elif not line.strip() and not line.startswith(INDENT):
            empty += 1
            continue
        else:
            block.fields[-1].lines.extend([*[""] * empty, line.removeprefix(INDENT)])
        empty = 0
    if block is not None:
        notes.lost("a record without its end: the file ends before it does (no `ER  - `); is it cut off?", block.line)
