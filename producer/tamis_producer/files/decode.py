"""Bytes to text, whatever program wrote them, without losing a character.

Databases export UTF-8, Windows programs UTF-16 or cp1252, and files that passed through several hands are UTF-8
with single cp1252 bytes in between. The last kind is why strict decoding is not enough: one stray byte among 500
records must cost neither the file nor the record.
"""

import codecs
import hashlib
import os
import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from tamis_schemas import InputError
from tamis_schemas.extras import needs

# A file is read as a whole, and takes several times its size in memory until its records are made.
MAX_FILE_BYTES = 500_000_000
WRITTEN_BYTES = 5_000_000  # of criteria, plans, schemas, guidelines and prices

# Longer marks first: the mark of UTF-32 (LE) begins with that of UTF-16 (LE).
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
BINARY_BEGINNINGS = (
    (b"%PDF", "a PDF"),
    (b"\xd0\xcf\x11\xe0", "an old Office document (.xls, .doc)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"SQLite format 3", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"{\\rtf", "an RTF document"),
)
# Above this share of bytes beyond ASCII a text is not in a Latin script with accents here and there.
LATIN_SHARE = 0.1
WITHOUT_CHARACTER = b"\x81\x8d\x8f\x90\x9d"  # in cp1252
# What `surrogateescape` makes of a stray byte -> the character it has in cp1252. Five bytes have none there; they
# become the control character of the same number, as in every browser.
STRAY_BYTES = {
    0xDC00 + byte: bytes([byte]).decode("cp1252" if byte not in WITHOUT_CHARACTER else "latin-1")
    for byte in range(0x80, 0x100)
}


_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\ufffe\uffff]")
LINE_END = re.compile(r"\r\n|\r|\n")
# Of the bytes at one place of each pair, in UTF-16 without its mark, at least this share are NUL: blanks, digits,
# line ends and the tags of every format are ASCII, whatever the language.
ASCII_SHARE = 0.2


@dataclass(frozen=True)
class Replaced:
    """A byte that was not valid where it stood."""

    line: int  # counted from 1
    at: int  # its character's place in the text, counted from 0
    byte: int
    character: str  # what it was read as


@dataclass(frozen=True)
class Decoded:
    """A text, and how it was got."""

    text: str  # line ends as they stand, byte order mark removed
    encoding: str
    replaced: tuple[Replaced, ...]
    sha256: str  # of the bytes


def read_text(path: Path | str) -> str:
    """The text of a file that a person writes, of 5 MB at most; else as `read_decoded`."""
    return read_decoded(path, max_bytes=WRITTEN_BYTES).text


def read_decoded(path: Path | str, *, max_bytes: int = MAX_FILE_BYTES) -> Decoded:
    """The text of a file, and how it was got. No more than `max_bytes` are ever read.

    Raises `InputError` where there is no such file, it may not be read, is empty, too large, or is no text.
    """
    try:
        with Path(path).open("rb") as file:
            raw = file.read(max_bytes + 1) if os.fstat(file.fileno()).st_size <= max_bytes else None
    except FileNotFoundError as error:
        raise InputError("there is no such file", path=path) from error
    except IsADirectoryError as error:
        raise InputError("this is a directory; name one file in it", path=path) from error
    except PermissionError as error:
        raise InputError("the file may not be read: its permissions forbid it", path=path) from error
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror or error}", path=path) from error
    if raw is None or len(raw) > max_bytes:  # a pipe says no size beforehand
        remedy = "" if max_bytes == WRITTEN_BYTES else " (TAMIS_MAX_FILE_BYTES): split it, or raise the setting"
        raise InputError(f"the file has more than {max_bytes:,} bytes, the most that is read{remedy}", path=path)
    if kind := _binary_kind(raw):
        raise InputError(f"this is {kind}, not a text file; export or save it as text first", path=path)
    try:
        decoded = decode(raw)
    except UnicodeDecodeError as error:
        raise InputError(
            f"the file begins with the mark of {error.encoding} but does not go on in it (byte {error.start}): "
            "is it cut off?",
            path=path,
        ) from error
    text = decoded.text
    if not text.strip("\ufeff \t\r\n\f\v"):
        raise InputError("the file is empty", path=path)
    if (at := text.find("\0")) >= 0:
        raise InputError(
            "a NUL byte: the file is damaged, or is UTF-16 without its mark; save it as UTF-8",
            path=path,
            line=len(LINE_END.findall(text[:at])) + 1,
        )
    return decoded


