"""BibTeX: `@article{key, title = {...}, ...}`, cut into entries by `bibtexparser`, their LaTeX decoded here.

`bibtexparser` does not stop at a fault: it takes what stands outside of an entry for a comment, and what follows a
value for a part of it. A record could so be lost without a word: everything it left aside is looked at here.

Canonical fields are decoded (`M{\\"u}ller` -> `Müller`), the others keep the text that they have in the file.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_schemas import InputError
from tamis_schemas.extras import needs

from .bibtex_values import Macros, Style, Value, value_of
from .bibtex_writing import DECISION_NAMES, KEY, TYPE
from .latex import decode
from .notes import Notes
from .recognise import Format
from .record import assemble, is_bare_year, year_of
from .source import Field, remember

with needs("files"):
    from bibtexparser.exceptions import ParserStateException
    from bibtexparser.model import (
        Block,
        DuplicateBlockKeyBlock,
        DuplicateFieldKeyBlock,
        Entry,
        ImplicitComment,
        ParsingFailedBlock,
        String,
    )
    from bibtexparser.splitter import Splitter

# Canonical name -> the fields that may hold it, best first. The others of them are kept under their own names.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "title": ("title",),
    "abstract": ("abstract",),
    "authors": ("author",),
    "year": ("year", "date"),
    "journal": ("journal", "journaltitle", "booktitle"),
    "keywords": ("keywords", "keyword", "author_keywords"),
    "type": ("type", "document_type"),  # "Review" says more than "article"
    "language": ("language", "langid"),
    "doi": ("doi",),
    "pmid": ("pmid",),
    "nct_id": ("nct_id",),
    "url": ("url",),
}

_FIELD_OUTSIDE = re.compile(r"(?:^|[,{(])[ \t]*[A-Za-z][\w-]*[ \t]*=[ \t]*[{\"]", re.MULTILINE)
_ENTRY_OUTSIDE = re.compile(r"^[ \t]*@[ \t]*[A-Za-z]", re.MULTILINE)
_BEGIN = re.compile(r"\s*@(\w+)\s*[{(]\s*([^\s,={}()\"]*)")

# What it complains of is raised here, as an error.
logging.getLogger("bibtexparser.splitter").setLevel(logging.CRITICAL + 1)


@dataclass(frozen=True)
class _Named:
    """A field of an entry."""

    name: str
    value: Value

    @property
    def plain(self) -> str:
        return self.name.lower()


def read_bibtex(text: str, path: Path, notes: Notes | None = None) -> list[dict[str, Any]]:
    """The records in `text`; the citation key is the id. `@string` names are replaced by what they stand for.

    Raises `InputError` naming line and key, where an entry is broken, a key or a field of one stands twice, or a part
    of an entry stands outside of any.
    """
    records: list[dict[str, Any]] = []
    macros = Macros()
    above: list[str] = []  # what stands before an entry: comments, a preamble
    for block in _blocks(text, path):
        entry = block
        if isinstance(block, DuplicateBlockKeyBlock) and not block.key and block.ignore_error_block:
            entry = block.ignore_error_block  # two entries without a key are two records
        if isinstance(entry, Entry):
            records.append(_record(entry, macros, above, path, number=len(records) + 1))
            above = []
        elif isinstance(block, String):
            if not macros.define(block.key, block.value):
                raise InputError(
                    f"the @string {block.key!r} is no text, or a far too long one", path=path, line=_line(block)
                )
        else:
            _refuse(block, path)
            above.append(str(block.raw))
    if not records:
        raise InputError("no entry: none of its lines begins with `@article{` or the like", path=path)
    if above:
        source = records[-1]["_source"]
        source["layout"] = {**source.get("layout", {}), "below": "\n\n".join(above)}
    return records


def _blocks(text: str, path: Path) -> Sequence[Block]:
    try:
        return list(Splitter(re.sub(r"\r\n?", "\n", text)).split().blocks)
    except ParserStateException as error:
        raise InputError(f"this BibTeX cannot be read: {error.message}", path=path) from error


def _line(block: Block) -> int:
    return (block.start_line or 0) + 1


def _refuse(block: Block, path: Path) -> None:
    """Raise where a block holds what should be a record, or a part of one."""
    raw, line = str(block.raw), _line(block)
    begun = _BEGIN.match(raw)
    entry = f"the {begun[1]} {begun[2]!r}" if begun else "the entry"
    match block:
        case DuplicateBlockKeyBlock():
            first = _line(block.previous_block)
            raise InputError(
                f"the key {block.key!r} stands twice, first in line {first}: rename one", path=path, line=line
            )
        case DuplicateFieldKeyBlock():
            name = sorted(block.duplicate_keys)[0]
            raise InputError(f"{entry} has this field twice: rename one", path=path, line=line, field=name)
        case ParsingFailedBlock():
            reason = str(getattr(block.error, "abort_reason", block.error)).strip().rstrip(".")
            raise InputError(
                f"{entry} is broken: a brace, a quote or a comma is missing ({reason})", path=path, line=line
            )
        case ImplicitComment():
            for sign, what in (
                (_ENTRY_OUTSIDE, "an entry without braces"),
                (_FIELD_OUTSIDE, "a field outside of any entry"),
            ):
                if match := sign.search(raw):
                    at = line + raw.count("\n", 0, match.end())
                    raise InputError(
                        f"{what}: a brace is missing, or one too many stands before it", path=path, line=at
                    )
        case _:
            pass


def _record(entry: Entry, macros: Macros, above: Sequence[str], path: Path, *, number: int) -> dict[str, Any]:
    named = _fields(entry, macros, path)
    by_name = {one.plain: one for one in named}
    fields: dict[str, Any] = {"id": entry.key} if entry.key else {}
    served: dict[str, str] = {}  # field -> the key of the record that took it
    for name, candidates in SOURCES.items():
        held = [by_name[one] for one in candidates if one in by_name]
        filled = [one for one in held if one.value.latex.strip("{} \t\n")]
        if name == "year":
            filled.sort(key=lambda one: year_of(decode(one.value.latex)) is None)
        for one in (filled or held)[:1]:
            fields[name] = value_of(name, one.value.latex)
            served[one.plain] = name
    begun = _BEGIN.match(str(entry.raw))
    kind = begun[1] if begun else entry.entry_type
    if not fields.get("type"):
        fields["type"] = kind
        served = {field: key for field, key in served.items() if key != "type"}
        type_key: str | None = "type"
    else:
        type_key = None
    kept: dict[str, Any] = {}
    for one in named:
        if one.plain in DECISION_NAMES and one.value.written:
            key = DECISION_NAMES[one.plain]
            kept[key] = value_of(key, one.value.latex)
            served[one.plain] = key
        elif one.value.written and (
            one.plain not in served or (served[one.plain] == "year" and _says_more(decode(one.value.latex)))
        ):
            kept[f"bib_{one.name}"] = one.value.written
    record = assemble(fields, kept, line=_line(entry), number=number)
    source = [Field(TYPE, kind, type_key), Field(KEY, entry.key, "id" if entry.key else None)]
    source += [Field(one.name, one.value.written, served.get(one.plain, f"_bib_{one.name}")) for one in named]
    return remember(record, Format.BIBTEX, source, _layout(named, above))


def _says_more(date: str) -> bool:
    return year_of(date) is not None and not is_bare_year(date)


def _fields(entry: Entry, macros: Macros, path: Path) -> list[_Named]:
    named: dict[str, _Named] = {}
    for one in entry.fields:
        line = (one.start_line or 0) + 1
        value = macros.read(str(one.value))
        if value is None or not one.key:
            raise InputError(
                f"the entry {entry.key!r} is broken: a comma, a quote or a name is missing here",
                path=path,
                line=line,
                field=one.key or None,
            )
        if one.key.lower() in named:
            raise InputError(f"the entry {entry.key!r} has this field twice", path=path, line=line, field=one.key)
        named[one.key.lower()] = _Named(one.key, value)
    return list(named.values())


def _layout(named: Sequence[_Named], above: Sequence[str]) -> dict[str, Any]:
    """Return the style of the entry, where it is not in braces, and the text before it."""
    layout: dict[str, Any] = {
        "quotes": [one.name for one in named if one.value.style is Style.QUOTES],
        "bare": [one.name for one in named if one.value.style is Style.BARE],
        "strings": {name: text for one in named for name, text in one.value.names.items()},
        "unknown": sorted({name for one in named for name in one.value.unknown}),
        "above": "\n\n".join(above),
    }
    return {name: value for name, value in layout.items() if value}
