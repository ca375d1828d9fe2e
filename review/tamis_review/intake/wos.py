"""The tagged text of Web of Science, as `.txt` or `.ciw`: `PT J` begins a record, `ER` ends it.

A tag has two characters and a blank behind it; three blanks continue its value. `FN` and `VR` stand above the records,
`EF` below.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tamis_producer.files.decode import LINE_END

from .between import note_between
from .notes import Notes
from .only_read import Scheme, TaggedText, record_of
from .recognise import Format

SCHEME = Scheme(
    prefix="wos",
    sources={
        "title": ("TI", "CT"),
        "abstract": ("AB",),
        "authors": ("AU", "AF", "BA", "CA", "GP"),
        "year": ("PY", "EY"),
        "journal": ("SO", "JI", "J9"),
        "keywords": ("DE", "ID"),  # the authors' own; else Keywords Plus
        "type": ("DT", "PT"),
        "language": ("LA",),
        "doi": ("DI", "D2"),
        "pmid": ("PM",),
        "url": ("UR", "DL"),
    },
    accessions=("UT", "AN"),
    value_a_line=frozenset(("AU", "AF", "BA", "BF", "BE", "CA", "GP", "ED", "CR", "C1", "C3")),
    wrapped_at=100,
)
KINDS = {"J": "JOUR", "B": "BOOK", "S": "SER", "C": "CONF", "P": "PAT"}  # the codes of `PT`, as RIS has them
OF_THE_FILE = frozenset(("FN", "VR", "EF"))
INDENT = "   "

_TAGGED = re.compile(r"([A-Z][A-Z0-9])(?:[ \t](?! ?- )(.*))?")  # no tag of RIS or NBIB


@dataclass(frozen=True)
class _Block:
    line: int
    number: int  # among the file's records, from 1
    fields: list[TaggedText] = field(default_factory=list)


def read_wos(text: str, path: Path, notes: Notes | None = None) -> list[dict[str, Any]]:
    """The records in `text`. One without its beginning or its end is lost; text between records is skipped.

    Raises `InputError` where no record can be read, and with the line of the first that is lost if reading is strict.
    """
    notes = notes or Notes(path, strict=True)
    records = [record_of(block.fields, SCHEME, line=block.line, number=block.number) for block in _blocks(text, notes)]
    if not records:
        raise notes.nothing_read("no record: none of its lines begins with `PT `")
    for record in records:
        if (kind := KINDS.get(record.get("type", ""))) is not None:
            record["type"] = kind
    return records


def _blocks(text: str, notes: Notes) -> Iterator[_Block]:
    block: _Block | None = None
    begun = 0  # records, those that are lost among them
    headless = False  # within a record whose beginning is missing
    for number, content in enumerate(LINE_END.split(text), 1):
        line = content.removeprefix("\ufeff")  # where two exports were put one after the other
        match = _TAGGED.fullmatch(line)
        tag = match[1] if match else None
        if tag == "PT" and match:
            if block is not None:
                notes.lost(f"a record without its end: no `ER` before the next one, in line {number}", block.line)
            begun, headless = begun + 1, False
            block = _Block(number, begun, [TaggedText("PT", [match[2] or ""])])
        elif block is None:
            if tag in OF_THE_FILE or (tag == "ER" and headless):
                headless = False
            elif tag is not None and tag != "ER" and not headless:
                notes.lost("a record without its beginning: no `PT ` stands before this line", number)
                begun, headless = begun + 1, True
            elif line.strip() and note_between(line, number, notes, Format.WOS_TAGGED, of_lost=headless):
                headless = True
        elif tag == "ER":
            yield block
            block = None
        elif tag is not None and match:
            block.fields.append(TaggedText(tag, [match[2] or ""]))
        elif line.strip():
            block.fields[-1].lines.append(line.removeprefix(INDENT))
    if block is not None:
        notes.lost("a record without its end: the file ends before it does (no `ER`); is it cut off?", block.line)
