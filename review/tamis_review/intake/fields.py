"""The fields of a record in a new file: the fields of the file that it came from, then added fields.

All fields have their current values.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .recognise import Format
from .record import own_id
from .source import EACH, Entry, Field, as_list, as_text, entries_of, is_blank, mark_of


@dataclass(frozen=True)
class FieldPlace:
    """Where a file format has a value: the name of the field, and the texts before and after the value."""

    name: str
    before: str = ""
    after: str = ""

    def holds(self, text: str) -> bool:
        """Return True if `text` has this prefix and suffix, with a value between them."""
        affixes = len(self.before) + len(self.after)
        return len(text) > affixes and text.startswith(self.before) and text.endswith(self.after)

    def value(self, text: str) -> str:
        """Return the value in a field's text: the text without prefix and suffix."""
        return text[len(self.before) : len(text) - len(self.after)]

    def field(self, key: str, value: object) -> Field:
        return Field(self.name, f"{self.before}{as_text(value)}{self.after}", key)


def best_places(sources: Mapping[str, Sequence[str]], *names: str, style: str = "") -> dict[str, FieldPlace]:
    """Return for each of `names` the first field in `sources[name]`, with `style` appended to the field's name."""
    return {name: FieldPlace(f"{sources[name][0]}{style}") for name in names}


def fields_of(
    record: Mapping[str, Any], form: Format, places: Mapping[str, FieldPlace], *, joined_by: str | None = None
) -> list[Field]:
    """Return the record's fields in the format `form`, in writing order.

    If the record's file has this format, the file's fields come first, with the record's current values. A removed
    value is an empty field. Then come the other values that `places` names, in the order of `places`. A list becomes
    one field for each element. With `joined_by`, the elements are joined in a single field.
    """
    entries = entries_of(record, form)
    keys = [_key(entry) for entry in entries]
    last = {key: at for at, key in enumerate(keys) if key is not None}
    changed = _changed(entries, record)
    numbered: dict[str, int] = {}  # key -> number of elements of its list that the entries so far refer to
    fields: list[Field] = []
    for at, (entry, key) in enumerate(zip(entries, keys, strict=True)):
        if key is None or key not in changed:
            fields += _resolved(entry, record, joined_by)
        elif changed[key] == at:
            fields += _as_it_is(str(entry[0]), key, record, joined_by)
        if key is None or key in changed:
            continue
        numbered[key] = max(numbered.get(key, 0), _end(entry))
        gained = record[key][numbered[key] :] if last[key] == at and numbered[key] else []
        if gained and joined_by is None:
            fields += [Field(str(entry[0]), as_text(element), key) for element in gained]
        elif gained:
            fields[-1] = replace(fields[-1], text=_joined([fields[-1].text, *gained], joined_by))
    for key, place in places.items():
        value = record.get(key) if key != "id" else None if entries else own_id(record)
        is_in_url = key == "doi" and "url" in last and as_text(record.get("url")).endswith(as_text(value))
        if key not in last and not is_blank(value) and not is_in_url:
            elements = value if isinstance(value, list) and joined_by is None else [_joined(value, joined_by)]
            fields += [place.field(key, element) for element in elements]
    return fields


def _changed(entries: Sequence[Entry], record: Mapping[str, Any]) -> dict[str, int]:
    """Return the keys of a record whose values have changed since reading, each with the index of its first entry.

    `entries`: what the reader stored about the fields of the file, in order.
    """
    marks: dict[str, str] = {}
    first: dict[str, int] = {}
    changed: set[str] = set()
    for at, entry in enumerate(entries):
        if (key := _key(entry)) is None:
            continue
        first.setdefault(key, at)
        match entry:
            case [_, _, [int(), int()] | str(), str(mark)]:
                if key not in marks:
                    marks[key] = mark_of(record.get(key))
                outdated = mark != marks[key]
            case [_, _, int(), *_]:
                outdated = not isinstance(record.get(key), list)
            case [_, _, [str(), str()]]:
                outdated = isinstance(record.get(key), list)
            case _:
                outdated = False
        if outdated:
            changed.add(key)
    return {key: first[key] for key in changed}


def _end(entry: Entry) -> int:
    """Return the end index of the list elements that an entry refers to, or 0 if it refers to no elements.

    `entry`: what the reader stored about a field of the file.
    """
    match entry:
        case [_, _, int(start), int(count), str()]:
            return start + count
        case [_, _, int(index), *_]:
            return index + 1
    return 0


def _resolved(entry: Entry, record: Mapping[str, Any], joined_by: str | None) -> Iterator[Field]:
    match entry:
        case [str(name)]:
            yield Field(name, "")
        case [str(name), None, str(text)]:
            yield Field(name, text)
        case [str(name), str(key)]:
            yield from _as_it_is(name, key, record, joined_by)
        case [str(name), str(key), str(separator)]:
            texts = [as_text(value) for value in as_list(record.get(key))]
            if separator == EACH and joined_by is None:
                yield from [Field(name, text, key) for text in texts]
            else:
                yield Field(name, (joined_by or "; " if separator == EACH else separator).join(texts), key)
        case [str(name), str(key), [str(before), str(after)]]:
            value = record.get(key)
            yield Field(name, "" if is_blank(value) else f"{before}{as_text(value)}{after}", key)
        case [str(name), str(key), int(start), int(count), str(separator)]:
            if texts := [as_text(value) for value in record[key][start : start + count]]:
                yield Field(name, separator.join(texts), key)
        case [str(name), str(key), int(index)] if index < len(record[key]):
            yield Field(name, as_text(record[key][index]), key)
        case [str(name), str(key), int(index), [str(before), str(after)]] if index < len(record[key]):
            yield Field(name, f"{before}{as_text(record[key][index])}{after}", key)
        case [str(name), str(key), [int(start), int(end)], str()]:
            yield Field(name, as_text(record[key])[start:end], key)
        case [str(name), str(key), str(text), str()]:
            yield Field(name, text, key)


def _as_it_is(name: str, key: str, record: Mapping[str, Any], joined_by: str | None) -> Iterator[Field]:
    value = record.get(key)
    if isinstance(value, list) and joined_by is None:
        yield from [Field(name, as_text(element), key) for element in value]
    else:
        yield Field(name, _joined(value, joined_by), key)


def _key(entry: Entry) -> str | None:
    return entry[1] if len(entry) > 1 and isinstance(entry[1], str) else None


def _joined(value: object, joined_by: str | None) -> str:
    return joined_by.join(map(as_text, value)) if isinstance(value, list) and joined_by else as_text(value)
