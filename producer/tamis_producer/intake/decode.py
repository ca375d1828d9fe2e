"""Bytes to text, whatever program wrote them, without losing a character.

Databases export UTF-8, Windows programs UTF-16 or cp1252, and files that passed through several hands are UTF-8
with single cp1252 bytes in between. The last kind is why strict decoding is not enough: one stray byte among 500
records must cost neither the file nor the record.
"""

import codecs
import re
from pathlib import Path

from charset_normalizer import from_bytes

from tamis_schemas import InputError

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
# What `surrogateescape` makes of a stray byte -> the character it has in cp1252. Five bytes have none there; they
# become the control character of the same number, as in every browser.
STRAY_BYTES = {
    0xDC00 + byte: bytes([byte]).decode("cp1252" if byte not in b"\x81\x8d\x8f\x90\x9d" else "latin-1")
    for byte in range(0x80, 0x100)
}


def read_text(path: Path) -> str:
    """The text of a file; line ends as they stand, byte order mark removed.

    Raises:
        InputError: where there is no such file, it may not be read, is empty, or is no text.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError("there is no such file", path=path) from error
    except IsADirectoryError as error:
        raise InputError("this is a directory; name one file in it", path=path) from error
    except PermissionError as error:
        raise InputError("the file may not be read: its permissions forbid it", path=path) from error
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror or error}", path=path) from error
    if kind := _binary_kind(raw):
        raise InputError(f"this is {kind}, not a text file; export or save it as text first", path=path)
    try:
        text = decode(raw)
    except UnicodeDecodeError as error:
        raise InputError(
            f"the file begins with the mark of {error.encoding} but does not go on in it (byte {error.start}): "
            "is it cut off?",
            path=path,
        ) from error
    if not text.strip():
        raise InputError("the file is empty", path=path)
    if (at := text.find("\0")) >= 0:
        raise InputError(
            "a NUL byte: the file is damaged, or is UTF-16 without its mark; save it as UTF-8",
            path=path,
            line=len(re.findall(r"\r\n|\r|\n", text[:at])) + 1,
        )
    return text


def decode(raw: bytes) -> str:
    """The text in `raw`: by its byte order mark, else UTF-8, else UTF-8 with stray cp1252 bytes, else a guess.

    Raises:
        UnicodeDecodeError: where a byte order mark promises what does not follow.
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            if encoding == "utf-8":
                return decode(raw.removeprefix(mark))  # Excel puts the mark before anything
            return raw.decode(encoding)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        mixed = raw.decode("utf-8", errors="surrogateescape")
    beyond_ascii = sum(byte >= 0x80 for byte in raw)
    stray = sum(0xDC80 <= ord(character) <= 0xDCFF for character in mixed)
    if stray > beyond_ascii / 2 and beyond_ascii > LATIN_SHARE * len(raw):
        # Hardly any valid UTF-8 and dense: Cyrillic, Greek, Chinese ... in an encoding of its own.
        guess = from_bytes(raw).best()
        if guess is not None:
            return str(guess)
    return mixed.translate(STRAY_BYTES)


def _binary_kind(raw: bytes) -> str | None:
    if raw.startswith(b"PK\x03\x04"):
        return "an Excel workbook (.xlsx)" if b"xl/" in raw else "a zip archive"
    return next((kind for beginning, kind in BINARY_BEGINNINGS if raw.startswith(beginning)), None)
