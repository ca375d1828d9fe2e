"""The comparison of stored JSON values with an operation's values, in SQL."""

import json
from typing import Any

from sqlalchemy import ColumnElement, Text, case, cast, func, literal_column

from ..operations.kind import OperationKind


def text_of(value: str | bool | None) -> str | None:
    """Return an operation's value in the text form of a JSON scalar without quotes, as in Postgres: include, true.

    None stays None: the operation decides nothing.
    """
    return value if value is None or isinstance(value, str) else json.dumps(value)


def verdict_columns(kind: type[OperationKind]) -> dict[str, str | None]:
    """Return the values for the columns `includes`, `excludes` and `excluded_because` of the table `batches`.

    SQL views compare results with these columns to know which results are decisions.
    """
    words = {"includes": text_of(kind.includes), "excludes": text_of(kind.excludes)}
    return words | {"excluded_because": kind.excluded_because}


def scalar_text(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the SQL expression for a JSON scalar without quotes: include, true, 0.7."""
    return column.op("#>>")(literal_column("'{}'"))


def is_value(column: ColumnElement[Any], value: str | bool | None) -> ColumnElement[bool]:
    """Return the SQL condition that a JSON column equals `value`, an operation's value for inclusion or exclusion."""
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
