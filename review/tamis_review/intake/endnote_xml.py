"""The reader of EndNote XML: `<xml><records><record>`, on one line or many. Style elements may enclose the texts.

Files with a document type are refused. The reader uses no entities and no network.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from tamis_schemas import InputError
from tamis_schemas.extras import needs

from .endnote_paths import Leaf, leaves_of, without_controls
from .endnote_writing import LINE_BREAK, NCT_NOTE, RESEARCH_NOTES, SOURCES, taken_apart
from .notes import Notes
from .recognise import Format
from .record import assemble
from .source import Field, as_text, remember
from .tagged import IN_PUBMED, LISTS, Scheme, Tagged, placed

with needs("files"):
    from lxml import etree

KIND = "ref-type"
# EndNote's internal elements. They say nothing about the record, and keep their positions.
OF_ENDNOTE = frozenset(("database", "source-app", "foreign-keys/key", KIND))
SCHEME = Scheme(
    form=Format.ENDNOTE_XML,
    prefix="endnote",
    begins="<record>",
    sources=SOURCES,
    dated_first=True,
    value_a_line=frozenset(("keywords/keyword",)),
    one_line=frozenset(SOURCES) - {"abstract"},
    repeated=frozenset(("journal",)),  # EndNote names it twice
    databases=("remote-database-provider", "remote-database-name"),
    pmids={"accession-num": IN_PUBMED},
    accessions={"accession-num": None, "rec-number": None},
    note="notes",
    notes={"nct_id": NCT_NOTE},
    kept_as_written=True,
)

_DOCTYPE = re.compile(r"<!DOCTYPE", re.IGNORECASE)
_ELEMENT = re.compile(r"<[A-Za-z]")
_KIND = re.compile(r'ref-type name="([^"]*)"')
_RECORD = re.compile(r"<record[\s>/]")
_RECORD_END = re.compile(r"</record\s*>")
_ENDS_LINE = re.compile(r"\s*\n")
_LEFT_OVER = re.compile(r"<(?!/?(?:xml|records|PubmedArticleSet)\b|[?!])")  # between records


def read_endnote_xml(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the records in `text`. Text in several styles becomes one text; a control character becomes a space.

    Tamis's lines in the research notes become the record's decision, which no model is shown. Each record is read
    separately. A broken record is lost: it gets a note in `notes`.

    Raises `InputError` if no record can be read, or the file has a document type. With strict `notes`, a lost record is
    an error too.
    """
    first = _ELEMENT.search(text)
    if _DOCTYPE.search(text, 0, first.start() if first else len(text)):
        raise InputError("a document type (<!DOCTYPE ...>), which EndNote does not write: remove it", path=notes.path)
    line_break = "&#xD;" if "&#xD;" in text else "&#13;" if "&#13;" in text else "\n"
    records: list[dict[str, Any]] = []
    for element, line, number in elements(without_controls(text), notes, _RECORD, _RECORD_END):
        if any(isinstance(child.tag, str) and child.tag.startswith("{") for child in element.iter()):
            notes.lost("an element of another namespace: EndNote uses none", line)
        else:
            records.append(_record(element, line=line, number=number, line_break=line_break))
    if not records:
        raise notes.nothing_read("no record: EndNote writes records as <xml><records><record>")
    return records


def elements(
    text: str, notes: Notes, begin_of: re.Pattern[str], end_of: re.Pattern[str]
) -> Iterator[tuple[etree._Element, int, int]]:
    """Yield the element of each record, its line in the file and its number among the file's records.

    The patterns find a record's first and last tag. Records are parsed separately, because a tree of the whole file
    would take ten times the file's size in memory. A record that cannot be parsed gets a note.
    """
    begins = [match.start() for match in begin_of.finditer(text)]
    line, number, read_to = 1, 0, 0
    for begin, after in pairwise([*begins, len(text)]):
        number += 1 + _note_left_over(text[read_to:begin], notes, line)
        line += text.count("\n", read_to, begin)
        end = match.end() if (match := end_of.search(text, begin, after)) else after
        try:
            element = _parsed(text[begin:end])
        except etree.XMLSyntaxError as error:
            notes.lost(f"the XML is broken: {error.msg}", line - 1 + (error.lineno or 1))
        else:
            if len(element):  # an empty element is not a record
                element.tail = "\n" if _ENDS_LINE.match(text, end) else None
                yield element, line, number
        line, read_to = line + text.count("\n", begin, end), end
    _note_left_over(text[read_to:], notes, line)


def _note_left_over(between: str, notes: Notes, line: int) -> int:
    """Return 1 if the text between two records has the rest of a record without its beginning, otherwise 0.

    Add notes on such a record, or on other text there. `line`: the line in the file where the text begins.
    """
    for number, text in enumerate(between.split("\n"), line):
        if _LEFT_OVER.search(text):
            notes.lost("a record without its beginning: no `<record>` before this", number)
            return 1
        if text.strip() and not text.lstrip().startswith("<"):
            notes.between(text, number, Format.ENDNOTE_XML)
    return 0


def _parsed(text: str) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, encoding="utf-8")
    return etree.fromstring(text.encode(), parser)


def _record(element: etree._Element, *, line: int, number: int, line_break: str) -> dict[str, Any]:
    leaves = [*leaves_of(element)]
    decision: dict[str, Any] = {}
    text_of: dict[int, str] = {}  # number of an element -> its text, joined from its styles
    for at, leaf in enumerate(leaves):
        if leaf.element == RESEARCH_NOTES:
            own_text, in_notes = taken_apart(leaf.text)
            leaves[at] = leaf = replace(leaf, text=own_text)
            decision = {**in_notes, **decision}
        if leaf.element not in OF_ENDNOTE:
            text_of[leaf.of] = text_of.get(leaf.of, "") + leaf.text
    name_of = {leaf.of: leaf.element for leaf in leaves}
    placing = placed(SCHEME, [Tagged(name_of[of], text.split("\n")) for of, text in text_of.items()])
    key_of = {of: placing.key_of.get(at, f"_endnote_{name_of[of]}") for at, of in enumerate(text_of)}
    for key in SOURCES.keys() - LISTS - placing.canonical.keys():
        # A value that is added later goes into an empty element of its field.
        empty = next((of for name in SOURCES[key] for of in text_of if name_of[of] == name), None)
        if empty is not None:
            key_of[empty] = key
    fields = placing.canonical
    if not fields.get("type"):
        kind = next((leaf for leaf in leaves if leaf.element == KIND), Leaf("", ""))
        named = _KIND.match(kind.path)
        fields["type"] = html.unescape(named[1]) if named else kind.text.strip()
    record = assemble(fields, {**placing.kept(), **decision}, accession=placing.accession, line=line, number=number)
    source = [Field(leaf.path, leaf.text, key_of.get(leaf.of)) for leaf in leaves]
    source += [Field(RESEARCH_NOTES, as_text(value), key) for key, value in decision.items()]
    layout: dict[str, Any] = {} if line_break == LINE_BREAK else {"break": line_break}
    if "\n" in (element.tail or ""):
        layout["lines"] = True
    return remember(record, Format.ENDNOTE_XML, source, layout)
