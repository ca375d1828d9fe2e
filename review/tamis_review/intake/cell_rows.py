"""The rows of a delimited text, and the recovery after a row with unbalanced quotes.

First, the damaged row's first line is read again, so that only a quote beside a delimiter ends a cell. If the line now
has as many cells as the header, this line is the row. Otherwise the damaged row has no certain end. Reading continues
with the next line that begins a row as wide as the header.
"""

import csv
import io
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis_producer.results.formula_guard import unguarded
from tamis_schemas import InputError

from .notes import Notes

DELIMITERS = ",;\t|"
CELL_LIMIT = 16 * 2**20  # characters; csv's own limit of 131,072 is too small for the references of some exports
# Limits on rereading in search of whole rows; without a limit, the time for a text of stray quotes is quadratic. The
# larger limit counts: a number of characters (a second or two of work), or a multiple of the text's length.
READ_AGAIN = 200_000_000
TIMES_AGAIN = 8
csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))


@dataclass(frozen=True)
class CellRow:
    """The cells of one row of a table."""

    line: int  # number of the row's first line; quoted cells may span several lines
    cells: list[str]  # without the apostrophes of the formula guard


class CellRows(Iterator[CellRow]):
    """The rows of a text whose cells a delimiter separates.

    A row with unbalanced quotes is repaired, or lost with a note. With strict `notes`, a lost row raises `InputError`.
    Reading continues at the next row. If the caller has set `width`, this is the next row with `width` cells.
    """

    def __init__(self, text: str, delimiter: str, notes: Notes) -> None:
        self.width: int | None = None
        self._notes = notes
        self.delimiter = delimiter
        self._lines = _Lines(text)
        # strict: otherwise a stray quote swallows rows silently
        self._reader = csv.reader(self._lines, delimiter=delimiter, strict=True)
        self._to_spare = max(READ_AGAIN, TIMES_AGAIN * len(text))

    def __next__(self) -> CellRow:
        line = self._lines.begin()
        try:
            return CellRow(line, [*map(unguarded, next(self._reader))])
        except csv.Error as error:
            reason = _quoting(error)
        if self._to_spare > 0 and (cells := self._repaired()) is not None:
            return CellRow(line, cells)
        whole = self._next_whole()
        if whole is not None:
            behind = f"the next complete row begins in line {whole.line}"
        elif self._to_spare > 0:
            behind = "no row after it can be read"
        else:
            behind = "there are too many such quotes to find the next complete row, so no row after it is read"
        self._notes.lost(f"{reason}; {behind}", line)
        if whole is None:
            raise StopIteration
        return whole

    @property
    def written(self) -> str:
        """Return the text of the row that was read last."""
        return "".join(self._lines.of_row)

    def swallowed(self) -> bool:
        """Return whether the last row swallowed other rows, because a quote in its first line is never closed.

        This is so if each further line of the row is itself a whole row. These lines are then read again as rows.
        """
        rows = csv.reader(self._lines.of_row[1:], delimiter=self.delimiter, strict=True)
        try:
            widths = {len(cells) for cells in rows if cells}
        except csv.Error:
            return False
        if widths != {self.width}:
            return False
        self._lines.turn_back()
        return True

    def _repaired(self) -> list[str] | None:
        """Return the cells of the damaged row's first line, or None if the header has another number of cells.

        Only a quote beside a delimiter ends a cell; other quotes are part of the text.
        """
        sign = re.escape(self.delimiter)
        # A delimiter before a space belongs to the text of a cell.
        cell = re.compile(rf'(?:"((?:[^"]|"(?!{sign}|$))*)"|((?! )[^"{sign}]*))({sign}|$)')
        first, at, cells = self._lines.of_row[0].rstrip("\r\n"), 0, list[str]()
        while (match := cell.match(first, at)) is not None:
            cells.append(unguarded(match[2] if match[1] is None else match[1].replace('""', '"')))
            at = match.end()
            if not match[3]:
                break
        if match is None or len(cells) != self.width:
            return None
        self._to_spare -= self._lines.turn_back()
        return cells

    def _next_whole(self) -> CellRow | None:
        """Return the next whole row that begins after the damaged row's first line. Return None if there is none."""
        while self._to_spare > 0:
            self._to_spare -= self._lines.turn_back()
            line = self._lines.begin()
            try:
                cells = next(self._reader)
            except csv.Error:
                continue
            except StopIteration:
                return None
            if self.width is None or (len(cells) == self.width and not self._is_within_text()):
                return CellRow(line, [*map(unguarded, cells)])
        self._lines.drop()
        return None

    def _is_within_text(self) -> bool:
        """Return True if the row that was read last is probably a line of text within a cell.

        Such a line may have as many commas as the header, but the line after it rarely has the same number.
        """
        n_lines = len(self._lines.of_row)
        try:
            cells = next(filter(None, self._reader), None)
        except csv.Error:  # text seldom has a quote after a comma, so this is another damaged row
            return False
        finally:
            self._to_spare -= self._lines.turn_back(keep=n_lines)
        return cells is not None and len(cells) != self.width


def rows_of_table(text: str, path: Path, fit: Callable[[Sequence[str]], Any]) -> Iterator[CellRow]:
    """Yield the header row and the rows below it, without empty rows. Short rows are filled with empty cells.

    `fit`: returns how well a list of cells fits as a header, higher for better. It selects the delimiter.

    Raises `InputError` if there is no row, or a row is longer than the first.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(DELIMITERS, key=lambda delimiter: fit(first.split(delimiter)))
    width: int | None = None
    for row in CellRows(text, delimiter, Notes(path, strict=True)):
        if not any(cell.strip() for cell in row.cells):
            continue
        if width is None:
            width = len(row.cells)
        elif any(row.cells[width:]):
            raise InputError(
                f"the row has {len(row.cells)} cells, but the header has {width} columns", path=path, line=row.line
            )
        yield CellRow(row.line, [*row.cells[:width], *[""] * (width - len(row.cells))])
    if width is None:
        raise InputError("the file has no rows; the first row must name the columns", path=path)


class _Lines(Iterator[str]):
    """The lines of a text. A caller can read the lines of a row again, from the row's second line on."""

    def __init__(self, text: str) -> None:
        self._number = 1  # first line of the row
        self._stream = io.StringIO(text, newline="")
        self._again: deque[str] = deque()
        self.of_row: list[str] = []  # lines read of the row

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._stream)
        self.of_row.append(line)
        return line

    def begin(self) -> int:
        """Begin a row with the next line, and return this line's number."""
        self._number += len(self.of_row)
        self.of_row.clear()
        return self._number

    def turn_back(self, *, keep: int = 1) -> int:
        """Rewind to the line after the row's first `keep` lines. Return the number of characters to reread."""
        again = self.of_row[keep:]
        self._again.extendleft(reversed(again))
        del self.of_row[keep:]
        return sum(map(len, again))

    def drop(self) -> None:
        """Skip the rest of the text."""
        self._again.clear()
        self._stream.seek(0, io.SEEK_END)


def _quoting(error: csv.Error) -> str:
    if "limit" in str(error) or "unexpected end" in str(error):
        return "a quote that opens in the row beginning here is never closed"
    return f"the quotes of the row beginning here do not match ({error}); write a quote within a cell twice"
