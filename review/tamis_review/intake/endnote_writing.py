"""The EndNote XML writer. A record has its original elements in order, then elements for added values.

The decision is in lines at the end of the research notes: `Tamis decision: exclude`. Two spaces begin a continuation
line.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TextIO

from tamis_producer.files.decode import LINE_END

from .decision import DECISION_FIELDS, decision_value
from .details import IN_ENDNOTE, PEOPLE, with_joined
from .endnote_paths import Leaf, begins_anew, escaped, xml_of
from .fields import FieldPlace, best_places, fields_of
from .recognise import Format
from .record import one_line
from .record_type import kind_of
from .source import Field, as_text, layout_of, source_format

RESEARCH_NOTES = "research-notes"
NCT_NOTE = FieldPlace("notes/~", "NCT ID: ")
INDENT = "  "
LINE_BREAK = "&#xD;"  # EndNote's line break within a text
# Canonical name -> the elements that may have its value, best first. Other elements keep their own names.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "authors": ("contributors/authors/author",),
    "title": ("titles/title",),
    "journal": ("periodical/full-title", "titles/secondary-title", "periodical/abbr-1"),
    "keywords": ("keywords/keyword",),
    "year": ("dates/year", "dates/pub-dates/date"),
    "abstract": ("abstract",),
    "url": ("urls/related-urls/url", "urls/web-urls/url", "urls/pdf-urls/url"),
    "doi": ("electronic-resource-num",),
    "language": ("language",),
    "type": ("work-type",),  # "Review" is more specific than "Journal Article"
}
# The elements for values that the file of a record lacks, and for records from other formats, in this order.
PLACES: Mapping[str, FieldPlace] = {
    **best_places(SOURCES, "authors", "title", "journal", "keywords", "year", "abstract", style="/~"),
    "nct_id": NCT_NOTE,
    **best_places(SOURCES, "url", "doi", "language", style="/~"),
    "pmid": FieldPlace("accession-num/~"),
    "id": FieldPlace("accession-num/~"),
    **{key: FieldPlace(RESEARCH_NOTES) for key in DECISION_FIELDS},
    **IN_ENDNOTE,
}
PUBMED = Leaf("remote-database-provider/~", "NLM")  # shows that the accession number is a PubMed id
LISTS: Mapping[str, str] = {"authors": "author", "keywords": "keyword", **PEOPLE}
ONE_LINE = ("title", "journal", "keywords", "authors", "year", "doi", "url", "language", "pmid", "id", "type")


def write_endnote_xml(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write the records as EndNote XML. A record from EndNote XML keeps its elements, attributes, styles and order.

    The decision is in lines at the end of the research notes. Records from another format get the canonical fields.
    Their PubMed id, or else their id, becomes the accession number. Line breaks in one-line fields, and characters that
    XML forbids, become spaces. Comments, and white space between elements, are lost.
    """
    end = "\n" if any(layout_of(record, Format.ENDNOTE_XML).get("lines") is True for record in records) else ""
    stream.write(f'<?xml version="1.0" encoding="UTF-8" ?>{end}<xml>{end}<records>{end}')
    for record in records:
        line_break = layout_of(record, Format.ENDNOTE_XML).get("break")
        if line_break not in ("\n", "&#13;"):
            line_break = LINE_BREAK
        stream.write(f"<record>{xml_of(_leaves(record), line_break)}</record>{end}")
    stream.write(f"</records>{end}</xml>{end}")


def taken_apart(text: str) -> tuple[str, Mapping[str, Any]]:
    """Return people's part of the text of research notes, and Tamis's decision in it: hidden field -> value."""
    rest: list[str] = []
    lines_of: dict[str, list[str]] = {}
    key: str | None = None
    for line in LINE_END.split(text):
        begun = next((name for name, label in DECISION_FIELDS.items() if line.startswith(f"{label}: ")), None)
        if begun is not None and begun not in lines_of:
            key = begun
            lines_of[key] = [line[len(DECISION_FIELDS[key]) + 2 :]]
        elif key is not None and line.startswith(INDENT):
            lines_of[key].append(line[len(INDENT) :])
        else:
            key = None
            rest.append(line)
    if not lines_of:
        return text, {}
    return "\n".join(rest), {key: decision_value(key, "\n".join(begun)) for key, begun in lines_of.items()}


