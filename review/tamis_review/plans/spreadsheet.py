"""Tables that people fill in: CSV from spreadsheets, with the line of every row."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from tamis_producer.files.decode import read_text
from tamis_schemas import InputError

from ..intake.cell_rows import rows_of_table


@dataclass(frozen=True)
class TableRow:
    """A row of a table: the cells by column name, without surrounding white space."""

    line: int
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")


def read_table(path: Path | str, columns: Collection[str], required: Collection[str]) -> list[TableRow]:
    """Return the rows of a table, in any encoding and with any delimiter that spreadsheets write.

    Columns are matched by name, in upper or lower case. Other columns, and empty rows, are ignored.

    Raises `InputError` if the file is not a table, a required column is missing or repeated, or a row is longer than
    the header. The message names the line.
    """
    path = Path(path)
    text = read_text(path)
    rows = rows_of_table(text, path, lambda cells: len({cell.strip().lower() for cell in cells} & set(columns)))
    top = next(rows)
    names = _header(top.cells, columns, required, path, top.line)
    return [
        TableRow(row.line, {name: cell.strip() for name, cell in zip(names, row.cells, strict=False)}) for row in rows
    ]


def _header(cells: list[str], columns: Collection[str], required: Collection[str], path: Path, line: int) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    for name in columns:
        if names.count(name) > 1:
            raise InputError(f"the column {name!r} occurs twice", path=path, line=line)
    if missing := [name for name in required if name not in names]:
        there = ", ".join(name for name in names if name) or "none"
        raise InputError(f"no column {missing[0]!r}; there are: {there}", path=path, line=line)
    return names


def reviewer_of(row: TableRow, path: Path | str, usual: str | None) -> str:
    """Return the reviewer named in a row, or `usual` if the row names none. Raise `InputError` if both are empty."""
    name = row["reviewer"] or usual
    if not name:
        raise InputError(
            "who decided? Fill in the column, say --reviewer NAME, or set TAMIS_REVIEWER",
            path=path,
            line=row.line,
            field="reviewer",
        )
    return name
