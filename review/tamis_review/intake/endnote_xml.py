"""EndNote XML: `<xml><records><record>`, on one line or on many, with the style of each text around it.

Read without a document type, entities or network: EndNote writes none of them, and a file that has some is refused.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from tamis_schemas import InputError
from tamis_schemas.extras import needs

from .endnote_paths import Leaf, leaves_of, without_controls
from .endnote_writing import LINE_BREAK, NCT_NOTE, RESEARCH_NOTES, SOURCES, taken_apart
from .notes import Notes
from .recognise import Format
from .record import assemble, is_bare_year, year_of
from .source import Field, as_text, remember
from .tagged import LISTS

with needs("files"):
    from lxml import etree

ACCESSION, NUMBER, KIND = "accession-num", "rec-number", "ref-type"
DATABASES = ("remote-database-provider", "remote-database-name")
# What EndNote notes for itself: it says nothing of the record, and stays in its place.
OF_ENDNOTE = frozenset(("database", "source-app", "foreign-keys/key", KIND))

_DOCTYPE = re.compile(r"<!DOCTYPE", re.IGNORECASE)
_ELEMENT = re.compile(r"<[A-Za-z]")
_PUBMED = re.compile(r"\b(?:nlm|pubmed|medline)\b", re.IGNORECASE)
_KIND = re.compile(r'ref-type name="([^"]*)"')
_RECORD = re.compile(r"<record[\s>/]")
_RECORD_END = re.compile(r"</record\s*>")
_ENDS_LINE = re.compile(r"\s*\n")
_LEFT_OVER = re.compile(r"<(?!/?(?:xml|records)\b|[?!])")  # between records
_DECLARED = re.compile(r"\s*<\?xml[^>]*\?>")


def read_endnote_xml(text: str, path: Path, notes: Notes | None = None) -> list[dict[str, Any]]:
    """The records in `text`. Text in several styles is one text; a control character becomes a blank.

    The lines that Tamis wrote into the research notes become the record's hidden decision again.

    Where the XML is broken, each record is read for itself, and those that are broken are lost.

    Raises `InputError` where no record can be read, the file has a document type, or reading is strict and one is lost.
    """
    notes = notes or Notes(path, strict=True)
    first = _ELEMENT.search(text)
    if _DOCTYPE.search(text, 0, first.start() if first else len(text)):
        raise InputError(
            "a document type (<!DOCTYPE ...>), which EndNote does not write and which is not read; remove it", path=path
        )
    clean = without_controls(_DECLARED.sub("", text, count=1))
    line_break = "&#xD;" if "&#xD;" in text else "&#13;" if "&#13;" in text else "\n"
    records: list[dict[str, Any]] = []
    for element in _elements(clean, notes, lines_before=text.count("\n") - clean.count("\n")):
        if any(isinstance(own.tag, str) and own.tag.startswith("{") for own in element.xml.iter()):
            notes.lost("an element of another namespace: EndNote has none", element.line)
        else:
            records.append(_record(element.xml, line=element.line, number=element.number, line_break=line_break))
    if not records:
        raise notes.nothing_read("no record: EndNote writes them as <xml><records><record>")
    return records


@dataclass(frozen=True)
class _Found:
    """The element of a record, its line in the file and its number among the file's records."""

    xml: etree._Element
    line: int
    number: int


def _elements(text: str, notes: Notes, *, lines_before: int) -> Iterator[_Found]:
    try:
        root = _parsed(text)
    except etree.XMLSyntaxError as error:
        broken = error
    else:
        for number, element in enumerate(root.iter("record"), 1):
            yield _Found(element, lines_before + _line_of(element), number)
        return
    begins = [match.start() for match in _RECORD.finditer(text)]
    if not begins:
        notes.lost(f"the XML is broken: {broken.msg}", lines_before + (broken.lineno or 1))
        return
    line, number, read_to = lines_before + 1, 0, 0
    for begin, after in pairwise([*begins, len(text)]):
        number += _note_left_over(text[read_to:begin], notes, line)
        line += text.count("\n", read_to, begin)
        number += 1
        end = match.end() if (match := _RECORD_END.search(text, begin, after)) else after
        try:
            element = _parsed(text[begin:end])
        except etree.XMLSyntaxError as error:
            notes.lost(f"the XML is broken: {error.msg}", line - 1 + (error.lineno or 1))
        else:
            if len(element):
                element.tail = "\n" if _ENDS_LINE.match(text, end) else None
                yield _Found(element, line, number)
            else:
                notes.lost("the XML is broken: a record with nothing in it", line)
        line, read_to = line + text.count("\n", begin, end), end
    _note_left_over(text[read_to:], notes, line)


def _note_left_over(between: str, notes: Notes, line: int) -> int:
    """Note what stands between two records, where one of them has no beginning; how many do."""
    for number, text in enumerate(between.split("\n"), line):
        if _LEFT_OVER.search(text):
            notes.lost("a record without its beginning: no `<record>` stands before this", number)
            return 1
        if text.strip() and not text.lstrip().startswith("<"):
            notes.between(text, number, Format.ENDNOTE_XML)
    return 0


def _parsed(text: str) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, encoding="utf-8")
    return etree.fromstring(text.encode(), parser)


