"""CSV and TSV, written: one table for all records, whatever table or format they come from.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula. What a model wrote is put behind an
apostrophe there, which the reader takes away again; the cells of a team's own table come back as they are.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TextIO

from tamis_producer.results.formula_guard import guarded

from .column_mapping import ColumnMapping
from .columns import DECISION_COLUMNS, Columns, canonical_name, is_decision
from .decision import BESIDE
from .details import PREFIXES
from .fields import FieldPlace, fields_of
from .recognise import Format
from .record import CANONICAL, split_authors, split_keywords
from .source import as_text, entries_of, layout_of, mark_of, source_format

DELIMITERS = ",;\t|"
LINE_END = re.compile(r"\r\n|\r|\n")
QUOTING = ("all", "filled")  # besides quotes where they are needed: around every cell, or every one that is not empty
SEPARATOR = "; "
MADE = "made"  # canonical name -> mark of the value, where it was made of cells that say more and stay as they are
DELIMITER_OF = {Format.DELIMITED: ",", Format.TSV: "\t"}
# Where what the record has gained is written, and all of a record that comes from elsewhere.
PLACES: Mapping[str, FieldPlace] = {
    **{name: FieldPlace(name) for name in CANONICAL},
    **{key: FieldPlace(column) for column, key in DECISION_COLUMNS.items()},
}
SPLIT: Mapping[str, Callable[[str], list[str]]] = {"authors": split_authors, "keywords": split_keywords}


def write_csv(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write a table with commas, or with the delimiter of the records' own table where it is no tab.

    One that was read from a table (CSV or TSV) keeps its columns; what it has gained since gets columns behind them,
    the decision last. One from elsewhere has the canonical names as columns, then any other that is not hidden. Lists
    are separated by semicolons; a semicolon within a name or a keyword becomes a comma. White space around a value is
    not read back.
    """
    _write(records, stream, Format.DELIMITED)


def write_tsv(records: Iterable[Mapping[str, Any]], stream: TextIO) -> None:
    """Write a table with tabs between the cells; else as `write_csv`."""
    _write(records, stream, Format.TSV)


def quoted(cell: str, style: object = "all") -> str:
    """The cell between quotes, if it gets them in this style."""
    if style not in QUOTING or (style == "filled" and not cell):
        return cell
    return '"' + cell.replace('"', '""') + '"'


