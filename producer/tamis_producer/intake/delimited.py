"""CSV and its kin: a header row, then one record a row."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_schemas import InputError

from .columns import Columns, canonical_name
from .record import assemble, is_bare_year, split_authors, split_keywords, year_of

DELIMITERS = ",;\t|"
HEADER_WITHIN = 10  # rows; Embase writes the search query above its header
CELL_LIMIT = 16 * 2**20  # characters; csv's own limit is 131,072, less than the references of some exports
LISTED = 30  # column names in a message

csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))


@dataclass(frozen=True)
class _Row:
    line: int  # in which the row begins; quoted cells may run over several
    cells: list[str]


def read_delimited(text: str, path: Path) -> list[dict[str, Any]]:
    """The records in `text`: comma, semicolon, tab or bar between cells, whichever makes a header of the header.

    Raises:
        InputError: naming the line, where there is no header with a title or an abstract, a column stands twice, a
            row is longer than the header, or a quote is never closed.
    """
    delimiter = _delimiter(text)
    rows = _rows(text, delimiter, path)
    columns = _header(rows, path)
    records: list[dict[str, Any]] = []
    for row in rows:
        if any(cell.strip() for cell in row.cells):
            records.append(_record(row, columns, path, number=len(records) + 1))
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
                known = sum(canonical_name(cell) is not None for cell in cells)
                best = max(best, (known, len(cells)))
        except csv.Error:  # a cell beyond all bounds: what was seen before it still counts
            pass
        return best

    return max(DELIMITERS, key=score)


def _rows(text: str, delimiter: str, path: Path) -> Iterator[_Row]:
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
        yield _Row(line, cells)
        line = reader.line_num + 1


def _quoting(error: csv.Error) -> str:
    if "limit" in str(error) or "unexpected end" in str(error):
        return "a quote that opens in the row beginning here is never closed"
    return f"the quotes of the row beginning here do not match ({error}); a quote within a cell is written twice"


def _header(rows: Iterator[_Row], path: Path) -> Columns:
    seen: list[_Row] = []
    for _, row in zip(range(HEADER_WITHIN), rows, strict=False):
        columns = Columns([cell.strip() for cell in row.cells])
        # Above the header only what cannot be one: a single word like "Abstract" may stand in a preamble.
        if columns.has_content and (not seen or len(columns.known) > 1):
            if repeated := columns.repeated:
                raise InputError(f"the column {repeated!r} stands twice", path=path, line=row.line)
            return columns
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


def _record(row: _Row, columns: Columns, path: Path, *, number: int) -> dict[str, Any]:
    if any(cell.strip() for cell in row.cells[columns.width :]):
        raise InputError(
            f"a row of {len(row.cells)} cells under a header of {columns.width}: is a cell with the delimiter in "
            "it not in quotes?",
            path=path,
            line=row.line,
        )
    sorted_cells = columns.sort(row.cells)
    fields: dict[str, Any] = dict(sorted_cells.canonical)
    kept = dict(sorted_cells.kept)
    if len(row.cells) < columns.width and not fields.keys() & {"title", "abstract"}:
        raise InputError(
            f"a row of {len(row.cells)} cells under a header of {columns.width}, with neither title nor abstract: "
            "is a line break within a cell not in quotes?",
            path=path,
            line=row.line,
        )
    if "authors" in fields:
        fields["authors"] = split_authors(fields["authors"])
    if "keywords" in fields:
        fields["keywords"] = split_keywords(fields["keywords"])
    if (year := year_of(text := fields.get("year", ""))) is not None:
        fields["year"] = year
        if not is_bare_year(text):
            kept[sorted_cells.column_of["year"]] = text
    return assemble(fields, kept, accession=sorted_cells.accession, line=row.line, number=number)
