"""Bytes to text, in any encoding, without losing a character.

Databases export UTF-8, and Windows programs UTF-16 or cp1252. A file that several programs changed may be UTF-8 with
single cp1252 bytes: strict decoding would reject the whole file because of one byte.
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

# A file is read as a whole, and needs several times its size in memory until its records are made.
MAX_FILE_BYTES = 500_000_000
WRITTEN_BYTES = 5_000_000  # for criteria, plans, schemas, guidelines and prices
LIKELY = "cp1250, cp1252, cp1254, mac_roman or shift_jis"  # encodings of old exports
NOT_OF_FILES = frozenset(("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined"))  # Python's codecs

# Longer marks first: the mark of UTF-32 (LE) begins with the mark of UTF-16 (LE).
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
# A text with a larger share of bytes beyond ASCII is not Latin script with some accents.
LATIN_SHARE = 0.1
WITHOUT_CHARACTER = b"\x81\x8d\x8f\x90\x9d"  # in cp1252
# `surrogateescape`'s character for a stray byte -> its character in cp1252. Five bytes have none; they become the
# control character of the same number, as in every browser.
STRAY_BYTES = {
    0xDC00 + byte: bytes([byte]).decode("cp1252" if byte not in WITHOUT_CHARACTER else "latin-1")
    for byte in range(0x80, 0x100)
}


_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\ufffe\uffff]")
LINE_END = re.compile(r"\r\n|\r|\n")
# In UTF-16 without a mark, at least this share of the bytes at the same place of each pair are NUL: blanks, digits,
# line ends and the tags of every format are ASCII, in any language.
ASCII_SHARE = 0.2


@dataclass(frozen=True)
class Replaced:
    """An invalid byte, and its replacement."""

    line: int  # from 1
    at: int  # place of the replacement in the text, from 0
    byte: int
    character: str  # replacement


@dataclass(frozen=True)
class Decoded:
    """A text, and how it was decoded."""

    text: str  # with the line ends of the file, without a byte order mark
    encoding: str
    replaced: tuple[Replaced, ...]
    sha256: str  # of the bytes


def read_text(path: Path | str) -> str:
    """Return the text of a file that a person wrote (at most 5 MB). Raises `InputError` for an unreadable file."""
    return read_decoded(path, max_bytes=WRITTEN_BYTES).text


def read_decoded(path: Path | str, *, max_bytes: int = MAX_FILE_BYTES, encoding: str | None = None) -> Decoded:
    """Return the text of a file, and how it was decoded; read at most `max_bytes`.

    Raises `InputError` if the file is missing, unreadable, empty, too large, or not text in the stated `encoding`.
    """
    try:
        with Path(path).open("rb") as file:
            raw = file.read(max_bytes + 1) if os.fstat(file.fileno()).st_size <= max_bytes else None
    except FileNotFoundError as error:
        raise InputError("there is no such file", path=path) from error
    except IsADirectoryError as error:
        raise InputError("this is a folder; name a file in it", path=path) from error
    except PermissionError as error:
        raise InputError("the file's permissions do not allow reading it", path=path) from error
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror or error}", path=path) from error
    if raw is None or len(raw) > max_bytes:  # a pipe has no size beforehand
        remedy = "" if max_bytes == WRITTEN_BYTES else " (TAMIS_MAX_FILE_BYTES): split it, or raise the setting"
        raise InputError(f"the file has more than {max_bytes:,} bytes, the maximum{remedy}", path=path)
    if kind := _binary_kind(raw):
        raise InputError(f"this is {kind}, not a text file: export or save it as text first", path=path)
    try:
        decoded = decode(raw, encoding)
    except LookupError as error:
        raise InputError(str(error), path=path) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"the file begins with the mark of {error.encoding}, but is invalid from byte {error.start}: "
            "is it cut off?",
            path=path,
        ) from error
    text = decoded.text
    if not text.strip("\ufeff \t\r\n\f\v"):
        raise InputError("the file is empty", path=path)
    if (at := text.find("\0")) >= 0:
        raise InputError(
            "a NUL byte: the file is damaged, or is UTF-16 without its mark. Save it as UTF-8",
            path=path,
            line=len(LINE_END.findall(text[:at])) + 1,
        )
    return decoded


def decode(raw: bytes, stated: str | None = None) -> Decoded:
    """Return the text in `raw`, and how it was decoded.

    A byte order mark decides the encoding. Without a mark, these encodings are tried in order:

    - UTF-16, then UTF-8.
    - The `stated` encoding, also for plain ASCII: some encodings are written in ASCII.
    - A guess, if many bytes are beyond ASCII and most of them are not UTF-8.
    - cp1252, if no byte beyond ASCII is UTF-8. Only bytes without a character in cp1252 are replaced.
    - UTF-8 with stray bytes, which are read as cp1252.

    Each byte that is invalid in `encoding` becomes a character of the text, and an entry in `replaced`. Raises
    `UnicodeDecodeError` if the bytes contradict their byte order mark, and `LookupError` if they contradict `stated`.
    """
    sha256 = hashlib.sha256(raw).hexdigest()
    unmarked = raw
    while unmarked.startswith(codecs.BOM_UTF8):  # Excel puts a mark before any text
        unmarked = unmarked.removeprefix(codecs.BOM_UTF8)
    for mark, encoding in BYTE_ORDER_MARKS:
        if unmarked.startswith(mark):
            return Decoded(unmarked.decode(encoding), encoding, (), sha256)
    if unmarked_utf16 := _as_utf16(unmarked):
        return Decoded(unmarked_utf16[1], unmarked_utf16[0], (), sha256)
    try:
        text = unmarked.decode("utf-8")
        if stated is None or not text.isascii():
            return Decoded(text, "utf-8", (), sha256)
    except UnicodeDecodeError:
        mixed = unmarked.decode("utf-8", errors="surrogateescape")
    if stated is not None:
        return Decoded(_as_stated(unmarked, stated), stated, (), sha256)
    stray = [(at, ord(character) - 0xDC00) for at, character in enumerate(mixed) if "\udc80" <= character <= "\udcff"]
    beyond_ascii = sum(byte >= 0x80 for byte in unmarked)
    if len(stray) > beyond_ascii / 2 and beyond_ascii > LATIN_SHARE * len(unmarked):
        # Many bytes beyond ASCII and little valid UTF-8: Cyrillic, Greek, Chinese ... in another encoding.
        with needs("files"):
            from charset_normalizer import from_bytes  # slow to import, and few files need it

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


def _as_stated(raw: bytes, encoding: str) -> str:
    """Return the text in `raw`. Raise `LookupError` if the encoding is unknown, or not the encoding of `raw`."""
    try:
        if codecs.lookup(encoding).name not in NOT_OF_FILES:
            return raw.decode(encoding)
        reason = f"{encoding!r} is no encoding of files"
    except LookupError:
        reason = f"{encoding!r} is no known encoding"
    except ValueError as error:
        reason = f"the file is not {encoding}: {error}"
    raise LookupError(f"{reason}. State another encoding, such as {LIKELY}")


def _as_utf16(raw: bytes) -> tuple[str, str] | None:
    """Return encoding and text if `raw` is certainly UTF-16 without a byte order mark; else None."""
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
