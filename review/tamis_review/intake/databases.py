"""The database that a record says it comes from."""

from collections.abc import Iterable, Mapping
from typing import Any

from .column_mappings import mappings_for, plain_name
from .source import as_text

# Of the column or tag, without what readers put before it: of RIS and Ovid, of EndNote, of tables that people made.
NAMES = ("db", "remote-database-name", "database name", "database", "source database", "source file", "source")
LONGEST_NAME = 60  # characters; what is longer under such a name is a citation
_BEFORE = ("ris_", "nbib_", "endnote_")


def database_of(record: Mapping[str, Any]) -> str | None:
    """Return the database's name, as it is written; None where the record names none."""
    text_of: dict[str, str] = {}
    for key, value in record.items():
        if not key.startswith("_") or isinstance(value, Mapping):
            continue
        name = key.lstrip("_").casefold().replace("_", " ")
        for before in _BEFORE:
            name = name.removeprefix(before.replace("_", " "))
        if name in NAMES and 0 < len(text := as_text(value).strip()) <= LONGEST_NAME:
            text_of.setdefault(name, text)
    return next((text_of[name] for name in NAMES if name in text_of), None)


def database_of_table(columns: Iterable[str]) -> str | None:
    """Return the database that tables with such a header come from; None where they may come from anywhere."""
    return next((one.called for one in mappings_for({plain_name(name) for name in columns}) if one.called), None)
