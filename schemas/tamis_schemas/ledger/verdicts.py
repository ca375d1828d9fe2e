"""The verdict of a value in SQL: what its operation says of it, compared where the value is kept."""

import json
from typing import Any

from sqlalchemy import ColumnElement, Text, case, cast, func, literal_column


def text_of(value: str | bool | None) -> str | None:
    """A value as `scalar_text` gives it; None of an operation that decides nothing."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def scalar_text(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A JSON scalar without quotes: include, true, 0.7."""
    return column.op("#>>")(literal_column("'{}'"))


def is_value(column: ColumnElement[Any], value: str | bool | None) -> ColumnElement[bool]:
    """True where a column of JSON holds the value with which an operation includes, or excludes.

    A scalar is compared as it is written, which needs no parsing: only a value with escapes or spaces is parsed.
    """
    told = text_of(value)
    if told is None:
        return scalar_text(column).is_(None)
    written = cast(column, Text)
    quoted = written.like('"%"') & (func.strpos(written, "\\") == 0)
    return case(
        (written.in_([told, json.dumps(told, ensure_ascii=False)]), True),
        (quoted, False),
        else_=scalar_text(column) == told,
    )
