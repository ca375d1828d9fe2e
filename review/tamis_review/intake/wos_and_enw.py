"""The readers of the tagged formats of Web of Science and EndNote, which Tamis does not write.

Web of Science (`.txt`, `.ciw`): `PT J` begins a record, `ER` ends it. A tag has two characters, then a space; three
spaces continue its value. `FN` and `VR` precede the records, `EF` follows them.

EndNote (`.enw`): `%0 Journal Article` begins a record, an empty line ends it. A line without a tag continues the line
above. Programs that write Refer, an older format, omit `%0`. Then the lines between two empty lines are a record if
they include a title.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from .notes import Notes
from .recognise import Format
from .tagged import IN_PUBMED, Ended, Scheme, Tagged, TaggedRecord, ended_blocks, lines_of, read_tagged

WRAPPED_AT = 100  # characters; if all lines are shorter, they are parts of one line
BEGIN, TITLES = "0", ("T", "B")  # tags of EndNote

_TAGGED = re.compile(r"%([0-9A-Z?@!#$\]&()*+^><\[=~|:;\\])(?:[ \t]+(.*))?")


def read_wos(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the records in `text`, the contents of a file, and list in `notes` the parts that are lost or skipped.

    A record without its first line (`PT`) or last line (`ER`) is lost. Text between records is skipped.

    Raises `InputError` if no record can be read. If `notes` is strict, each lost record raises this error too.
    """
    return read_tagged(WOS, partial(ended_blocks, _WOS_ENDED), text, notes)


def read_enw(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the records in `text`, the contents of a file, and list in `notes` the parts that are lost or skipped.

    A record needs a title, or a first line (`%0`) and another field. Otherwise, it is lost. Text between records is
    skipped.

    Raises `InputError` if no record can be read. If `notes` is strict, each lost record raises this error too.
    """
    return read_tagged(ENW, _enw_blocks, text, notes)


def _joined(lines: Sequence[str], *, wrapped_at: int) -> str:
    texts = [text for line in lines if (text := line.strip())]
    return (" " if all(len(text) <= wrapped_at for text in texts) else "\n").join(texts)


def _enw_blocks(scheme: Scheme, text: str, notes: Notes) -> Iterator[TaggedRecord]:
    for block in _parts(text, notes):
        filled = _filled(block)
        if not filled.isdisjoint(TITLES) or filled > {BEGIN}:
            yield block
        else:
            notes.lost("a part of a record: it has no title, and no `%0 ` before its fields", block.line)


def _filled(block: TaggedRecord) -> set[str]:
    return {tagged.tag for tagged in block.fields if any(map(str.strip, tagged.lines))}


def _parts(text: str, notes: Notes) -> Iterator[TaggedRecord]:
    block: TaggedRecord | None = None
    begun = 0
    ended = False  # after an empty line
    behind: dict[int, str] = {}  # lines after the empty line: a paragraph of the value, if the record continues
    for number, line in enumerate(lines_of(text), 1):
        match = _TAGGED.fullmatch(line)
        if match is None:
            if not line.strip():
                ended = True
            elif ended or block is None:
                behind[number] = line
            else:
                block.fields[-1].lines.append(line)
            continue
        # A second field of this kind begins another record.
        is_again = block is not None and (behind or match[1] == BEGIN) and match[1] in _filled(block)
        if block is not None and not (ended and not behind) and not is_again:
            block.fields[-1].lines.extend(behind.values())
        else:
            _skip(behind, notes)
            if block is not None:
                yield block
            begun += 1
            block = TaggedRecord(number, begun)
        ended, behind = False, {}
        block.fields.append(Tagged(match[1], [match[2] or ""]))
    _skip(behind, notes)
    if block is not None:
        yield block


def _skip(lines: Mapping[int, str], notes: Notes) -> None:
    for number, line in lines.items():
        notes.between(line, number, Format.ENDNOTE_TAGGED)


_WOS_ENDED = Ended(
    re.compile(r"(?P<tag>[A-Z][A-Z0-9])(?P<gap>)(?:[ \t](?! ?- )(?P<text>.*))?"),  # no tag of RIS or NBIB
    ends="ER",
    of_the_file=frozenset(("FN", "VR", "EF")),
)
WOS = Scheme(
    form=Format.WOS_TAGGED,
    prefix="wos",
    begins="PT ",
    joined=partial(_joined, wrapped_at=WRAPPED_AT),
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
    value_a_line=frozenset(("AU", "AF", "BA", "BF", "BE", "CA", "GP", "ED", "CR", "C1", "C3")),
    all_joined={"abstract": "\n"},
    keywords_split=True,
    types={"J": "JOUR", "B": "BOOK", "S": "SER", "C": "CONF", "P": "PAT"},
    accessions={"UT": None, "AN": None},
)
ENW = Scheme(
    form=Format.ENDNOTE_TAGGED,
    prefix="enw",
    begins="%0 ",
    joined=partial(_joined, wrapped_at=0),  # line breaks are kept
    sources={
        "title": TITLES,
        "abstract": ("X",),
        "authors": ("A",),
        "year": ("D", "8"),
        "journal": ("J", "B"),
        "keywords": ("K",),
        "type": ("9", "0"),  # "Review" is more specific than "Journal Article"
        "language": ("G",),
        "doi": ("R",),
        "url": ("U",),
    },
    value_a_line=frozenset("AEYK?U"),
    all_joined={"abstract": "\n"},
    keywords_split=True,
    databases=("W", "~"),
    pmids={"M": IN_PUBMED},
    accessions={"M": None},
)
