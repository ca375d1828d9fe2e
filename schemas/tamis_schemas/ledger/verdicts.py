"""The verdict of a value in SQL: compared where the value is stored."""

import json
from typing import Any

from sqlalchemy import ColumnElement, Text, case, cast, func, literal_column


def text_of(value: str | bool | None) -> str | None:
    """Return a value as `scalar_text` does; None if the operation decides nothing."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def scalar_text(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a JSON scalar without quotes: include, true, 0.7."""
    return column.op("#>>")(literal_column("'{}'"))


def is_value(column: ColumnElement[Any], value: str | bool | None) -> ColumnElement[bool]:
    """Return the condition that a column of JSON holds the value with which an operation includes, or excludes.

    A scalar is compared as written, without parsing, unless it has escapes or spaces.
    """
    text = text_of(value)
    if text is None:
        return scalar_text(column).is_(None)
    written = cast(column, Text)
    quoted = written.like('"%"') & (func.strpos(written, "\\") == 0)
    return case(
        (written.in_([text, json.dumps(text, ensure_ascii=False)]), True),
        (quoted, False),
        else_=scalar_text(column) == text,
    )
