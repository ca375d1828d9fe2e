"""NBIB, the MEDLINE format in which PubMed exports: `PMID- ` begins a record, six blanks continue a value.

PubMed breaks a value after a blank, which stays at the end of the line. The format has no line breaks of its own: the
writer sets a line of six blanks for one, which other programs read as white space, and this reader as what it was.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from tamis_schemas import InputError

from .decision import is_withdrawn
from .fields import fields_of
from .nbib_tags import PLACES, record_of
from .notes import Notes
from .recognise import Format
from .record_type import medline_types
from .source import Field, source_format

BEGIN = "PMID"
INDENT = " " * 6
WIDTH = 87  # characters without the blank at the end; where PubMed breaks its lines

_TAGGED = re.compile(r"(?=.{4}-)([A-Z][A-Z0-9]{1,3}) {0,2}-(?:\s(.*)|$)", re.DOTALL)
_TAG = re.compile(r"[A-Z][A-Z0-9]{1,3}")
_LINE_END = re.compile(r"\r\n|\r|\n")
# A piece of a value that is too long for a line: it ends with a blank, and no blank follows.
_PIECE = re.compile(rf".{{1,{WIDTH - len(INDENT)}}} (?=[^ ])|.*? (?=[^ ])")


@dataclass(frozen=True)
class _Block:
    """The fields of one record: tag -> the lines of its text, in the file's order."""

    line: int
    fields: list[tuple[str, list[str]]] = field(default_factory=list)


def read_nbib(text: str, path: Path, notes: Notes | None = None) -> list[dict[str, Any]]:
    """The records in `text`. Raises `InputError` naming the line, where text stands outside of any record."""
    records = [
        record_of([Field(tag, _unfolded(lines)) for tag, lines in block.fields], line=block.line, number=number)
        for number, block in enumerate(_blocks(text, path), 1)
    ]
    if not records:
        raise InputError(f"no record: none of its lines begins with `{BEGIN}- `", path=path)
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


def _blocks(text: str, path: Path) -> Iterator[_Block]:
    block: _Block | None = None
    for number, content in enumerate(_LINE_END.split(text), 1):
        line = content.removeprefix("\ufeff")  # where two exports were put one after the other
        match = _TAGGED.fullmatch(line)
        if match and match[1] == BEGIN:
            if block is not None:
                yield block
            block = _Block(number)
        if block is None:
            if line.strip():
                raise InputError(
                    f"{line.strip()[:60]!r} stands outside of any record: a record begins with `{BEGIN}- `",
                    path=path,
                    line=number,
                )
        elif match:
            block.fields.append((match[1], [match[2] or ""]))
        elif line.strip() or line.startswith(INDENT):
            block.fields[-1][1].append(line)
    if block is not None:
        yield block


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
    first, *others = _LINE_END.split(text)
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
