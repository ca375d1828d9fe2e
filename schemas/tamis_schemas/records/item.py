"""An item: one record as a dict, and its id."""

import json
from collections.abc import Mapping
from typing import Any

Item = Mapping[str, Any]  # any JSON value under any name; `resolve_item_id` lists the names for ids

ID_FIELDS = ("id", "pmid", "nct_id")
UNKNOWN_ID = "unknown"


def resolve_item_id(item: Item) -> str:
    """Return the item's id: the first of `id`, `pmid`, `nct_id` that is set, else `"unknown"`.

    `None` and the empty string count as not set; 0 is an id.
    """
    for field in ID_FIELDS:
        value = item.get(field)
        if value is not None and value != "":
            return str(value)
    return UNKNOWN_ID


def shown_fields(item: Item) -> dict[str, Any]:
    """Return the fields that a model sees, in the item's order.

    The result omits `id`, names that begin with an underscore (labels, notes, unknown columns), and values that are
    None, blank or an empty container. 0 and False are kept.
    """
    return {
        name: value for name, value in item.items() if name != "id" and not name.startswith("_") and not _blank(value)
    }


def shown_text(value: object) -> str:
    """Return a field's value for people and models: text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _blank(value: object) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, list | tuple | dict | set) and not value


def one_line(text: str) -> str:
    """Return the text on one line: a space for every run of white space, line and paragraph separators included."""
    return " ".join(text.split())


def shown_value(value: Any) -> str:
    """Return a field's value on one line: lists of texts joined by commas, other values as JSON."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return ", ".join(one_line(part) for part in value)
    return one_line(json.dumps(value, ensure_ascii=False))
