"""Bytes to text: nothing is lost, whatever wrote the file."""

import codecs
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_producer.intake import read_records
from tamis_producer.intake.decode import decode, read_text
from tamis_schemas import InputError

NOBODY = 65534


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\0")))
def test_every_marked_encoding_gives_the_text_back(text: str) -> None:
    assert decode(text.encode()) == text
    assert decode(codecs.BOM_UTF8 + text.encode()) == text
    assert decode(text.encode("utf-16")) == text
    assert decode(codecs.BOM_UTF16_BE + text.encode("utf-16-be")) == text
    assert decode(text.encode("utf-32")) == text


def test_stray_cp1252_bytes_among_utf8_become_the_characters_they_were() -> None:
    # "naïve" in UTF-8; in cp1252: 0x96 an en dash, 0x92 an apostrophe, 0xE9 an e with acute.
    assert decode("naïve ".encode() + b"1\x962 it\x92s caf\xe9 " + "β".encode()) == "naïve 1–2 it’s café β"


@given(st.binary())
def test_decoding_unmarked_bytes_never_fails_and_never_shortens_a_line_count(raw: bytes) -> None:
    if not raw.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff", codecs.BOM_UTF8)):
        assert decode(b"title\n" * 50 + raw).count("\n") >= 50


def test_a_byte_without_a_cp1252_character_is_kept() -> None:
    assert decode(b"mostly ascii text \x81 and more of it") == "mostly ascii text \x81 and more of it"


def test_a_text_wholly_in_cp1252_is_read_as_such() -> None:
    text = "Überblick über Fälle: Dépression – “Essai” "
    assert decode((text * 20 + "plain words between them " * 60).encode("cp1252")).startswith(text)


def test_a_text_in_another_script_is_recognised() -> None:
    text = "Эффективность лечения депрессии у взрослых пациентов: систематический обзор литературы. " * 20
    assert decode(text.encode("cp1251")) == text


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
        ("title\nx".encode("utf-16-le"), "NUL"),
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
    with pytest.raises(InputError, match="directory"):
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
