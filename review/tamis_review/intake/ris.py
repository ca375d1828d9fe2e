"""The reader and the writer of RIS: `TY  - JOUR` begins a record, `ER  - ` ends it.

A line without a tag continues the line above. It may be indented by three spaces, as in Web of Science. The writer
indents lines that could be misread: empty lines, lines that begin with a space, and lines that look like a tag.
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
# The notes that Tamis writes, and that the reader recognises.
NOTES: Mapping[str, FieldPlace] = {"nct_id": FieldPlace(NOTE, "NCT ID: "), **decision_places(NOTE)}
_EMBASE, _SCOPUS = re.compile("embase", re.IGNORECASE), re.compile("scopus", re.IGNORECASE)
_ENDED = Ended(
    re.compile(r"(?P<tag>[A-Z][A-Z0-9])(?P<gap> {1,2})-(?:\s(?P<text>.*)|$)", re.DOTALL),
    ends="ER  - ",
    # Two spaces before the dash. A single space is enough only if the record also begins so, because "US - based" may
    # begin a line of an abstract.
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
        "type": ("PT", "M3", "TY"),  # "Review" is more specific than "JOUR"; with Ovid's `PT`, `M3` classifies
    },
    # `DA` may contain only a month, and in some exports `M3` contains the DOI.
    serves={"DA": re.compile(r"(?!0000)\d{4}(?!\d)"), "M3": re.compile(r"(?!https?:|10\.)")},
    dated_first=True,
    value_a_line=frozenset(("KW", "AU", "A1", "DB", "UR")),  # EndNote writes the tag once, then a value on each line
    all_joined={"abstract": "\n"},
    # Embase and Scopus put the PubMed id and their own number into custom fields, because RIS has no tags for these.
    # Only records that are not from Medline name Embase as their database, but all have Embase's address as their URL.
    databases=("DB", "url"),
    pmids={"C5": _EMBASE, "C2": _SCOPUS},
    accessions={"AN": None, "ID": None, "U2": _EMBASE},
    patterns=(
        # Cochrane has `PUBMED 21314913,EMBASE 361584103`.
        Pattern("pmid", ("C3",), (re.compile(r"\A\s*PUBMED (\d+)(?:\s*\Z|(?=,.*\s*\Z))"),)),
        Pattern("doi", ("M3", "UR"), (re.compile(r"\A\s*(?:https?://(?:dx\.)?doi\.org/)?(10\.\d{4,9}/\S+)\s*\Z"),)),
    ),
    note=NOTE,
    notes=NOTES,
    note_patterns=(Pattern("pmid", (NOTE,), (re.compile(r"^PMID: *(\d+)\s*$", re.MULTILINE),)),),
)
# The tags for values that the file of a record lacks, and for records from other formats, in this order.
PLACES: Mapping[str, FieldPlace] = {
    **best_places(SCHEME.sources, "title", "authors", "year"),
    "journal": FieldPlace("T2"),
    **best_places(SCHEME.sources, "abstract", "keywords", "language", "doi", "url"),
    "id": FieldPlace("ID"),
    "pmid": FieldPlace(NOTE, "PMID: "),  # as in Zotero
    **NOTES,
    **IN_RIS,
}
_ENDS = frozenset(("TY", "ER"))  # the first and last tag of a record
_TAG = re.compile(r"[A-Z][A-Z0-9]")
_LOOKS_TAGGED = re.compile(r"\s|\ufeff|[A-Z][A-Z0-9]\s*-|$")


def read_ris(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the records in `text`. `notes` gets a note on each record without beginning or end, which is lost.

    Text between records is skipped.

    Raises `InputError` if no record can be read. With strict `notes`, a lost record is an error too.
    """
    return read_tagged(SCHEME, partial(ended_blocks, _ENDED), text, notes)


def write_ris(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write the records as RIS. Fields from RIS keep their tags; `id`, canonical fields and the decision get RIS tags.

    Records of another format lose their other fields. Only the details (volume, pages ...) of formats that Tamis cannot
    write are kept. Line ends within a value become line feeds. In a name, a keyword or a URL, a line break becomes a
    space.
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
    written_type = next((field.text for field in fields if field.name == "TY"), None)
    yield "TY", kind.ris if written_type is None else written_type
    if isinstance(stated, str) and not any(field.key == "type" for field in fields) and stated != kind.ris:
        yield "M3", stated
    # The stored fields may come from elsewhere. No such field may end the record or begin another record.
    yield from ((field.name, field.text) for field in fields if _TAG.fullmatch(field.name) and field.name not in _ENDS)
