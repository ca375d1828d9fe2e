"""The fields of a record as its file had them, stored in `_source`. From these, a writer writes the fields again.

`_source` is JSON: `{"format": "RIS", "fields": [...]}`, and `"layout"` if a format needs more. Each entry of `fields`
says where a field's text is:

| entry | the field's text is |
|---|---|
| `[name]` | empty |
| `[name, key]` | the value under `key` |
| `[name, key, 2]` | the third element of the list under `key` |
| `[name, key, "*"]` | one element of the list; the file has a field for each |
| `[name, key, "; "]` | the elements of the list, joined by `; ` |
| `[name, key, 2, 4, "; "]` | four elements of the list from the third on, joined by `; ` |
| `[name, key, ["doi:", ""]]` | the value with a prefix and a suffix; also `[name, key, 2, [..]]` |
| `[name, key, [0, 15], mark]` | a part of the value (characters 0 to 14) |
| `[name, key, text, mark]` | `text`, from which the value under `key` was made |
| `[name, null, text]` | `text`, which is not elsewhere in the record |

A `mark` is a short hash of the value when the file was read. If the value has changed since then, the writer writes the
current value.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .recognise import Format

SOURCE = "_source"
EACH = "*"
SEPARATORS = ("\n", "; ", ";", ", ", ",", " | ", "|", " and ", "\r\n", "\r")

Entry = list[Any]


@dataclass(frozen=True)
class Field:
    """A field of a file. `key`: the name of the record's field that has this text, or None."""

    name: str
    text: str
    key: str | None = None


def remember(
    record: dict[str, Any], form: Format, fields: Iterable[Field], layout: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Store the fields of a file in the record that was made from them, under `_source`. Return the record.

    Args:
        record: the record.
        form: the format of the file.
        fields: the fields in the file's order.
        layout: facts about the file that the format's writer needs.
    """
    record[SOURCE] = {"format": form.value, "fields": _in_runs(_References(record).entries(list(fields)), record)}
    if layout:
        record[SOURCE]["layout"] = dict(layout)
    return record


def source_format(record: Mapping[str, Any]) -> Format | None:
    """Return the format of the record's file, or None if the record does not come from a file."""
    source = record.get(SOURCE)
    try:
        return Format(source["format"]) if isinstance(source, Mapping) else None
    except (KeyError, TypeError, ValueError):
        return None


def entries_of(record: Mapping[str, Any], form: Format) -> list[Entry]:
    """Return what the reader stored about the fields of the record's file: a list `[name, ...]` for each field.

    Return [] if the record's file does not have the format `form`.
    """
    entries = record[SOURCE].get("fields") if source_format(record) is form else None
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, list) and entry and isinstance(entry[0], str)]


def layout_of(record: Mapping[str, Any], form: Format) -> Mapping[str, Any]:
    """Return the layout (facts for the format's writer) that the reader stored in the record.

    Return {} if the record's file does not have the format `form`.
    """
    layout = record[SOURCE].get("layout") if source_format(record) is form else None
    return layout if isinstance(layout, Mapping) else {}


def as_text(value: object) -> str:
    """Return a record's value as the text of a field. Semicolons separate the elements of a list."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return "; ".join(map(as_text, value))
    return json.dumps(value, ensure_ascii=False)


def is_blank(value: object) -> bool:
    """Return True if a field's value is empty: None, "" or []."""
    return value is None or value == "" or value == []


def as_list(value: object) -> list[Any]:
    """Return a list unchanged, [] for a blank value, and a list with the value for any other value."""
    return value if isinstance(value, list) else [] if is_blank(value) else [value]


def mark_of(value: object) -> str:
    """Return a short hash (eight characters) that changes if the value changes."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


class _References:
    """A search that finds where a record has the text of each field of its file. Fields are in the file's order."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._record = record
        self._taken: dict[str, int] = {}  # key -> elements, or characters, used by previous fields
        self._marks: dict[str, str] = {}

    def entries(self, fields: Sequence[Field]) -> list[Entry]:
        entries = [self._entry(field) for field in fields]
        # Entries refer to elements of a list by number only if they cover the whole list. So the writer recognises
        # elements that are added later.
        for at, (entry, field) in enumerate(zip(entries, fields, strict=True)):
            match entry:
                case [name, str(key), int(), *_] if self._taken[key] < len(self._record[key]):
                    entries[at] = [name, key, field.text, self._mark(key)]
        return entries

    def _entry(self, field: Field) -> Entry:
        name, text, key = field.name, field.text, field.key
        value = self._record.get(key) if key is not None else None
        if value is None or key is None:
            return [name, None, text] if text else [name] if key is None else [name, key]
        if isinstance(value, list):
            return self._in_list(name, text, key, value)
        whole = as_text(value)
        if whole == text:
            return [name, key]
        before, part, after = text.partition(whole) if whole else (text, "", "")
        if part:
            return [name, key, [before, after]]
        start = whole.find(text, self._taken.get(key, 0)) if text else -1
        if start >= 0:
            self._taken[key] = end = start + len(text)
            return [name, key, [start, end], self._mark(key)]
        return [name, key, text, self._mark(key)]

    def _in_list(self, name: str, text: str, key: str, values: list[Any]) -> Entry:
        at = self._taken.get(key, 0)
        element = as_text(values[at]) if at < len(values) else ""
        before, part, after = text.partition(element) if element else (text, "", "")
        if not part:
            return [name, key, text, self._mark(key)]
        if not before and not after:
            self._taken[key] = at + 1
            return [name, key, at]
        for separator in SEPARATORS if not before else ():
            count = text.count(separator) + 1 if after.startswith(separator) else 1
            if 1 < count <= len(values) - at and separator.join(map(as_text, values[at : at + count])) == text:
                self._taken[key] = at + count
                return [name, key, separator] if count == len(values) else [name, key, at, count, separator]
        if len(values) == 1 or not (before.strip() or after.strip()):
            self._taken[key] = at + 1
            return [name, key, at, [before, after]]
        return [name, key, text, self._mark(key)]

    def _mark(self, key: str) -> str:
        if key not in self._marks:
            self._marks[key] = mark_of(self._record[key])
        return self._marks[key]


def _in_runs(entries: list[Entry], record: Mapping[str, Any]) -> list[Entry]:
    """Return the entries, with a single `[name, key, "*"]` for consecutive fields that cover a whole list.

    Such fields have the entries `[name, key, 0]`, `[name, key, 1]` and so on.
    """
    shortened: list[Entry] = []
    at = 0
    while at < len(entries):
        match entries[at]:
            case [name, str(key), 0] if (count := len(record[key])) and entries[at : at + count] == [
                [name, key, index] for index in range(count)
            ]:
                shortened.append([name, key, EACH])
                at += count
            case entry:
                shortened.append(entry)
                at += 1
    return shortened
