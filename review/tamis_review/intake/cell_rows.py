"""The rows of a delimited text, and how reading goes on behind one whose quotes do not match.

A quote that is never closed, or one that stands alone within a cell, spoils its row; where the row ends cannot be seen
any more. Reading goes on with the next line that begins a row of the header's width.
"""

import csv
import io
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from .notes import Notes

DELIMITERS = ",;\t|"
CELL_LIMIT = 16 * 2**20  # characters; csv's own limit is 131,072, less than the references of some exports
# What may be read again in search of whole rows: without a bound a text made of stray quotes would take its length
# squared. So many characters, a second or two of work, or so many times the length of the text.
READ_AGAIN = 200_000_000
TIMES_AGAIN = 8
csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))


@dataclass(frozen=True)
class CellRow:
    """The cells of one row."""

    line: int  # in which the row begins; quoted cells may run over several
    cells: list[str]


class CellRows(Iterator[CellRow]):
    """The rows of a text with this delimiter.

    A row whose quotes do not match is lost, which the notes say; those that are strict raise `InputError`. Once the
    `width` of the header is set, the row behind it is one of this width.
    """

    def __init__(self, text: str, delimiter: str, notes: Notes) -> None:
        self.width: int | None = None
        self._notes = notes
        self._delimiter = delimiter
        self._lines = _Lines(text)
        # strict: a stray quote would otherwise swallow rows without a word.
        self._reader = csv.reader(self._lines, delimiter=delimiter, strict=True)
        self._to_spare = max(READ_AGAIN, TIMES_AGAIN * len(text))

    def __next__(self) -> CellRow:
        line = self._lines.begin()
        try:
            return CellRow(line, next(self._reader))
        except csv.Error as error:
            reason = _quoting(error)
        whole = self._next_whole()
        if whole is not None:
            behind = f"the next whole row begins in line {whole.line}"
        elif self._to_spare > 0:
            behind = "no row behind it can be read"
        else:
            behind = "there are too many such quotes to find the next whole row, and nothing behind it is read"
        self._notes.lost(f"{reason}; {behind}", line)
        if whole is None:
            raise StopIteration
        return whole

    def swallowed(self) -> bool:
        """True where the lines behind the first of the last row are whole rows too: they are then read as such."""
        rows = csv.reader(self._lines.of_row[1:], delimiter=self._delimiter, strict=True)
        try:
            widths = {len(cells) for cells in rows if cells}
        except csv.Error:
            return False
        if widths != {self.width}:
            return False
        self._lines.turn_back()
        return True

    def _next_whole(self) -> CellRow | None:
        """Return the next row that begins behind the first line of the damaged one, or None."""
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
                return CellRow(line, cells)
        self._lines.drop()
        return None

    def _is_within_text(self) -> bool:
        """True where what stands behind the last row has another width: a line of text within a cell may have as many
        commas as the header, but hardly the next one too."""
        n_lines = len(self._lines.of_row)
        try:
            cells = next(filter(None, self._reader), None)
        except csv.Error:  # text seldom has a quote behind a comma: this is one more damaged row
            return False
        finally:
            self._to_spare -= self._lines.turn_back(keep=n_lines)
        return cells is not None and len(cells) != self.width


class _Lines(Iterator[str]):
    """The lines of a text, which can be read again from the second line of a row."""

    def __init__(self, text: str) -> None:
        self._number = 1  # of the line in which the row begins
        self._stream = io.StringIO(text, newline="")
        self._again: deque[str] = deque()
        self.of_row: list[str] = []  # the lines that were read of it

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._stream)
        self.of_row.append(line)
        return line

    def begin(self) -> int:
        """Let a row begin with the next line; return its number."""
        self._number += len(self.of_row)
        self.of_row.clear()
        return self._number

    def turn_back(self, *, keep: int = 1) -> int:
        """Let the lines of the row but the first be read again; return how many characters these are."""
        again = self.of_row[keep:]
        self._again.extendleft(reversed(again))
        del self.of_row[keep:]
        return sum(map(len, again))

    def drop(self) -> None:
        """Leave out the rest of the text."""
        self._again.clear()
        self._stream.seek(0, io.SEEK_END)


def _quoting(error: csv.Error) -> str:
    if "limit" in str(error) or "unexpected end" in str(error):
        return "a quote that opens in the row beginning here is never closed"
    return f"the quotes of the row beginning here do not match ({error}); a quote within a cell is written twice"
