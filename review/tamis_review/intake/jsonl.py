"""The reader and the writer of JSONL: one JSON object a line. A record keeps the names of the object's members.

A JSON array of objects is read in the same way, and written as JSONL.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NoReturn, TextIO

from tamis_producer.files.decode import LINE_END

from . import csl
from .decision import CONFIDENCE, DECISION_FIELDS, DECISION_NAMES, decision_value
from .notes import Notes
from .recognise import Format
from .record import LINE, own_id, with_id_and_line
from .source import SOURCE, layout_of, remember

NAMES = "names"  # the names of the object's members in order; [name, name in the record] if the two differ
EMPTY_ID = "empty_id"  # the blank id that the object had
RESERVED = frozenset((LINE, SOURCE, *DECISION_FIELDS))

_ARRAY = re.compile(r'\s*\[[ \t\r]*((?:\n[ \t]*)?\{\s*"[^"]*"\s*:)?')  # group: indent and first name of an object
_TO_ELEMENT = re.compile(r"[\s,\[\]]*(?=[^\s,\[\]])")
_HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")


def read_jsonl(text: str, notes: Notes) -> list[dict[str, Any]]:
    """Return the objects in `text`: in its lines, or in an array. Blank lines are skipped.

    The names that `write_jsonl` adds (`tamis_decision` and others) become the record's decision, which no model is
    shown. Names with a special meaning in Tamis (`_line`, `_source`, `_tamis_decision` ...) get another underscore in
    front.

    A line or array element without an object is lost, with a note. So is the end of an array that is cut off.

    Raises `InputError` if every line is lost. With strict `notes`, any lost line raises `InputError`.
    """
    records: list[dict[str, Any]] = []
    for line, content in _contents(text, notes):
        if content.strip():
            try:
                content_object = _object(content)
            except _NoObject as error:
                notes.lost(str(error), line)
                continue
            in_csl = csl.keys_of(content_object) if csl.is_csl(content_object) else {}
            key_of = _keys(content_object, in_csl)
            record = {key_of[name]: value for name, value in content_object.items()}
            if isinstance(confidence := record.get(CONFIDENCE), str):
                record[CONFIDENCE] = decision_value(CONFIDENCE, confidence)
            record = csl.with_canonical(record, notes, line) if in_csl else record
            record = with_id_and_line(record, line=line, number=len(records) + 1)
            layout: dict[str, Any] = {NAMES: [name if name == key else [name, key] for name, key in key_of.items()]}
            if "id" in content_object and record["id"] != content_object["id"]:
                layout[EMPTY_ID] = content_object["id"]
            records.append(remember(record, Format.JSONL, (), layout))
    if not records:
        raise notes.nothing_read("no object: the array is empty")
    return records


def write_jsonl(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write each record as one JSON object a line: its fields under their original names, and its decision.

    The decision has the names `tamis_decision` and others. Records of other formats also keep the fields that no model
    is shown. An id that Tamis made, the line, and `_source` are not written. A number keeps its value, but may get
    another spelling (`1e2` becomes `100.0`).
    """
    for record in records:
        members = dict(_members(record))
        written = json.dumps(members, ensure_ascii=False, allow_nan=False)
        if _HALF_OF_A_PAIR.search(written):  # not valid in UTF-8; JSON can escape it
            written = json.dumps(members)
        stream.write(written + "\n")


def _members(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    layout = layout_of(record, Format.JSONL)
    names: dict[str, str] = {}  # the name in the record -> the name in the object
    listing = layout.get(NAMES)
    for listed in listing if isinstance(listing, list) else ():
        match listed:
            case str():
                names[listed] = listed
            case [str(written_name), str(key)]:
                names[key] = written_name
    for key, name in names.items():
        if key == "id" and EMPTY_ID in layout and own_id(record) is None:
            yield name, layout[EMPTY_ID]
        elif key in record:
            yield name, record[key]
    for key, value in record.items():
        if key in names or key in (LINE, SOURCE) or (key == "id" and own_id(record) is None):
            continue
        yield key.removeprefix("_") if key in DECISION_FIELDS else key, value


def _contents(text: str, notes: Notes) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, or each element of an array with the number of its first line.

    A damaged array element ends before the next object that begins with the same name as the array's first object. An
    array without an end gets a note.
    """
    if (array := _ARRAY.match(text)) is None:
        yield from enumerate(LINE_END.split(text), 1)
        return
    begin, end, line, decoder, head = 0, 0, 1, json.JSONDecoder(), array[1]
    while gap := _TO_ELEMENT.match(text, end):
        line += len(LINE_END.findall(text, begin, gap.end()))
        begin = gap.end()
        try:
            _, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):  # the caller notes why
            end = text.find(head, begin + 1) if head else -1
            if end < 0:
                yield line, text[begin:]
                return
        yield line, text[begin:end]
    if "]" not in text[end:]:
        notes.lost("the array has no end: the file is cut off", line + len(LINE_END.findall(text, begin)))


def _keys(names: Collection[str], renamed: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping from each name in a JSON object to the name in the record.

    `renamed`: names that have other names in the record. Names with a special meaning in Tamis get an underscore in
    front.
    """
    taken = {*names} | RESERVED
    key_of: dict[str, str] = {}
    for name in names:
        key = DECISION_NAMES.get(name, renamed.get(name, name))
        if name in RESERVED:
            while key in taken:
                key = f"_{key}"
            taken.add(key)
        key_of[name] = key
    return key_of


class _NoObject(Exception):
    """The error for a line that is not a JSON object. The message is the reason."""


def _object(content: str) -> dict[str, Any]:
    try:
        value = json.loads(content, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        hint = "; an object must begin and end in one line" if content.strip() == "{" else ""
        raise _NoObject(f"not JSON: {error.msg} (column {error.colno}){hint}") from error
    except (ValueError, RecursionError) as error:
        raise _NoObject(f"JSON that cannot be stored: {error}") from error
    if not isinstance(value, dict):
        raise _NoObject(f"a JSON {_KINDS.get(type(value), 'null')} instead of an object ({{...}})")
    return value


_KINDS = {list: "array", str: "string", int: "number", float: "number", bool: "boolean"}


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")  # the ledger could not store it


def _finite(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise ValueError(f"{digits[:20]} is too large for a number")
    return number


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {repeated!r} occurs twice in one object")
    return members