def special_in(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of the characters for which a cell needs quotes."""
    return re.compile(rf'["\r\n{re.escape(delimiter)}]')


@dataclass(frozen=True)
class _Column:
    """Names that differ in case alone are one: they could not be told apart when read back."""

    name: str = field(compare=False)
    plain: str
    nth: int = 0  # of the columns of one table that have this name, or none

    @classmethod
    def called(cls, name: str, nth: int = 0) -> "_Column":
        return cls(name, _plain(name), nth)


def _plain(name: str) -> str:
    return name.strip().casefold()


def _write(records: Iterable[Mapping[str, Any]], stream: TextIO, form: Format) -> None:
    layout = next((own for record in records if (own := layout_of(record, form))), {})
    delimiter, line_end = layout.get("delimiter"), layout.get("line_end")
    if not isinstance(delimiter, str) or delimiter not in [*DELIMITERS]:
        delimiter = DELIMITER_OF[form]
    if not isinstance(line_end, str) or not LINE_END.fullmatch(line_end):
        line_end = "\r\n"
    rows_end = layout.get("rows_end")  # where it differs from the header's
    if not isinstance(rows_end, str) or not LINE_END.fullmatch(rows_end):
        rows_end = line_end
    special = special_in(delimiter)

    def row(cells: Sequence[str], style: object, end: str) -> str:
        written = [quoted(cell) if special.search(cell) else quoted(cell, style) for cell in cells]
        # A row of one empty cell would be an empty line.
        return end + (delimiter.join(written) or '""')

    columns = _columns(records)
    above = next((layout_of(record, form).get("above") for record in records), None)
    if isinstance(above, str):
        stream.write(above)
    stream.write(row([column.name for column in columns], layout.get("names_quoted"), ""))
    end = line_end
    for record in records:
        cells = _cells(record)
        stream.write(row([cells.get(column, "") for column in columns], layout.get("cells_quoted"), end))
        end = rows_end
    if layout.get("last_line_ends") is not False:
        stream.write(end)


def _columns(records: Iterable[Mapping[str, Any]]) -> list[_Column]:
    """Return the columns: those of the records' tables, then those gained, then the decision unless a table has it."""
    of_tables: dict[_Column, None] = {}
    gained: dict[_Column, None] = {}
    for record in records:
        own = {entry[0] for entry in entries_of(record, _table_of(record))}
        for column in _cells(record):
            (of_tables if column.name in own else gained)[column] = None
    gained = {column: None for column in gained if column not in of_tables}
    places = {place.name: at for at, place in enumerate(PLACES.values())}
    if any(is_decision(column.name) for column in (*of_tables, *gained)):
        always = [name for name, key in DECISION_COLUMNS.items() if key not in BESIDE]
        gained |= {column: None for name in always if (column := _Column.called(name)) not in of_tables}
    columns = [
        *of_tables,
        *sorted(gained, key=lambda column: (is_decision(column.name), places.get(column.name, len(places)))),
    ]
    if not any(canonical_name(column.name) in ("title", "abstract") for column in columns):
        columns.insert(0, _Column.called("title"))  # without one of them it is no table of records
    return columns


def _table_of(record: Mapping[str, Any]) -> Format:
    form = source_format(record)
    return form if form in DELIMITER_OF else Format.DELIMITED


def _cells(record: Mapping[str, Any]) -> dict[_Column, str]:
    form = _table_of(record)
    entries = entries_of(record, form)
    cells: dict[_Column, str] = {}
    column_of: dict[str, _Column] = {}  # canonical name -> the column that holds it
    own = Counter([_plain(entry[0]) for entry in entries])
    seen: dict[str, int] = {}
    for one in fields_of(record, form, _places(record, form), joined_by=SEPARATOR):
        if one.key in SPLIT and one.key in column_of:  # one more element of a list has no column of its own
            cells[column_of[one.key]] += SEPARATOR + one.text
            continue
        # What is gained goes into the column of this name, whose cell may have been blank; columns of one table that
        # have one name, or none, are told apart by their order.
        plain = _plain(one.name)
        column = _Column(one.name, plain, nth if (nth := seen.get(plain, 0)) < own[plain] else 0)
        seen[plain] = nth + 1
        cells[column] = guarded(one.text) if is_decision(one.name) else one.text
        if one.key is not None and one.key in CANONICAL:
            column_of[one.key] = column
    mapping = _columns_named(tuple(column.name for column in cells)).mapping_of([*cells.values()])
    for key, column in column_of.items():
        cells[column] = _readable(cells[column], key, record.get(key), mapping)
    if source_format(record) is not form:
        for name, value in record.items():
            if name not in PLACES and (not name.startswith("_") or name.startswith(PREFIXES)):
                name, text = name.removeprefix("_"), as_text(value)
                cells.setdefault(_Column.called(name), guarded(text) if is_decision(name) else text)
    if not any(cell.strip() for cell in cells.values()):  # a row without a word would be no record
        cells[_Column.called("id")] = as_text(record.get("id")).strip() or "record"
    return cells


@lru_cache(maxsize=64)  # a file's records have one header
def _columns_named(names: tuple[str, ...]) -> Columns:
    return Columns(names)


def _readable(cell: str, key: str, value: object, mapping: ColumnMapping | None) -> str:
    """The cell, or one in which the reader finds this value."""
    read = SPLIT.get(key) if mapping is None else mapping.values.get(key, SPLIT.get(key))
    if value is None or value == [] or read is None or read(cell) == value:
        return cell
    if mapping is not None and key in mapping.written:
        return mapping.written[key](value)
    if isinstance(value, list):
        return SEPARATOR.join(as_text(element).replace(";", ",") for element in value) + ";"
    return cell


def _places(record: Mapping[str, Any], form: Format) -> Mapping[str, FieldPlace]:
    """Return the places but for what was made of cells that are there, and is still the same."""
    made = layout_of(record, form).get(MADE)
    if not isinstance(made, Mapping):
        return PLACES
    same = {key for key, mark in made.items() if key in record and mark_of(record[key]) == mark}
    return {key: place for key, place in PLACES.items() if key not in same}
