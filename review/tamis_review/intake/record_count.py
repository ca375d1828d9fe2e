"""The number of records and fields in a file, counted while the file is copied and before it is read.

The memory and time of reading depend on records and fields, not on bytes: a record of 27 bytes takes 1,100 bytes in
memory. The counts are approximate. Text within a field may look like further fields, so the limits are generous.
"""

import re
from pathlib import Path
from typing import IO

from tamis_schemas import InputError

from .recognise import Format, recognise

MOST_RECORDS = 250_000
# A file may have one field for each 45 bytes of the largest file. Fields of records with abstracts are longer on
# average. A field takes 800 bytes in memory.
BYTES_OF_A_FIELD = 45
# Average lines of a record. The abstracts of few tables have line breaks.
_LINES_OF_A_RECORD = {Format.DELIMITED: 4, Format.JSONL: 1}
PIECE = 65_536  # bytes to copy at once; counting them takes less than a millisecond
# Archives and databases have no lines. Their readers have their own limits.
BINARY = (b"PK\x03\x04", b"SQLite format 3")
# Bytes to ignore: NUL, byte order marks and non-ASCII letters would hide the beginning of a record. The ASCII letters
# of UTF-16 remain.
_BEYOND = bytes([0, *range(0x80, 0x100)])
_RECORD = re.compile(rb"\n(?:TY {1,2}-|PMID|%0 |PT [A-Z])|@\w+\s*[{(]|<record[\s>]")
# A line counts as a field, unless it continues the line above. Braces and delimiters also occur in texts, so each
# counts as a part of a field.
_WEIGHTS = (
    {b"\n": 1.0, b"\n   ": -1.0}
    | dict.fromkeys((b"<", b"{", b"["), 0.5)
    | dict.fromkeys((b",", b";", b"\t", b"|"), 0.25)
)


class TooLarge(InputError):
    """A file has more records, fields or inflated bytes than can be read in bounded memory."""


def check_records(n: float, path: Path | str) -> None:
    """Raise `TooLarge` if `n`, the number of records of a file or of an upload, is more than the maximum."""
    if n > MOST_RECORDS:
        raise TooLarge(f"more than {MOST_RECORDS:,} records, the maximum: split the search", path=path)


class RecordCount:
    """A count of the records and fields in all files of one upload so far."""

    def __init__(self, max_bytes: int) -> None:
        """Start the count. `max_bytes`: the size of the largest allowed file, which sets the limit on fields."""
        self._records = 0.0
        self._fields = 0.0
        self._most_fields = max_bytes // BYTES_OF_A_FIELD

    def copy(self, source: IO[bytes], target: IO[bytes], path: Path | str) -> None:
        """Copy a file from `source` to `target` in pieces, and count its records and fields.

        Raises `TooLarge` as soon as a limit is exceeded, before the rest is copied. A binary file is copied without a
        count. `path`: the file's name in the message.
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
