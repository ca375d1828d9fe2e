"""The BibTeX writer. An entry has its original fields in order, then the fields added to the record."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, TextIO

from .bibtex_values import Macros, Style, latex_of, value_of, written
from .decision import DECISION_NAMES
from .fields import FieldPlace, fields_of
from .recognise import Format
from .record_type import kind_of
from .source import Field, layout_of, source_format

# The names of an entry's type and key among its fields; no field of a file can have such a name.
TYPE, KEY = "@", "@key"
# Canonical name -> the BibTeX fields that may have its value, best first. Other fields keep their own names.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "authors": ("author",),
    "title": ("title",),
    "journal": ("journal", "journaltitle", "booktitle"),
    "year": ("year", "date"),
    "abstract": ("abstract",),
    "keywords": ("keywords", "keyword", "author_keywords"),
    "language": ("language", "langid"),
    "doi": ("doi",),
    "pmid": ("pmid",),
    "nct_id": ("nct_id",),
    "url": ("url",),
    "type": ("type", "document_type"),  # "Review" is more specific than "article"
}
# The fields for values that the file of a record lacks, and for records from other formats, in this order.
PLACES: Mapping[str, FieldPlace] = {
    **{name: FieldPlace(fields[0]) for name, fields in SOURCES.items() if name != "type"},
    **{key: FieldPlace(name) for name, key in DECISION_NAMES.items()},
}
# The types of works that appear in a book, not in a journal.
BOOK_TITLE = frozenset(("incollection", "inproceedings"))

_TYPE = re.compile(r"(?!(?:comment|string|preamble)\Z)[A-Za-z]\w*", re.IGNORECASE)
_NOT_IN_A_KEY = re.compile(r"[\s,{}=\"#%~\\'@]+")
_BREAKS_A_KEY = re.compile(r"(?:[\n,{}=\"@]|\\(?=[\n,{}=\"@]|\Z))+")  # characters that no key may contain
_NOT_IN_A_NAME = re.compile(r"[\s\"#%'(),={}@\\]+")


def write_bibtex(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write a BibTeX entry for each record. Unchanged fields of a record from BibTeX keep their text.

    Records from another format get the canonical fields. Used `@string` names, comments and a preamble are kept, but
    not white space between fields. Keys are made unique, and characters that a key or a field's name cannot contain
    become `_`. In names, keywords and one-line fields a line break becomes a space. In keywords a semicolon becomes a
    comma.
    """
    taken: set[str] = set()
    strings: dict[str, str] = {}
    layout: Mapping[str, Any] = {}
    for record in records:
        layout = layout_of(record, Format.BIBTEX)
        if isinstance(above := layout.get("above"), str):
            stream.write(f"{above}\n\n")
        used = layout.get("strings")
        for name, text in used.items() if isinstance(used, Mapping) else ():
            if name.lower() not in strings:
                strings[name.lower()] = text
                stream.write(f"@string{{{name} = {written(text, Style.BRACES)}}}\n\n")
        stream.write(_entry(record, strings, taken))
    if isinstance(below := layout.get("below"), str):
        stream.write(f"{below}\n")


def _entry(record: Mapping[str, Any], strings: Mapping[str, str], taken: set[str]) -> str:
    fields = fields_of(record, Format.BIBTEX, PLACES)
    own_text = {field.name: field.text for field in fields if field.name in (TYPE, KEY)}
    entry_type = own_text.get(TYPE, "")
    if not _TYPE.fullmatch(entry_type):
        entry_type = kind_of(record.get("type")).bibtex
    lines: list[str] = []
    named = [field for field in fields if field.name not in (TYPE, KEY)]
    for (own_name, key), same in groupby(named, lambda field: (field.name, field.key)):
        name = _NOT_IN_A_NAME.sub("_", own_name)
        if key == "journal" and source_format(record) is not Format.BIBTEX and entry_type in BOOK_TITLE:
            name = "booktitle"
        # A list under a canonical key becomes one field. A field that the file repeated is repeated again.
        is_kept = key is None or key.startswith("_bib_")
        for values in [[value] for value in same] if is_kept else [list(same)]:
            lines.append(f"  {name} = {_value(values, record, strings)},\n")
    stated = record.get("type")
    if isinstance(stated, str) and stated != entry_type and not any(field.key == "type" for field in fields):
        lines.insert(0, f"  type = {written(latex_of('type', stated), Style.BRACES)},\n")
    if KEY in own_text:
        own_key = _BREAKS_A_KEY.sub("_", own_text[KEY]).strip()
    else:
        own_key = _NOT_IN_A_KEY.sub("_", str(record.get("id", "")))
    return f"@{entry_type}{{{different(own_key, taken)},\n{''.join(lines)}}}\n\n"


def _value(same: Sequence[Field], record: Mapping[str, Any], strings: Mapping[str, str]) -> str:
    """Return a field's text with its delimiters: as in the file if the value is unchanged, otherwise new LaTeX."""
    name, text, key = same[0].name, same[0].text, same[0].key
    layout = layout_of(record, Format.BIBTEX)
    is_bare, is_quoted = (
        isinstance(names := layout.get(style), list) and name in names for style in ("bare", "quotes")
    )
    macros = layout.get("strings")
    value = Macros(dict(macros) if isinstance(macros, Mapping) else {}).read(text) if is_bare else None
    latex = value.latex if value is not None else text
    if key is not None and key in record and not key.startswith("_bib_"):
        stands = source_format(record) is Format.BIBTEX and len(same) == 1
        if not stands or value_of(key, latex) != record[key]:
            return written(latex_of(key, record[key]), Style.BRACES)
    if value is not None and value.style is Style.BARE:
        unchanged = all(strings.get(name.lower()) == text_of_name for name, text_of_name in value.names.items())
        if unchanged and value.unknown <= set(layout.get("unknown", ())):
            return text
    return written(latex, Style.QUOTES if is_quoted else Style.BRACES)


def different(key: str, taken: set[str]) -> str:
    """Return the key, or the key with a number if `taken` has it (`key-2`), and add the result to `taken`.

    An empty key stays empty, and may repeat.
    """
    free_key, number = key, 1
    while free_key and free_key in taken:
        number += 1
        free_key = f"{key}-{number}"
    taken.add(free_key)
    return free_key
