"""Labels: the column of a file that says which records a human included."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tamis_schemas import InputError

from .record import LINE

LABELS: Mapping[str, bool] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "y", "include", "included"), True),
    **dict.fromkeys(("0", "0.0", "false", "no", "n", "exclude", "excluded"), False),
}


def label_column(label: str, records: list[dict[str, Any]], path: Path) -> str:
    """Return the name of the label column in the records: `label`, or `label` after an underscore.

    Raises `InputError` if there is no such column.
    """
    names = {name for record in records for name in record}
    for name in (label, f"_{label}"):
        if name in names:
            return name
    extra = sorted(name.lstrip("_") for name in names if name.startswith("_") and name not in (LINE, "_source"))
    others = f"; columns besides a record's own fields: {', '.join(extra)}" if extra else ""
    raise InputError(f"no column {label!r} for the labels{others}", path=path)


def included_by(record: Mapping[str, Any], column: str, path: Path) -> bool | None:
    """Return whether a record's label is included, or None if the column is empty.

    Raises `InputError` if the value is not a label. `path`: the file, for the message.
    """
    label = str(record.get(column, "")).strip().lower()
    if not label:
        return None
    if label not in LABELS:
        raise InputError(
            f"{label!r} is not a label: 1 means included, 0 excluded",
            path=path,
            line=record.get(LINE),
            field=column.lstrip("_"),
        )
    return LABELS[label]
