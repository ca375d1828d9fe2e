"""The reader of BibTeX: `@article{key, title = {...}, ...}`.

`bibtexparser` splits a text into entries, and does not stop at an error. It treats text outside an entry as a comment,
and text after a value as a part of the value. This module examines such text, so that no record is lost without a note.

Canonical fields are decoded (`M{\\"u}ller` -> `Müller`). Other fields keep the text of the file.
"""

import logging
import re
from collections.abc import Sequence
from typing import Any

from tamis_schemas import InputError
from tamis_schemas.extras import needs

from .bibtex_values import Macros, Style, Value, value_of
from .bibtex_writing import KEY, SOURCES, TYPE, different
from .decision import DECISION_NAMES
from .latex import decode
from .notes import Notes
from .recognise import Format
from .record import assemble, is_bare_year, year_of
from .source import Field, remember

with needs("files"):
    from bibtexparser.exceptions import ParserStateException
    from bibtexparser.model import Block, Entry, ImplicitComment, ParsingFailedBlock, String
    from bibtexparser.splitter import Splitter

NO_ENTRIES = frozenset(("string", "preamble", "comment"))

_FIELD_OUTSIDE = re.compile(r"(?:^|[,{(])[ \t]*[A-Za-z][\w-]*[ \t]*=[ \t]*[{\"]", re.MULTILINE)
_ENTRY_OUTSIDE = re.compile(
    r"^[ \t]*(?:@[ \t]*(?!(?i:comment)\b)[A-Za-z]|\W?[A-Za-z]\w*[ \t]*\{[^\s,={}()]*,)", re.MULTILINE
)
# Some programs write no key: `@article{title = {...}`.
_WITHOUT_KEY = re.compile(r"^([ \t]*@(?!(?i:string|preamble|comment)\b)\w+\s*[{(])(?=\s*[A-Za-z][\w-]*\s*=)", re.M)
_COMMENT = re.compile(r"\s*(?:%(?!0 )|@[ \t]*(?i:comment)\b)")  # `%0 ` is EndNote's
_BEGIN = re.compile(r"\s*@(\w+)\s*[{(]\s*([^\s,={}()\"]*)")

# This module notes or raises the faults that bibtexparser would log.
logging.getLogger("bibtexparser.splitter").setLevel(logging.CRITICAL + 1)


_Named = tuple[str, Value]  # a field of an entry


