"""NBIB, the MEDLINE format of PubMed's exports: `PMID- ` begins a record, six spaces continue a value.

PubMed breaks a long value after a space, which stays at the end of the line. The format has no line breaks within
values. For a line break, the writer writes a line of six spaces. Other programs read this line as white space.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from tamis_producer.files.decode import LINE_END

from .decision import decision_places, is_withdrawn
from .fields import FieldPlace, best_places, fields_of
from .notes import Notes
from .recognise import Format
from .record_type import medline_types
from .source import Field, source_format
from .tagged import Outside, Pattern, Scheme, Tagged, TaggedRecord, lines_of, read_tagged

BEGIN = "PMID"
OWNER, WITHOUT_PMID = "OWN", ("ERIC", "Tamis")
NOTE = "GN"  # general note
DOI_TAGS = ("LID", "AID")
INDENT = " " * 6
WIDTH = 87  # characters without the space at the end; PubMed's line width
NOTES: Mapping[str, FieldPlace] = {
    "url": FieldPlace(NOTE, "URL: "),
    "id": FieldPlace(NOTE, "Record ID: "),
    **decision_places(NOTE),
}
_TAGGED = re.compile(r"(?=.{4}-)([A-Z][A-Z0-9]{1,3}) {0,2}-(?:\s(.*)|$)", re.DOTALL)
_TAG = re.compile(r"[A-Z][A-Z0-9]{1,3}")
# A piece of a value that is too long for a line. The piece ends with a space; the next piece does not begin with one.
_PIECE = re.compile(rf".{{1,{WIDTH - len(INDENT)}}} (?=[^ ])|.*? (?=[^ ])")


def read_nbib(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the records in `text`. An empty line ends a record.

    Records without a PubMed id begin with `OWN - ERIC`, or with `OWN - Tamis` if Tamis wrote them. A record without its
    beginning is lost, with a note in `notes`. Text between records is skipped.

    Raises `InputError` if no record can be read. With strict `notes`, a lost record is an error too.
    """
    return read_tagged(SCHEME, _blocks, text, notes)


def write_nbib(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write the records as NBIB. Fields from NBIB keep their tags; canonical fields and the decision get NBIB's tags.

    Records of another format lose all other fields. The URL is in a general note, because NBIB has no tag for URLs.
    Line ends within a value become line feeds.
    """
    for record in records:
        if source_format(record) is not Format.NBIB:
            record = {**record, "type": medline_types(record.get("type"))}
        fields = [field for field in fields_of(record, Format.NBIB, PLACES) if not is_withdrawn(field)]
        begins = (field for name in (BEGIN, OWNER) for field in fields if field.name == name)
        begin = next(begins, Field(OWNER, WITHOUT_PMID[1]))
        for field in (begin, *(field for field in fields if field is not begin)):
            # The stored fields may come from elsewhere, and may have invalid tags.
            for line in _folded(field.name, field.text) if _TAG.fullmatch(field.name) else ():
                stream.write(f"{line}\n")
        stream.write("\n")


def _blocks(scheme: Scheme, text: str, notes: Notes) -> Iterator[TaggedRecord]:
    lines = lines_of(text)
    separates = not _is_spread_out(lines)
    block: TaggedRecord | None = None
    outside = Outside(scheme, notes, joins_content=False)  # PMC's number precedes a record
    ended = False  # after an empty line
    for number, line in enumerate(lines, 1):
        match = _TAGGED.fullmatch(line)
        tagged = Tagged(match[1], [match[2] or ""]) if match else None
        if match and _begins(match, block):
            if block is not None:
                yield block
            block, ended = outside.begin(number), False
        if not line.strip() and not line.startswith(INDENT):
            ended = separates
            if separates:
                outside.end()
        elif block is None or ended:
            if block is not None:
                yield block
            block = None
            outside.add(line, number, tagged)
        elif tagged is not None:
            block.fields.append(tagged)
        else:
            block.fields[-1].lines.append(line)
    outside.end()
    if block is not None:
        yield block


def _begins(tagged: re.Match[str], block: TaggedRecord | None) -> bool:
    """Return True if a tag begins a record: `PMID`, or `OWN` (the owner) in records without a PubMed id.

    `block`: the unfinished record before the tag, or None.
    """
    if tagged[1] == OWNER:
        # `write_nbib` puts a PubMed id first.
        only_a_pmid = block is not None and [field.tag for field in block.fields] == [BEGIN]
        return (tagged[2] or "").strip() in WITHOUT_PMID and not only_a_pmid
    return tagged[1] == BEGIN


def _is_spread_out(lines: Sequence[str]) -> bool:
    """Return True if the file has empty lines between the lines of a record."""
    tagged = [at for at, line in enumerate(lines) if _TAGGED.fullmatch(line)]
    return sum(at > 0 and not lines[at - 1].strip() for at in tagged) * 2 > len(tagged)


def _unfolded(lines: Sequence[str]) -> str:
    """Return the text of a field: its first line and the continuation lines."""
    parts = [lines[0]]
    for line in lines[1:]:
        if line == INDENT:
            parts.append("\n")
            continue
        part = line[len(INDENT) :] if line.startswith(INDENT) else line.lstrip()
        # Some programs cut the space at the end of a line.
        parts.append(part if not parts[-1] or parts[-1].endswith((" ", "\n")) else f" {part}")
    return "".join(parts)


def _folded(tag: str, text: str) -> Iterator[str]:
    """Yield the lines of a field, broken at NBIB's greatest line length. `_unfolded` joins the lines again."""
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


def _whole(form: str) -> re.Pattern[str]:
    return re.compile(rf"\A\s*{form}\s*\Z", re.IGNORECASE)


SCHEME = Scheme(
    form=Format.NBIB,
    prefix="nbib",
    begins=f"{BEGIN}- ",
    joined=_unfolded,
    sources={
        "pmid": (BEGIN,),
        "year": ("DP", "DEP"),
        "title": ("TI", "BTI", "TT"),
        "abstract": ("AB", "OAB"),
        "authors": ("FAU", "AU", "CN"),
        "language": ("LA",),
        "type": ("PT",),  # one publication type each
        "journal": ("JT", "TA"),
        "keywords": ("MH", "OT"),  # subject headings, then the authors' own
    },
    all_tags=frozenset(("keywords",)),
    all_joined={"type": "; "},
    patterns=(
        # ERIC has addresses here: of the DOI, or its own.
        Pattern(
            "doi", DOI_TAGS, (_whole(r"(10\.\S+)\s*\[doi\]"), _whole(r"https?://(?:dx\.)?doi\.org/(10\.\S+)")), True
        ),
        Pattern("url", DOI_TAGS, (_whole(r"(https?://\S+)"),), repeated=True),
        Pattern("nct_id", ("SI",), (_whole(r"ClinicalTrials\.gov/(NCT\d+)"),), repeated=True),
    ),
    note=NOTE,
    notes=NOTES,
    accessions={"OID": None},  # ERIC's number
)
# The tags for values that the file of a record lacks, and for records from other formats, in this order.
PLACES: Mapping[str, FieldPlace] = {
    **best_places(SCHEME.sources, "pmid", "year", "title"),
    "doi": FieldPlace("LID", "", " [doi]"),
    **best_places(SCHEME.sources, "abstract", "authors", "language"),
    "nct_id": FieldPlace("SI", "ClinicalTrials.gov/"),
    **best_places(SCHEME.sources, "type", "journal"),
    "keywords": FieldPlace("OT"),
    **NOTES,
}