def _line_of(element: etree._Element) -> int:
    return element.sourceline if isinstance(element.sourceline, int) else 1


@dataclass
class _Element:
    """An element with a text, which may be in several styles."""

    name: str
    leaves: list[int]
    texts: list[str]

    @cached_property
    def text(self) -> str:
        return "".join(self.texts)


class _Reading:
    """One record in the making: which elements are still to be placed, and which key took a leaf's text."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self.leaves = [*leaves]
        self.key_of: dict[int, str] = {}
        self.fields: dict[str, Any] = {}
        self.decision: dict[str, Any] = {}
        self._take_decision()
        by_number: dict[int, _Element] = {}
        for at, leaf in enumerate(self.leaves):
            own = by_number.setdefault(leaf.of, _Element(leaf.element, [], []))
            own.leaves.append(at)
            own.texts.append(leaf.text)
        self.elements: dict[str, list[_Element]] = {}
        for element in by_number.values():
            self.elements.setdefault(element.name, []).append(element)

    def filled(self, *names: str) -> list[_Element]:
        """The elements of these names that have a text, in the order of the names."""
        return [one for name in names for one in self.elements.get(name, ()) if one.text.strip()]

    def first(self, name: str) -> str:
        return next((one.text.strip() for one in self.filled(name)), "")

    def take(self, key: str, element: _Element) -> None:
        """Let `key` stand for the element, which is placed now."""
        self.elements[element.name].remove(element)
        self.key_of.update(dict.fromkeys(element.leaves, key))

    def take_canonical(self, key: str, names: Sequence[str]) -> None:
        filled = self.filled(*names)
        if key == "year":
            filled.sort(key=lambda one: year_of(one.text.strip()) is None)
        if key in LISTS:
            parts = [
                part
                for one in filled
                for part in (one.text.split("\n") if key == "keywords" else [_one_line(one.text)])
            ]
            self.fields[key] = [part.strip() for part in parts if part.strip()]
            for one in filled:
                self.take(key, one)
        elif filled:
            text = filled[0].text.strip()
            self.fields[key] = text if key == "abstract" else _one_line(text)
            if key == "year" and (year := year_of(text)) is not None:
                self.fields[key] = year
            if key != "year" or year_of(text) is None or is_bare_year(text):
                self.take(key, filled[0])
            else:
                self.key_of.update(dict.fromkeys(filled[0].leaves, key))
            if key == "journal":
                for again in filled[1:]:
                    if again.text == filled[0].text:  # EndNote names the journal twice
                        self.take(key, again)
        elif empty := next((one for name in names for one in self.elements.get(name, ())), None):
            self.take(key, empty)

    def kept(self) -> dict[str, Any]:
        """Return the texts that no field took, under the names of their elements."""
        kept: dict[str, Any] = {}
        for name, elements in self.elements.items():
            if name in OF_ENDNOTE:
                continue
            if texts := [one.text for one in elements if one.text.strip()]:
                kept[f"endnote_{name}"] = texts
            for at in (at for one in elements for at in one.leaves):
                self.key_of.setdefault(at, f"_endnote_{name}")
        return kept

    def _take_decision(self) -> None:
        for at, leaf in enumerate(self.leaves):
            if leaf.element == RESEARCH_NOTES:
                notes = taken_apart(leaf.text)
                self.leaves[at] = replace(leaf, text=notes.text)
                self.decision = {**notes.decision, **self.decision}


def _record(element: etree._Element, *, line: int, number: int, line_break: str) -> dict[str, Any]:
    reading = _Reading(list(leaves_of(element)))
    for key, names in SOURCES.items():
        reading.take_canonical(key, names)
    fields = reading.fields
    if not fields.get("type"):
        named = _KIND.match(next((leaf.path for leaf in reading.leaves if leaf.element == KIND), ""))
        fields["type"] = html.unescape(named[1]) if named else reading.first(KIND)
    for note in reading.filled("notes"):
        if NCT_NOTE.holds(note.text) and "nct_id" not in fields:
            fields["nct_id"] = NCT_NOTE.value(note.text).strip()
            reading.take("nct_id", note)
    accession = next(iter(reading.filled(ACCESSION)), None)
    if accession and accession.text.strip().isdigit() and _PUBMED.search(" ".join(map(reading.first, DATABASES))):
        fields["pmid"] = accession.text.strip()
        reading.take("pmid", accession)
    own_number = ""
    if fields.keys().isdisjoint(("pmid", "nct_id")) and (numbers := reading.filled(ACCESSION, NUMBER)):
        own_number = numbers[0].text.strip()
        reading.take("id", numbers[0])
    kept = {**reading.kept(), **reading.decision}
    record = assemble(fields, kept, accession=own_number, line=line, number=number)
    source = [Field(leaf.path, leaf.text, reading.key_of.get(at)) for at, leaf in enumerate(reading.leaves)]
    source += [Field(RESEARCH_NOTES, as_text(value), key) for key, value in reading.decision.items()]
    layout: dict[str, Any] = {} if line_break == LINE_BREAK else {"break": line_break}
    if "\n" in (element.tail or ""):
        layout["lines"] = True
    return remember(record, Format.ENDNOTE_XML, source, layout)


def _one_line(text: str) -> str:
    return " ".join(text.split("\n")).strip()
