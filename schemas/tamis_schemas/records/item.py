"""An item: one record as a dict, and how it is identified."""

import json
from collections.abc import Mapping
from typing import Any

Item = Mapping[str, Any]  # any JSON value under any name; see `resolve_item_id` for the names that identify

ID_FIELDS = ("id", "pmid", "nct_id")
UNKNOWN_ID = "unknown"


def resolve_item_id(item: Item) -> str:
    """The item's id: the first of `id`, `pmid`, `nct_id` that is set, else `"unknown"`.

    Source: spec 1, "Item ID Resolution". `None` and the empty string count as not set; 0 is an id.
    """
    for field in ID_FIELDS:
        value = item.get(field)
        if value is not None and value != "":
            return str(value)
    return UNKNOWN_ID


def shown_fields(item: Item) -> dict[str, Any]:
    """The fields that a model is shown, in the item's order, without empty ones.

    Not shown: `id` (it identifies, it says nothing), names that begin with an underscore (kept with the item: labels,
    notes, columns that no reader knows), and values that are None, blank or an empty container. 0 and False are values.
    """
    return {
        name: value for name, value in item.items() if name != "id" and not name.startswith("_") and not _blank(value)
    }


def shown_text(value: object) -> str:
    """A field's value as people and models read it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _blank(value: object) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, list | tuple | dict | set) and not value


def one_line(text: str) -> str:
    """The text with every run of white space, line and paragraph separators among it, as one space."""
    return " ".join(text.split())


def shown_value(value: Any) -> str:
    """A field's value on one line: lists of texts joined by commas, other values as JSON."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return ", ".join(one_line(part) for part in value)
    return one_line(json.dumps(value, ensure_ascii=False))