def read_bibtex(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the records in `text`. The id is the citation key; a repeated key is numbered (`key`, `key-2`).

    `@string` names are replaced by their texts. A repeated field keeps both texts. A broken entry, or an entry with a
    part outside its braces, becomes no record but a note. `notes` collects these notes.

    Raises `InputError` if no entry can be read. With strict `notes`, any entry that becomes no record is an error too.
    """
    records: list[dict[str, Any]] = []
    macros = Macros()
    above: list[str] = []  # text before an entry: comments, a preamble
    taken: set[str] = set()
    begun = 0  # entries, including lost ones
    broken = False  # the previous entry is lost
    ended = 0  # last line of the previous entry
    for block in _blocks(text, notes):
        inner = block.ignore_error_block if isinstance(block, ParsingFailedBlock) else block
        if isinstance(inner, Entry):
            begun, ended = begun + 1, _line(block) + str(inner.raw).count("\n")
            fields = _fields(inner, macros, notes)
            broken = fields is None
            if fields is not None:
                records.append(_record(inner, fields, above, key=different(inner.key, taken), number=begun))
                above = []
        elif isinstance(inner, String):
            if not macros.define(inner.key, inner.value):
                notes.malformed("@string that is not a text, or is too long", _line(block))
        elif isinstance(block, ParsingFailedBlock):
            begun, broken = begun + _note_broken(block, notes), True
        else:
            if isinstance(block, ImplicitComment):
                follows = not broken and _line(block) - ended <= 1
                begun += _note_outside(block, notes, records if follows else [], broken=broken)
            above.append(str(block.raw))
    if not records:
        raise notes.nothing_read("no entry: no line begins with `@article{` or similar")
    if above:
        source = records[-1]["_source"]
        source["layout"] = {**source.get("layout", {}), "below": "\n\n".join(above)}
    return records


def _blocks(text: str, notes: Notes) -> Sequence[Block]:
    try:
        return list(Splitter(_WITHOUT_KEY.sub(r"\1,", re.sub(r"\r\n?", "\n", text))).split().blocks)
    except ParserStateException as error:
        raise InputError(f"this BibTeX cannot be read: {error.message}", path=notes.path) from error


def _line(block: Block) -> int:
    return (block.start_line or 0) + 1


def _note_broken(block: ParsingFailedBlock, notes: Notes) -> int:
    """Add a note on a broken block. Return the number of lost entries: 1 for an entry, 0 for `@string` and others."""
    begun = _BEGIN.match(str(block.raw))
    if begun and begun[1].lower() in NO_ENTRIES:
        notes.malformed(f"@{begun[1].lower()} without its end", _line(block))
        return 0
    reason = str(getattr(block.error, "abort_reason", block.error)).strip().rstrip(".")
    entry = f"the {begun[1]} {begun[2]!r}" if begun else "the entry"
    notes.lost(f"{entry} is broken: a brace, a quote or a comma is missing ({reason})", _line(block))
    return 1


def _note_outside(comment: ImplicitComment, notes: Notes, records: list[dict[str, Any]], *, broken: bool) -> int:
    """Add notes on entries, or parts of entries, in text that `bibtexparser` took for a comment.

    If a field comes first in the text, the previous entry ended too early, and is removed from `records`. `broken`:
    whether the previous entry is already lost. Return the number of lost entries that were not counted before.
    """
    raw = str(comment.raw)

    def line_at(end: int) -> int:
        return _line(comment) + raw.count("\n", 0, end)

    entries = list(_ENTRY_OUTSIDE.finditer(raw))
    field = None if broken else _FIELD_OUTSIDE.search(raw, 0, entries[0].start() if entries else len(raw))
    cut = records.pop() if field and records else None
    if field:
        entry = f"the entry {cut['id']!r}" if cut else "an entry"
        notes.lost(
            f"{entry} has a field outside of any entry: a brace is missing, or there is one too many before it",
            line_at(field.end()),
        )
    for begun in entries:
        notes.lost("an entry without `@` or braces, or with a brace too many before it", line_at(begun.end()))
    if not entries and not field and not broken:
        for at, line in enumerate(raw.split("\n")):
            if line.strip() and not _COMMENT.match(line):
                notes.between(line, _line(comment) + at, Format.BIBTEX)
    return len(entries) + (field is not None and cut is None)


def _record(entry: Entry, named: Sequence[_Named], above: Sequence[str], *, key: str, number: int) -> dict[str, Any]:
    values = [value for _, value in named]
    fields: dict[str, Any] = {"id": key} if key else {}
    served: dict[int, str] = {}  # position of a field in the entry -> the record's key with its value
    for name, candidates in SOURCES.items():
        held = [at for plain in candidates for at, (own_name, _) in enumerate(named) if own_name.lower() == plain]
        filled = [at for at in held if values[at].latex.strip("{} \t\n")]
        if name == "year":
            filled.sort(key=lambda at: year_of(decode(values[at].latex)) is None)
        for at in (filled or held)[:1]:
            fields[name] = value_of(name, values[at].latex)
            served[at] = name
    begun = _BEGIN.match(str(entry.raw))
    kind = begun[1] if begun else entry.entry_type
    type_key = None if fields.get("type") else "type"
    if type_key is not None:
        fields[type_key] = kind
        served = {at: key for at, key in served.items() if key != type_key}
    decision: dict[str, Any] = {}
    kept: dict[str, list[str]] = {}
    for at, (name, value) in enumerate(named):
        decision_key = DECISION_NAMES.get(name.lower())
        if decision_key is not None and decision_key not in decision and value.written:
            decision[decision_key] = value_of(decision_key, value.latex)
            served[at] = decision_key
        elif value.written and (at not in served or (served[at] == "year" and _says_more(decode(value.latex)))):
            kept.setdefault(f"bib_{name}", []).append(value.written)
    record = assemble(fields, {**kept, **decision}, line=_line(entry), number=number)
    source = [Field(TYPE, kind, type_key), Field(KEY, entry.key, "id" if entry.key else None)]
    source += [Field(name, value.written, served.get(at, f"_bib_{name}")) for at, (name, value) in enumerate(named)]
    return remember(record, Format.BIBTEX, source, _layout(named, above))


def _says_more(date: str) -> bool:
    return year_of(date) is not None and not is_bare_year(date)


def _fields(entry: Entry, macros: Macros, notes: Notes) -> list[_Named] | None:
    """Return the fields of an entry. If a field is broken, add a note and return None."""
    named: list[_Named] = []
    for field in entry.fields:
        value = macros.read(str(field.value))
        if value is None or not field.key:
            where = f" in the field {field.key!r}" if field.key else ""
            reason = f"the entry {entry.key!r} is broken{where}: a comma, a quote or a name is missing here"
            notes.lost(reason, (field.start_line or 0) + 1)
            return None
        named.append((field.key, value))
    return named


def _layout(named: Sequence[_Named], above: Sequence[str]) -> dict[str, Any]:
    """Return what the BibTeX writer needs to write an entry as it was.

    The result has the delimiters of fields, the `@string` names, and the text above the entry.
    """
    layout: dict[str, Any] = {
        "quotes": [name for name, value in named if value.style is Style.QUOTES],
        "bare": [name for name, value in named if value.style is Style.BARE],
        "strings": {name: text for _, value in named for name, text in value.names.items()},
        "unknown": sorted({name for _, value in named for name in value.unknown}),
        "above": "\n\n".join(above),
    }
    return {name: value for name, value in layout.items() if value}