def with_decision(text: str, decision: Mapping[str, Any]) -> str:
    """Return the notes in `text` followed by lines with the decision. `taken_apart` separates the two again.

    `decision`: hidden field of the decision -> value.
    """
    lines = [LINE_END.sub("\n", text)] if text else []
    for key, label in DECISION_FIELDS.items():
        if key in decision:
            first, *others = LINE_END.split(as_text(decision[key]))
            lines += [f"{label}: {first}", *(INDENT + other for other in others)]
    return "\n".join(lines)


def _leaves(record: Mapping[str, Any]) -> list[Leaf]:
    is_endnote = source_format(record) is Format.ENDNOTE_XML
    if not is_endnote:
        record = with_joined(one_line(record, ONE_LINE))
    stood = fields_of(record, Format.ENDNOTE_XML, {})
    gained = fields_of(record, Format.ENDNOTE_XML, PLACES)[len(stood) :]
    if not is_endnote:
        gained = [field for field in gained if field.key != "id" or "pmid" not in record]
    leaves, added = [] if is_endnote else _kind(record), list[Leaf]()
    before: Field | None = None
    for field in stood:
        if field.key not in DECISION_FIELDS:
            leaves.append(Leaf(_path(field, before), field.text))
        before = field
    for field in gained:
        if field.key not in DECISION_FIELDS:
            added.append(Leaf(_path(field, before), field.text))
            if field.key == "journal" and not is_endnote:
                added.append(Leaf("titles/secondary-title/~", field.text))
            if field.key == "pmid":
                added.append(PUBMED)
        before = field
    leaves = _in_order(leaves, added)
    _note(leaves, {str(f.key): f.text for f in (*stood, *gained) if f.key in DECISION_FIELDS and f.text})
    return leaves


def _path(field: Field, before: Field | None) -> str:
    """Return the field's path in EndNote XML. A further value of a list, such as a second author, begins a new element.

    `before`: the previous field.
    """
    element = LISTS.get(field.key or "")
    follows = before is not None and (before.key, before.name.replace("+", "")) == (field.key, field.name)
    return begins_anew(field.name, element) if element is not None and follows else field.name


def _in_order(leaves: Sequence[Leaf], added: Sequence[Leaf]) -> list[Leaf]:
    """Return all leaves. Each added leaf comes after the last leaf in the same outermost element, or at the end."""
    placed: list[tuple[int, Leaf]] = []
    last: dict[str, int] = {}  # outermost element -> position of its last leaf
    for at, leaf in enumerate((*leaves, *added)):
        outermost, inner, _ = leaf.element.partition("/")
        place = at if at < len(leaves) else last.get(outermost, at)
        placed.append((place, leaf))
        if inner:
            last[outermost] = place
    return [leaf for _, leaf in sorted(placed, key=itemgetter(0))]


def _note(leaves: list[Leaf], decision: Mapping[str, str]) -> None:
    at = next((at for at in reversed(range(len(leaves))) if leaves[at].element == RESEARCH_NOTES), None)
    if at is not None:
        leaves[at] = Leaf(leaves[at].path, with_decision(leaves[at].text, decision))
    elif decision:
        leaves.append(Leaf(f"{RESEARCH_NOTES}/~", with_decision("", decision)))


def _kind(record: Mapping[str, Any]) -> list[Leaf]:
    kind, stated = kind_of(record.get("type")), record.get("type")
    leaves = [Leaf(f'ref-type name="{escaped(kind.endnote_name, " ")}"', str(kind.endnote))]
    if isinstance(stated, str) and stated not in ("", kind.endnote_name):
        leaves.append(Leaf("work-type/~", stated))
    return leaves
