"""The memory that a record has of its file's fields: `_source`, from which a writer makes them again.

`_source` is JSON: `{"format": "RIS", "fields": [...]}`, and `"layout"` where a format needs more. It holds no text that
stands elsewhere in the record. Each of its fields says where its text stands:

| entry | the field's text is |
|---|---|
| `[name]` | empty |
| `[name, key]` | the value under `key` |
| `[name, key, 2]` | the third element of the list under `key` |
| `[name, key, "*"]` | one field for each element of the list |
| `[name, key, "; "]` | the elements of the list, joined by this |
| `[name, key, 2, 4, "; "]` | four elements of the list from the third on, joined by this |
| `[name, key, ["doi:", ""]]` | the value with something before and after it; also `[name, key, 2, [..]]` |
| `[name, key, [0, 15], mark]` | a part of the value (characters 0 to 14) |
| `[name, key, text, mark]` | `text`, from which the value under `key` was made |
| `[name, null, text]` | `text`, which stands nowhere else |

A `mark` identifies the value that was read; a value that has been changed since is written as it is now.
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
    """One field as it stands in a file; `key` is the record's field that took its text."""

    name: str
    text: str
    key: str | None = None


def remember(
    record: dict[str, Any], form: Format, fields: Iterable[Field], layout: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The record, which from now on knows the fields of its file, in their order; `layout` is the format's own."""
    entries = _References(record).entries(list(fields))
    record[SOURCE] = {"format": form.value, "fields": _in_runs(entries, record)}
    if layout:
        record[SOURCE]["layout"] = dict(layout)
    return record


def source_format(record: Mapping[str, Any]) -> Format | None:
    """The format of the file from which the record was read, where it was read from one."""
    source = record.get(SOURCE)
    try:
        return Format(source["format"]) if isinstance(source, Mapping) else None
    except (KeyError, TypeError, ValueError):
        return None


def entries_of(record: Mapping[str, Any], form: Format) -> list[Entry]:
    """The record's entries, where it comes from a file of this format; else none."""
    entries = record[SOURCE].get("fields") if source_format(record) is form else None
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, list) and entry and isinstance(entry[0], str)]


def layout_of(record: Mapping[str, Any], form: Format) -> Mapping[str, Any]:
    """Return the reader's notes besides the fields; empty where the record has another source."""
    layout = record[SOURCE].get("layout") if source_format(record) is form else None
    return layout if isinstance(layout, Mapping) else {}


def as_text(value: object) -> str:
    """A value as a field's text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return "; ".join(map(as_text, value))
    return json.dumps(value, ensure_ascii=False)


def is_blank(value: object) -> bool:
    """True for a field that says nothing."""
    return value is None or value == "" or value == []


def mark_of(value: object) -> str:
    """Eight characters that tell this value from another."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


class _References:
    """Finds where in a record the text of a field stands. The fields come in the file's order, once."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._record = record
        self._taken: dict[str, int] = {}  # key -> elements, or characters, that fields before took
        self._marks: dict[str, str] = {}

    def entries(self, fields: Sequence[Field]) -> list[Entry]:
        entries = [self._entry(field) for field in fields]
        # Who names elements of a list by their number names all of them: what comes after the last was then gained.
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
    """The same, with `[name, key, "*"]` for fields that follow each other and are all of a list."""
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
