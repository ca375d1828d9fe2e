"""NBIB, the MEDLINE format in which PubMed exports: `PMID- ` begins a record, six blanks continue a value.

PubMed breaks a value after a blank, which stays at the end of the line. The format has no line breaks of its own: the
writer sets a line of six blanks for one, which other programs read as white space, and this reader as what it was.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from tamis_producer.files.decode import LINE_END

from .between import note_between
from .decision import DECISION_FIELDS, decision_places, decision_value, is_withdrawn
from .fields import FieldPlace, fields_of
from .notes import Notes
from .recognise import Format
from .record import assemble, is_bare_year, year_of
from .record_type import medline_types
from .source import Field, remember, source_format

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


BEGIN = "PMID"
OWNER, WITHOUT_PMID = "OWN", "ERIC"
INDENT = " " * 6
WIDTH = 87  # characters without the blank at the end; where PubMed breaks its lines

_TAGGED = re.compile(r"(?=.{4}-)([A-Z][A-Z0-9]{1,3}) {0,2}-(?:\s(.*)|$)", re.DOTALL)
_TAG = re.compile(r"[A-Z][A-Z0-9]{1,3}")
# A piece of a value that is too long for a line: it ends with a blank, and no blank follows.
_PIECE = re.compile(rf".{{1,{WIDTH - len(INDENT)}}} (?=[^ ])|.*? (?=[^ ])")


@dataclass(frozen=True)
class _Block:
    """The fields of one record: tag -> the lines of its text, in the file's order."""

    line: int
    number: int  # among the file's records, from 1
    fields: list[tuple[str, list[str]]] = field(default_factory=list)


def read_nbib(text: str, path: Path, notes: Notes | None = None) -> list[dict[str, Any]]:
    """The records in `text`; ERIC's, which begin with `OWN - ERIC`, are among them.

    A record without its beginning is lost: an empty line ends the one before it. Text between records is skipped.

    Raises `InputError` where no record can be read, and with the line of the first that is lost if reading is strict.
    """
    notes = notes or Notes(path, strict=True)
    records = [
        record_of([Field(tag, _unfolded(lines)) for tag, lines in block.fields], line=block.line, number=block.number)
        for block in _blocks(text, notes)
    ]
    if not records:
        raise notes.nothing_read(f"no record: none of its lines begins with `{BEGIN}- `")
    return records


def write_nbib(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write the records. What comes from NBIB keeps its tags; else canonical fields and decision get theirs.

    Line ends within a value become line feeds. The address stands in a general note, for want of a tag. Other hidden
    fields of a record that does not come from NBIB have no tag: left out.
    """
    for record in records:
        stated = (
            record if source_format(record) is Format.NBIB else {**record, "type": medline_types(record.get("type"))}
        )
        fields = [one for one in fields_of(stated, Format.NBIB, PLACES) if not is_withdrawn(one)]
        fields = [one for one in fields if _TAG.fullmatch(one.name)]  # a source is data from elsewhere
        begin = next((one.text for one in fields if one.name == BEGIN), "")
        for tag, text in ((BEGIN, begin), *((one.name, one.text) for one in fields if one.name != BEGIN)):
            for line in _folded(tag, text):
                stream.write(f"{line}\n")
        stream.write("\n")


def _blocks(text: str, notes: Notes) -> Iterator[_Block]:
    lines = [content.removeprefix("\ufeff") for content in LINE_END.split(text)]  # two exports may be one file
    separates = not _is_spread_out(lines)
    block: _Block | None = None
    begun = 0  # records, those that are lost among them
    ended = headless = False  # an empty line came; within a record whose beginning is missing
    for number, line in enumerate(lines, 1):
        match = _TAGGED.fullmatch(line)
        if match and _begins(match, block):
            if block is not None:
                yield block
            begun, ended, headless = begun + 1, False, False
            block = _Block(number, begun, [(match[1], [match[2] or ""])])
        elif match and block is not None and not ended:
            block.fields.append((match[1], [match[2] or ""]))
        elif match and not headless:
            if block is not None:
                yield block
            block, headless = None, True
            notes.lost(f"a record without its beginning: no `{BEGIN}- ` stands before this line", number)
            begun += 1
        elif not line.strip() and not line.startswith(INDENT):
            ended, headless = separates, headless and not separates
        elif block is not None and not ended:
            block.fields[-1][1].append(line)
        elif line.strip() and note_between(line, number, notes, Format.NBIB, of_lost=headless):
            headless = True
    if block is not None:
        yield block


def _begins(tagged: re.Match[str], block: _Block | None) -> bool:
    """True for the tag that begins a record: ERIC, which has no PubMed id, begins with itself as the owner."""
    if tagged[1] == OWNER:
        only_a_pmid = block is not None and [tag for tag, _ in block.fields] == [BEGIN]  # as `write_nbib` puts it first
        return (tagged[2] or "").strip() == WITHOUT_PMID and not only_a_pmid
    return tagged[1] == BEGIN


def _is_spread_out(lines: Sequence[str]) -> bool:
    """True where empty lines stand between lines, and not between records."""
    tagged = [at for at, line in enumerate(lines) if _TAGGED.fullmatch(line)]
    return sum(at > 0 and not lines[at - 1].strip() for at in tagged) * 2 > len(tagged)


def _unfolded(lines: Sequence[str]) -> str:
    """The text of a field, of its first line and the lines that continue it."""
    parts = [lines[0]]
    for line in lines[1:]:
        if line == INDENT:
            parts.append("\n")
            continue
        part = line[len(INDENT) :] if line.startswith(INDENT) else line.lstrip()
        # Some programs cut the blank at the end of a line.
        parts.append(part if not parts[-1] or parts[-1].endswith((" ", "\n")) else f" {part}")
    return "".join(parts)


def _folded(tag: str, text: str) -> Iterator[str]:
    """The lines of a field; `_unfolded` gives `text` back."""
    first, *others = LINE_END.split(text)
    start, *rest = _pieces(first) or [""]
    yield f"{tag:<4}- {start}"
    yield from [INDENT + piece for piece in rest]
    for paragraph in others:
        yield INDENT
        yield from [INDENT + piece for piece in _pieces(paragraph)]


def _pieces(paragraph: str) -> list[str]:
    pieces: list[str] = []
    at = 0
    while len(paragraph) - at > WIDTH - len(INDENT) and (piece := _PIECE.match(paragraph, at)):
        pieces.append(piece[0])
        at = piece.end()
    return [*pieces, paragraph[at:]] if at < len(paragraph) else pieces
