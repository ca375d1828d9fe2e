"""EndNote's tagged format, `.enw`: `%0 Journal Article` begins a record, an empty line stands behind it.

A line without a tag continues the one above. Programs that follow Refer, the older format, leave `%0` out: what stands
between empty lines and has a title is a record as well.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tamis_producer.files.decode import LINE_END

from .between import note_between
from .notes import Notes
from .only_read import Scheme, TaggedText, record_of
from .recognise import Format

BEGIN, TITLES, ACCESSION, DATABASES = "0", ("T", "B"), "M", ("W", "~")
PMID = "M of PubMed"  # the accession number, where the database says that it is a PubMed id
SCHEME = Scheme(
    prefix="enw",
    sources={
        "title": ("T", "B"),
        "abstract": ("X",),
        "authors": ("A",),
        "year": ("D", "8"),
        "journal": ("J", "B"),
        "keywords": ("K",),
        "type": ("9", "0"),  # "Review" says more than "Journal Article"
        "language": ("G",),
        "doi": ("R",),
        "pmid": (PMID,),
        "url": ("U",),
    },
    accessions=("M",),
    value_a_line=frozenset("AEYK?U"),
    wrapped_at=0,  # a line break is one
)

_TAGGED = re.compile(r"%([0-9A-Z?@!#$\]&()*+^><\[=~|:;\\])(?:[ \t]+(.*))?")
_PUBMED = re.compile(r"\b(?:nlm|pubmed|medline)\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Block:
    line: int
    fields: list[TaggedText] = field(default_factory=list)

    def has(self, *tags: str) -> bool:
        """True where a field with one of these tags says something."""
        return any(one.tag in tags and one.has_text for one in self.fields)

    @property
    def is_record(self) -> bool:
        """True where it has a title, or begins as a record and says something besides."""
        return self.has(*TITLES) or (self.has(BEGIN) and any(one.tag != BEGIN and one.has_text for one in self.fields))


def read_enw(text: str, path: Path, notes: Notes | None = None) -> list[dict[str, Any]]:
    """The records in `text`. What has neither a beginning nor a title is lost; text between records is skipped.

    Raises `InputError` where no record can be read, and with the line of the first that is lost if reading is strict.
    """
    notes = notes or Notes(path, strict=True)
    records: list[dict[str, Any]] = []
    for number, block in enumerate(_blocks(text, notes), 1):
        if block.is_record:
            records.append(_record(block, number))
        else:
            notes.lost("a part of a record: it has no title, and no `%0 ` before what it says", block.line)
    if not records:
        raise notes.nothing_read("no record: none of its lines begins with `%0 `")
    return records


def _record(block: _Block, number: int) -> dict[str, Any]:
    databases = " ".join(line for one in block.fields if one.tag in DATABASES for line in one.lines)
    fields = block.fields
    if _PUBMED.search(databases):  # its accession numbers are PubMed ids
        fields = [TaggedText(PMID, one.lines) if _is_pmid(one) else one for one in fields]
    return record_of(fields, SCHEME, line=block.line, number=number)


def _is_pmid(one: TaggedText) -> bool:
    return one.tag == ACCESSION and "".join(one.lines).strip().isdigit()


def _blocks(text: str, notes: Notes) -> Iterator[_Block]:
    block: _Block | None = None
    ended = False  # an empty line came
    behind: dict[int, str] = {}  # lines of text behind it: a paragraph of the value, if the record goes on after them
    for number, content in enumerate(LINE_END.split(text), 1):
        line = content.removeprefix("\ufeff")  # where two exports were put one after the other
        match = _TAGGED.fullmatch(line)
        if match is None:
            if not line.strip():
                ended = True
            elif ended or block is None:
                behind[number] = line
            else:
                block.fields[-1].lines.append(line)
            continue
        is_again = block is not None and block.has(match[1])  # a field that the record has: this is another record
        if block is not None and not (ended and not behind) and not (is_again and (behind or match[1] == BEGIN)):
            block.fields[-1].lines.extend(behind.values())
        else:
            _skip(behind, notes)
            if block is not None:
                yield block
            block = _Block(number)
        ended, behind = False, {}
        block.fields.append(TaggedText(match[1], [match[2] or ""]))
    _skip(behind, notes)
    if block is not None:
        yield block


def _skip(lines: Mapping[int, str], notes: Notes) -> None:
    for number, line in lines.items():
        note_between(line, number, notes, Format.ENDNOTE_TAGGED)
