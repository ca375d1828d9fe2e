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
# Of the largest file, for each field. Records with abstracts have at least as many; a field takes 800 in memory.
BYTES_OF_A_FIELD = 45
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


def check_records(n: float, path: Path | str) -> None:
    """Raise `TooLarge` if a file, or the files of one upload together, have too many records."""
    if n > MOST_RECORDS:
        raise TooLarge(f"more than {MOST_RECORDS:,} records, the maximum: split the search", path=path)


class RecordCount:
    """The records and fields of the files of one upload so far."""

    def __init__(self, max_bytes: int) -> None:
        """`max_bytes`: of the largest file; the bound of fields follows from it."""
        self._records = 0.0
        self._fields = 0.0
        self._most_fields = max_bytes // BYTES_OF_A_FIELD

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
            check_records(self._records, path)
            if self._fields > self._most_fields:
                most = f"{self._most_fields:,} fields, the maximum for this TAMIS_MAX_FILE_BYTES"
                raise TooLarge(f"more than {most}: split the search", path=path)