def decode(raw: bytes) -> Decoded:
    """The text in `raw`: by its byte order mark, else UTF-8, UTF-16 or cp1252, UTF-8 with stray bytes, else a guess.

    No byte is lost: each stands in the text as a character, and each that was not valid in `encoding` in `replaced`.
    A text none of whose bytes beyond ASCII is UTF-8 is cp1252, and only bytes without a character there are replaced.

    Raises `UnicodeDecodeError` where a byte order mark promises what does not follow.
    """
    sha256 = hashlib.sha256(raw).hexdigest()
    unmarked = raw
    while unmarked.startswith(codecs.BOM_UTF8):  # Excel puts the mark before anything
        unmarked = unmarked.removeprefix(codecs.BOM_UTF8)
    for mark, encoding in BYTE_ORDER_MARKS:
        if unmarked.startswith(mark):
            return Decoded(unmarked.decode(encoding), encoding, (), sha256)
    if unmarked_utf16 := _as_utf16(unmarked):
        return Decoded(unmarked_utf16[1], unmarked_utf16[0], (), sha256)
    try:
        return Decoded(unmarked.decode("utf-8"), "utf-8", (), sha256)
    except UnicodeDecodeError:
        mixed = unmarked.decode("utf-8", errors="surrogateescape")
    stray = [(at, ord(character) - 0xDC00) for at, character in enumerate(mixed) if "\udc80" <= character <= "\udcff"]
    beyond_ascii = sum(byte >= 0x80 for byte in unmarked)
    if len(stray) > beyond_ascii / 2 and beyond_ascii > LATIN_SHARE * len(unmarked):
        # Hardly any valid UTF-8 and dense: Cyrillic, Greek, Chinese ... in an encoding of its own.
        with needs("files"):
            from charset_normalizer import from_bytes  # loads for a while, and few files need it

        guess = from_bytes(unmarked).best()
        if guess is not None:
            return Decoded(str(guess), guess.encoding, (), sha256)
    encoding = "utf-8"
    if len(stray) == beyond_ascii:
        encoding = "cp1252"
        stray = [(at, byte) for at, byte in stray if byte in WITHOUT_CHARACTER]
    text = mixed.translate(STRAY_BYTES)
    starts = [line_end.end() for line_end in LINE_END.finditer(text)] if stray else []
    replaced = tuple(Replaced(bisect_right(starts, at) + 1, at, byte, text[at]) for at, byte in stray)
    return Decoded(text, encoding, replaced, sha256)


def _as_utf16(raw: bytes) -> tuple[str, str] | None:
    """Encoding and text, where `raw` is UTF-16 without its mark beyond doubt."""
    if len(raw) % 2 or b"\0" not in raw:
        return None
    pairs = len(raw) // 2
    for encoding, ascii_half in (("utf-16-le", raw[1::2]), ("utf-16-be", raw[::2])):
        if ascii_half.count(0) >= ASCII_SHARE * pairs:
            try:
                text = raw.decode(encoding)
            except UnicodeDecodeError:
                continue
            if "\0" not in text and not _CONTROLS.search(text):
                return encoding, text
    return None


def _binary_kind(raw: bytes) -> str | None:
    if raw.startswith(b"PK\x03\x04"):
        return "an Excel workbook (.xlsx)" if b"xl/" in raw else "a zip archive"
    return next((kind for beginning, kind in BINARY_BEGINNINGS if raw.startswith(beginning)), None)
