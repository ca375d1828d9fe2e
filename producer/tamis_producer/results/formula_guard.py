"""The formula guard, which keeps spreadsheets from reading a text in one of Tamis's tables as a formula."""

import csv
from collections.abc import Iterable
from typing import TextIO

# First characters of a formula; such a cell gets an apostrophe in front. The last four are the first four as typed on
# Japanese keyboards.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class GuardedTable:
    """A CSV table on a stream.

    Lines end with CR LF, as in RFC 4180. So the writer also quotes a cell that contains a carriage return.
    """

    def __init__(self, stream: TextIO) -> None:
        self._writer = csv.writer(stream)

    def write(self, cells: Iterable[object]) -> None:
        """Write a row; None is an empty cell."""
        self._writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in cells])


def guarded(text: str) -> str:
    """Return the text, with an apostrophe in front if it looks like a formula. `unguarded` removes the apostrophe."""
    return f"'{text}" if _looks_like_a_formula(text) else text


def unguarded(text: str) -> str:
    """Return the text without the apostrophe that `guarded` added."""
    return text[1:] if text.startswith("'") and _looks_like_a_formula(text) else text


def _looks_like_a_formula(text: str) -> bool:
    return text.lstrip("'").startswith(FORMULA_STARTS)  # guarded texts too, so that they survive both ways
