"""Bytes to text: nothing is lost, whatever wrote the file."""

import codecs
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_producer.files.decode import Replaced, decode, read_text
from tamis_review.intake import read_records
from tamis_schemas import InputError

NOBODY = 65534


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\0")))
def test_every_marked_encoding_gives_the_text_back(text: str) -> None:
    assert decode(text.encode()).text == text
    assert decode(codecs.BOM_UTF8 + text.encode()).text == text
    assert decode(text.encode("utf-16")).text == text
    assert decode(codecs.BOM_UTF16_BE + text.encode("utf-16-be")).text == text
    assert decode(text.encode("utf-32")).text == text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("words", ["Depression in adults", "Депрессия у взрослых", "成人のうつ病"])
def test_utf16_without_its_mark_is_told_by_its_ascii(encoding: str, words: str) -> None:
    text = f"TY  - JOUR\r\nTI  - {words}\r\nER  - \r\n"
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.replaced) == (text, encoding, ())


@pytest.mark.parametrize("raw", [b"a\0b\0c", b"title\0\n", b"\0\0\0\0", "\x01a\x02b".encode("utf-16-le")])
def test_nul_bytes_that_are_no_utf16_are_not_taken_for_it(raw: bytes) -> None:
    assert decode(raw).encoding == "utf-8"


def test_stray_cp1252_bytes_among_utf8_become_the_characters_they_were() -> None:
    # "naïve" in UTF-8; in cp1252: 0x96 an en dash, 0x92 an apostrophe, 0xE9 an e with acute.
    decoded = decode("naïve\r\n".encode() + b"1\x962 it\x92s\rcaf\xe9\n" + "β".encode())
    assert decoded.text == "naïve\r\n1–2 it’s\rcafé\nβ"
    assert decoded.encoding == "utf-8"
    assert decoded.replaced == (
        Replaced(line=2, at=8, byte=0x96, character="–"),
        Replaced(line=2, at=13, byte=0x92, character="’"),
        Replaced(line=3, at=19, byte=0xE9, character="é"),
    )


@given(st.lists(st.binary(max_size=8) | st.text(max_size=8).map(lambda text: text.encode("utf-8", "replace"))))
def test_no_byte_is_lost(pieces: list[bytes]) -> None:
    raw = b"an ASCII text, long enough that nobody would guess\n" * 50 + b"".join(pieces)
    decoded = decode(raw)
    replaced = {one.at: one for one in decoded.replaced}
    again = b"".join(
        bytes([replaced[at].byte]) if at in replaced else character.encode(decoded.encoding)
        for at, character in enumerate(decoded.text)
    )
    assert again == raw
    lines = [len(re.split(r"\r\n|\r|\n", decoded.text[: one.at])) for one in decoded.replaced]
    assert [one.line for one in decoded.replaced] == lines
    assert decoded.sha256 == hashlib.sha256(raw).hexdigest()


def test_a_byte_without_a_cp1252_character_is_kept_and_reported() -> None:
    decoded = decode(b"mostly ascii text \x81 and more of it, caf\xe9")
    assert decoded.text == "mostly ascii text \x81 and more of it, café"
    assert [(one.byte, one.character) for one in decoded.replaced] == [(0x81, "\x81")]


def test_a_text_wholly_in_cp1252_is_read_as_such() -> None:
    text = "Überblick über Fälle: Dépression – “Essai” "
    decoded = decode((text * 20 + "plain words between them " * 60).encode("cp1252"))
    assert decoded.text.startswith(text)
    assert (decoded.encoding, decoded.replaced) == ("cp1252", ())


def test_a_text_in_another_script_is_recognised() -> None:
    text = "Эффективность лечения депрессии у взрослых пациентов: систематический обзор литературы. " * 20
    assert decode(text.encode("cp1251")).text == text


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "empty"),
        (b" \r\n\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"PK\x03\x04....xl/workbook.xml", "Excel"),
        (b"PK\x03\x04....", "zip"),
        (b"%PDF-1.7", "PDF"),
        (b"\xd0\xcf\x11\xe0", "Office"),
        (b"\xff\xfet\x00i\x00t", "cut off"),
        (b"title\n\0\0\0x", "NUL"),
    ],
)
def test_what_is_no_text_is_said_to_be_what_it_is(tmp_path: Path, raw: bytes, said: str | None) -> None:
    path = tmp_path / "records.csv"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=said) as raised:
        read_text(path)
    assert str(path) in str(raised.value)


def test_a_nul_byte_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_bytes(b"title\r\na\r\nb\0c\r\n")
    with pytest.raises(InputError, match=r"records\.csv:3: a NUL byte"):
        read_text(path)


def test_a_missing_file_and_a_directory_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_records(tmp_path / "absent.ris")
    with pytest.raises(InputError, match="folder"):
        read_records(tmp_path)


def test_a_file_that_may_not_be_read_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_text("title\na\n")
    path.chmod(0)
    with _without_privileges(), pytest.raises(InputError, match="permissions"):
        read_records(path)


@contextmanager
def _without_privileges() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
