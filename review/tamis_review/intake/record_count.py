"""The number of records and fields in a file, counted while the file is copied and before it is read.

The memory and time of reading go by records and fields, and not by bytes: a record of 27 bytes takes 1,100 in memory.
The counts are approximate. Text within a field may look like further fields, so the bounds leave room for it.
"""

import re
from pathlib import Path
from typing import IO

from tamis_schemas import InputError

from .recognise import Format, recognise

MOST_RECORDS = 250_000
MOST_FIELDS = 10_000_000  # 50 for each of 200,000 records; exports have 20 to 40
# On average: the abstracts of few tables have line breaks.
_LINES_OF_A_RECORD = {Format.DELIMITED: 4, Format.JSONL: 1}
PIECE = 65_536  # bytes, which are counted within a millisecond
# Archives and databases have no lines; their readers have bounds of their own.
BINARY = (b"PK\x03\x04", b"SQLite format 3")
# NUL, byte order marks and letters beyond ASCII would hide the beginning of a record. In UTF-16, ASCII remains.
_BEYOND = bytes([0, *range(0x80, 0x100)])
_RECORD = re.compile(rb"\n(?:TY {1,2}-|PMID|%0 |PT [A-Z])|@\w+\s*[{(]|<record[\s>]")
# A line is a field, unless it continues the line above. Braces and delimiters occur in texts too, so they count less.
_WEIGHTS = (
    {b"\n": 1.0, b"\n   ": -1.0}
    | dict.fromkeys((b"<", b"{", b"["), 0.5)
    | dict.fromkeys((b",", b";", b"\t", b"|"), 0.25)
)


class TooLarge(InputError):
    """A file has more records, fields or inflated bytes than can be read in bounded memory."""


def check_count(records: float, fields: float, path: Path | str) -> None:
    """Raise `TooLarge` if a file, or the files of one upload together, are beyond a bound."""
    for n, most, noun in ((records, MOST_RECORDS, "records"), (fields, MOST_FIELDS, "fields")):
        if n > most:
            raise TooLarge(f"more than {most:,} {noun}, the maximum: split the search", path=path)


class RecordCount:
    """The records and fields of the files of one upload so far."""

    def __init__(self) -> None:
        self._records = 0.0
        self._fields = 0.0

    def copy(self, source: IO[bytes], target: IO[bytes], path: Path | str) -> None:
        """Copy a file from `source` to `target` in pieces.

        Raises `TooLarge` at the bound, before the rest is copied. `path`: the file's name in the message.
        """
        form: Format | None = None
        while piece := source.read(PIECE):
            target.write(piece)
            if form is None and piece.startswith(BINARY):
                target.writelines(iter(lambda: source.read(PIECE), b""))
                return
            text = piece.translate(None, _BEYOND).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            form = form or recognise(text.decode("ascii"))
            lines_of = _LINES_OF_A_RECORD.get(form)
            self._records += text.count(b"\n") / lines_of if lines_of else len(_RECORD.findall(text))
            self._fields += sum(weight * text.count(sign) for sign, weight in _WEIGHTS.items())
            check_count(self._records, self._fields, path)
