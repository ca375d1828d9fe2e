"""CSV and its kin: a header row, then one record a row.

A file that comes back has its own columns, in their order and with the very texts of their cells, quotes around them
where it has them around all, its delimiter and line ends, and above the header what stood there. Not kept: rows without
a word, empty cells beyond the header, and quotes that were not needed and do not stand around every cell.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_schemas import InputError

from .columns import DECISION_COLUMNS, Columns, canonical_name, is_decision
from .decision import decision_value
from .delimited_writing import (
    DELIMITER_OF,
    DELIMITERS,
    LINE_END,
    QUOTING,
    SPLIT,
    quoted,
    special_in,
)
from .formula_guard import unguarded
from .notes import Notes
from .recognise import Format
from .record import assemble, hide, is_bare_year, year_of
from .source import Field, remember

HEADER_WITHIN = 10  # rows; Embase writes the search query above its header
CELL_LIMIT = 16 * 2**20  # characters; csv's own limit is 131,072, less than the references of some exports
LISTED = 30  # column names in a message
csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))


@dataclass(frozen=True)
class CellRow:
    """The cells of one row."""

    line: int  # in which the row begins; quoted cells may run over several
    cells: list[str]


@dataclass(frozen=True)
class _Header:
    row: CellRow
    columns: Columns


def read_delimited(text: str, path: Path, notes: Notes | None = None) -> list[dict[str, Any]]:
    """The records in `text`: comma, semicolon, tab or bar between cells, whichever makes a header of the header.

    The columns `tamis_decision` and its kin, as `write_csv` adds them, become the record's hidden decision again.

    Raises `InputError` naming the line, where there is no header with a title or an abstract, a column stands twice, a
    row is longer than the header, or a quote is never closed.
    """
    delimiter = _delimiter(text)
    rows = cell_rows(text, delimiter, path)
    header = _header(rows, path)
    form = Format.TSV if delimiter == "\t" else Format.DELIMITED
    layout: dict[str, Any] = {}
    records: list[dict[str, Any]] = []
    for row in rows:
        if any(cell.strip() for cell in row.cells):
            record, fields = _record(row, header, path, number=len(records) + 1)
            if not records:
                layout = _layout(text, delimiter, header, row, form)
            records.append(remember(record, form, fields, layout))
            layout.pop("above", None)  # it belongs to the file, not to each of its records
    if not records:
        raise InputError("a header, but no record below it", path=path)
    return records


def _delimiter(text: str) -> str:
    """The one by which a row near the top names most known columns; at a tie, the one that finds most cells."""

    def score(delimiter: str) -> tuple[int, int]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        best = (0, 0)
        try:
            for _, cells in zip(range(HEADER_WITHIN), reader, strict=False):
                named = sum(canonical_name(cell) is not None for cell in cells)
                best = max(best, (named, len(cells)))
        except csv.Error:  # a cell beyond all bounds: what was seen before it still counts
            pass
        return best

    return max(DELIMITERS, key=score)


def cell_rows(text: str, delimiter: str, path: Path) -> Iterator[CellRow]:
    """The rows of a text with this delimiter. Raises `InputError` with the line where the quotes do not match."""
    # strict: a stray quote would otherwise swallow rows without a word.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(_quoting(error), path=path, line=line) from error
        yield CellRow(line, cells)
        line = reader.line_num + 1


def _quoting(error: csv.Error) -> str:
    if "limit" in str(error) or "unexpected end" in str(error):
        return "a quote that opens in the row beginning here is never closed"
    return f"the quotes of the row beginning here do not match ({error}); a quote within a cell is written twice"


def _header(rows: Iterator[CellRow], path: Path) -> _Header:
    seen: list[CellRow] = []
    for _, row in zip(range(HEADER_WITHIN), rows, strict=False):
        columns = Columns([cell.strip() for cell in row.cells])
        # Above the header only what cannot be one: a single word like "Abstract" may stand in a preamble.
        if columns.has_content and (not seen or len(columns.known) > 1):
            if repeated := columns.repeated:
                raise InputError(f"the column {repeated!r} stands twice", path=path, line=row.line)
            return _Header(row, columns)
        if any(row.cells):
            seen.append(row)
    names = seen[0].cells if seen else []
    if any(len(name) > 80 or re.fullmatch(r"\d+", name.strip()) for name in names):
        wrong = "the first row looks like a record: put a header row above it that names the columns"
    else:
        wrong = "no column for a title or an abstract"
    listed = ", ".join(repr(name[:40]) for name in names[:LISTED])
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    raise InputError(f"{wrong}; columns found: {listed}{more}", path=path, line=seen[0].line if seen else None)


def _layout(text: str, delimiter: str, header: _Header, first: CellRow, form: Format) -> dict[str, Any]:
    """Return the style of the file, where it is not the ordinary one of its format."""
    starts = {row.line: _start_of(text, row.line) for row in (header.row, first)}
    line_end = match[0] if (match := LINE_END.search(text, starts[header.row.line])) else "\r\n"
    layout: dict[str, Any] = {}
    if delimiter != DELIMITER_OF[form]:
        layout["delimiter"] = delimiter
    if line_end != "\r\n":
        layout["line_end"] = line_end
    for what, row in (("names_quoted", header.row), ("cells_quoted", first)):
        ordinary = [cell for cell in row.cells if not special_in(delimiter).search(cell)]
        for style in QUOTING if any(ordinary) else ():
            if text.startswith(delimiter.join(quoted(cell, style) for cell in row.cells), starts[row.line]):
                layout[what] = style
                break
    if starts[header.row.line]:
        layout["above"] = text[: starts[header.row.line]]
    return layout


def _start_of(text: str, line: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = match.end() if (match := LINE_END.search(text, start)) else start
    return start


def _record(row: CellRow, header: _Header, path: Path, *, number: int) -> tuple[dict[str, Any], list[Field]]:
    columns = header.columns
    if any(cell.strip() for cell in row.cells[columns.width :]):
        raise InputError(
            f"a row of {len(row.cells)} cells under a header of {columns.width}: is a cell with the delimiter in "
            "it not in quotes?",
            path=path,
            line=row.line,
        )
    sorted_cells = columns.sort(row.cells)
    fields: dict[str, Any] = dict(sorted_cells.canonical)
    kept: dict[str, Any] = dict(sorted_cells.kept)
    if len(row.cells) < columns.width and not fields.keys() & {"title", "abstract"}:
        raise InputError(
            f"a row of {len(row.cells)} cells under a header of {columns.width}, with neither title nor abstract: "
            "is a line break within a cell not in quotes?",
            path=path,
            line=row.line,
        )
    for name, split in SPLIT.items():
        if name in fields:
            fields[name] = split(fields[name])
    if (year := year_of(text := fields.get("year", ""))) is not None:
        fields["year"] = year
        if not is_bare_year(text):
            kept[sorted_cells.column_of["year"]] = text
    for name in kept.keys() & DECISION_COLUMNS.keys():
        kept[name] = decision_value(DECISION_COLUMNS[name], unguarded(kept[name]))
    record = assemble(fields, kept, accession=sorted_cells.accession, line=row.line, number=number)
    # The hidden fields stand behind the canonical ones, in the order of `kept`, and the line behind them.
    hidden = dict(zip(kept, list(record)[-1 - len(kept) : -1], strict=True))
    source: list[Field] = []
    for at, name in enumerate(header.row.cells):
        cell = row.cells[at] if at < len(row.cells) else ""
        if at in sorted_cells.kept_at:
            key: str | None = hidden[sorted_cells.kept_at[at]]
        elif at == sorted_cells.accession_at:
            key = "id" if record["id"] == sorted_cells.accession else None
        elif at in sorted_cells.roles:
            key = sorted_cells.roles[at]
        else:
            key = free if (free := hide(columns.own_names[at])) not in record else None
        source.append(Field(name, unguarded(cell) if is_decision(name) else cell, key))
    return record, source
