"""RIS: `TY  - JOUR` begins a record, `ER  - ` ends it, a line without a tag continues the one above.

A continuation may be indented by three blanks, as Web of Science has it. So that every text reads back as it was, the
writer indents what would otherwise be lost or taken for something else: an empty line, one that begins with a blank,
one that looks like a tag (`ER  - ` within an abstract).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from tamis_producer.files.decode import LINE_END

from .between import note_between
from .decision import is_withdrawn
from .details import IN_RIS, other_fields
from .fields import FieldPlace, fields_of
from .notes import Notes
from .recognise import Format
from .record import one_line
from .record_type import kind_of
from .ris_tags import PLACES, Tagged, record_of

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
