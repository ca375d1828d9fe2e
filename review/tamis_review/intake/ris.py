"""RIS: `TY  - JOUR` begins a record, `ER  - ` ends it, a line without a tag continues the one above.

A continuation may be indented by three blanks, as Web of Science has it. So that every text reads back as it was, the
writer indents what would otherwise be lost or taken for something else: an empty line, one that begins with a blank,
one that looks like a tag (`ER  - ` within an abstract).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TextIO

from tamis_producer.files.decode import LINE_END

from .decision import decision_places, is_withdrawn
from .details import IN_RIS, other_fields
from .fields import FieldPlace, best_places, fields_of
from .notes import Notes
from .recognise import Format
from .record import one_line
from .record_type import kind_of
from .tagged import INDENT, Ended, Pattern, Scheme, ended_blocks, read_tagged

NOTE = "N1"
# What Tamis writes into notes, and reads there again.
NOTES: Mapping[str, FieldPlace] = {"nct_id": FieldPlace(NOTE, "NCT ID: "), **decision_places(NOTE)}
_EMBASE, _SCOPUS = re.compile("embase", re.IGNORECASE), re.compile("scopus", re.IGNORECASE)
_ENDED = Ended(
    re.compile(r"(?P<tag>[A-Z][A-Z0-9])(?P<gap> {1,2})-(?:\s(?P<text>.*)|$)", re.DOTALL),
    ends="ER  - ",
    # One blank before the dash instead of two: only where the record's start is written that way, since "US - based"
    # may begin a line of an abstract.
    gap="  ",
)
SCHEME = Scheme(
    form=Format.RIS,
    prefix="ris",
    begins="TY  - ",
    sources={
        "title": ("TI", "T1", "CT", "BT"),
        "authors": ("AU", "A1"),
        "year": ("PY", "Y1", "DA"),
        "journal": ("JF", "T2", "JO", "JA", "J1", "J2"),
        "abstract": ("AB", "N2"),
        "keywords": ("KW",),
        "language": ("LA",),
        "doi": ("DO", "DI"),
        "url": ("UR",),
        "type": ("PT", "M3", "TY"),  # "Review" says more than "JOUR"; where Ovid has a `PT`, `M3` is a classification
    },
    # `DA` may hold a month alone; some exports put the DOI into `M3`.
    serves={"DA": re.compile(r"(?!0000)\d{4}(?!\d)"), "M3": re.compile(r"(?!10\.)")},
    dated_first=True,
    value_a_line=frozenset(("KW", "AU", "A1", "DB", "UR")),  # EndNote writes the tag once and a value a line
    all_joined={"abstract": "\n"},
    # Embase has no tag for the PubMed id and its own number: it puts them into custom fields. So does Scopus. Embase
    # names itself as database only where a record is not Medline's alone; its address is always there.
    databases=("DB", "url"),
    pmids={"C5": _EMBASE, "C2": _SCOPUS},
    accessions={"AN": None, "ID": None, "U2": _EMBASE},
    # Cochrane has `PUBMED 21314913,EMBASE 361584103`.
    patterns=(Pattern("pmid", ("C3",), (re.compile(r"\A\s*PUBMED (\d+)(?:\s*\Z|(?=,.*\s*\Z))"),)),),
    note=NOTE,
    notes=NOTES,
    note_patterns=(Pattern("pmid", (NOTE,), (re.compile(r"^PMID: *(\d+)\s*$", re.MULTILINE),)),),
)
# What a record has, and its source has not, or is not RIS: where it is written, in this order.
PLACES: Mapping[str, FieldPlace] = {
    **best_places(SCHEME.sources, "title", "authors", "year"),
    "journal": FieldPlace("T2"),
    **best_places(SCHEME.sources, "abstract", "keywords", "language", "doi", "url"),
    "id": FieldPlace("ID"),
    "pmid": FieldPlace(NOTE, "PMID: "),  # as Zotero has it
    **NOTES,
    **IN_RIS,
}
_ENDS = frozenset(("TY", "ER"))  # what begins and ends a record
_TAG = re.compile(r"[A-Z][A-Z0-9]")
_LOOKS_TAGGED = re.compile(r"\s|\ufeff|[A-Z][A-Z0-9]\s*-|$")


def read_ris(text: str, notes: Notes) -> list[dict[str, Any]]:
    """The records in `text`. One without its beginning or its end is lost; text between records is skipped.

    Raises `InputError` where no record can be read, and with the line of the first that is lost if reading is strict.
    """
    return read_tagged(SCHEME, partial(ended_blocks, _ENDED), text, notes)


def write_ris(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write the records. What comes from RIS keeps its tags; else `id`, canonical fields and decision get theirs.

    Line ends within a value become line feeds; in a name, a keyword or an address a line break becomes a blank, since
    there it separates values. What a format that is only read calls details has its tags; other hidden fields of a
    record that does not come from RIS have none: left out.
    """
    for record in records:
        for tag, text in _written(record):
            first, *others = LINE_END.split(text)
            stream.write(f"{tag}  - {first}\n")
            for line in others:
                stream.write(f"{INDENT if _LOOKS_TAGGED.match(line) else ''}{line}\n")
        stream.write("ER  - \n\n")


def _written(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    tidy = one_line(record, ("authors", "keywords", "url"))
    fields = [field for field in fields_of(tidy, Format.RIS, PLACES) if not is_withdrawn(field)]
    fields += other_fields(record)
    kind, stated = kind_of(record.get("type")), record.get("type")
    own = next((field.text for field in fields if field.name == "TY"), None)
    yield "TY", kind.ris if own is None else own
    if isinstance(stated, str) and not any(field.key == "type" for field in fields) and stated != kind.ris:
        yield "M3", stated
    # A source is data from elsewhere: no field of it may end the record, or begin another.
    yield from ((field.name, field.text) for field in fields if _TAG.fullmatch(field.name) and field.name not in _ENDS)
