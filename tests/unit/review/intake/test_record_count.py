"""Records and fields are counted as a file is copied: the copy ends at the bound, before anything is read."""

import io
from pathlib import Path

import pytest

from tamis_producer.files.decode import MAX_FILE_BYTES
from tamis_review.intake import record_count
from tamis_review.intake.record_count import BYTES_OF_A_FIELD, MOST_RECORDS, PIECE, RecordCount, TooLarge

ABSTRACT = "This randomised, controlled trial (n = 120) compared 5 mg, 10 mg; or placebo. " * 20
USUAL = (
    "TY  - JOUR\nTI  - A trial\nJO  - A journal\nPY  - 2020\nDO  - 10.1000/a\nSN  - 1234-5678\n"
    + "AU  - Smith, J.\n" * 6
    + "KW  - a keyword\n" * 10
    + f"AB  - {ABSTRACT}\nER  - \n\n"
)
RECORDS = {
    "ris": "TY  - JOUR\nTI  - x\nER  - \n",
    "nbib": "PMID- 1\nTI  - x\n\n",
    "wos": "PT J\nTI x\nER\n\n",
    "enw": "%0 Journal Article\n%T x\n\n",
    "bibtex": "@article{a, title = {x}} ",
    "endnote": "<xml><records>" + "<record><titles><title>x</title></titles></record>",
    "pubmed": "1. J. 2020.\n\nx\n\nPMID: 1\n",
    "csv": "title,year\n1,2\n3,4\n5,6\n",  # several rows count as a record, because cells have line breaks
    "jsonl": '{"title": "x"}\n',
}


def is_refused(raw: bytes, *names: bytes, max_bytes: int = MAX_FILE_BYTES) -> bool:
    """Whether the files of an upload together have too many records or fields."""
    count = RecordCount(max_bytes)
    try:
        for content in (raw, *names):
            count.copy(io.BytesIO(content), io.BytesIO(), Path("a.ris"))
    except TooLarge as error:
        assert str(error).startswith("a.ris: more than ")  # noqa: PT017 - the files before it are not refused
        return True
    return False


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("text", RECORDS.values(), ids=RECORDS)
def test_records_of_each_format_are_counted_in_any_encoding(
    text: str, line_end: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_count, "MOST_RECORDS", 10)
    of = [(text * n).replace("\n", line_end).encode(encoding) for n in (8, 13)]
    assert [is_refused(raw) for raw in of] == [False, True]


def test_a_mark_before_each_record_hides_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_count, "MOST_RECORDS", 10)
    assert is_refused(("\ufeff" + RECORDS["ris"]).encode() * 13)


def test_the_files_of_an_upload_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_count, "MOST_RECORDS", 10)
    half = RECORDS["ris"].encode() * 7
    assert not is_refused(half)
    assert is_refused(half, half)


@pytest.mark.parametrize("field", ["KW  - x\n", "<a/>\n", ",\n", "x = {y},\n"])
def test_a_record_s_fields_are_counted_and_their_bound_follows_the_largest_file(field: str) -> None:
    of_a_thousand = 1_000 * BYTES_OF_A_FIELD
    assert not is_refused(b"TY  - JOUR\n" + field.encode() * 500, max_bytes=of_a_thousand)
    assert is_refused(b"TY  - JOUR\n" + field.encode() * 1_100, max_bytes=of_a_thousand)


def test_a_copy_ends_at_the_bound_and_not_at_the_file_s_end() -> None:
    short = RECORDS["ris"].encode()
    source, target = io.BytesIO(short * (MOST_RECORDS + 50_000)), io.BytesIO()
    with pytest.raises(TooLarge, match=r"a\.ris: more than 250,000 records, the maximum"):
        RecordCount(MAX_FILE_BYTES).copy(source, target, "a.ris")
    assert source.tell() == target.tell() <= MOST_RECORDS * len(short) + 2 * PIECE


def test_a_review_of_200_000_records_with_abstracts_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = 1_000  # of its records are counted; the bounds are so many times smaller
    monkeypatch.setattr(record_count, "MOST_RECORDS", MOST_RECORDS // scale)
    largest, table = MAX_FILE_BYTES // scale, b"id,title,year,authors,journal,abstract\n"
    assert not is_refused(USUAL.encode() * (200_000 // scale), max_bytes=largest)
    assert not is_refused(table + b'1,"A title",2020,"A; B",J,"x,\ny"\n' * (200_000 // scale), max_bytes=largest)


@pytest.mark.parametrize("beginning", [b"PK\x03\x04", b"SQLite format 3"])
def test_an_archive_is_copied_whole_and_left_to_its_reader(beginning: bytes) -> None:
    raw, target = beginning + b"\n" * 3 * PIECE, io.BytesIO()
    RecordCount(10 * BYTES_OF_A_FIELD).copy(io.BytesIO(raw), target, "a.asreview")
    assert target.getvalue() == raw
