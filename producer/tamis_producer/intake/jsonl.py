"""JSONL: one JSON object a line, under the names it has."""

import json
import re
from pathlib import Path
from typing import Any, NoReturn

from tamis_schemas import InputError

from .record import with_id_and_line


def read_jsonl(text: str, path: Path) -> list[dict[str, Any]]:
    """The objects in `text`; blank lines are skipped. Raises `InputError` naming the first line that is none."""
    records: list[dict[str, Any]] = []
    for line, content in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        if content.strip():
            own = _object(content, path, line)
            records.append(with_id_and_line(own, line=line, number=len(records) + 1))
    return records


def _object(content: str, path: Path, line: int) -> dict[str, Any]:
    try:
        value = json.loads(content, parse_constant=_refuse, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        hint = "; an object must begin and end in one line" if content.strip() == "{" else ""
        raise InputError(f"not JSON: {error.msg} (column {error.colno}){hint}", path=path, line=line) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON that can be kept: {error}", path=path, line=line) from error
    if not isinstance(value, dict):
        raise InputError(
            f"a JSON {_KINDS.get(type(value), 'null')}, where an object ({{...}}) is expected", path=path, line=line
        )
    return value


_KINDS = {list: "array", str: "string", int: "number", float: "number", bool: "boolean"}


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")  # the ledger could not store it


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {repeated!r} stands twice in one object")
    return found
