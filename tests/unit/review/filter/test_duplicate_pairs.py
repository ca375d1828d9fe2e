"""Pairs of duplicates over several files: each with its reason, its places, and the record that would stay."""

import csv
import io
from pathlib import Path

import pytest

from tamis_cli.commands.intake import say_what_was_read
from tamis_review.filter.duplicate_pairs import COLUMNS, PairKind, find_pairs, write_pairs
from tamis_review.filter.identification import identify
from tamis_schemas import InputError

TITLE = "=Walking and the mood of older people in small towns"
PUBMED = f"id,title,year,authors,journal\np1,{TITLE},2014,Ames A,J Walk\np2,Another one,2013,Bond B,J Walk\n"
EMBASE = (
    f"id,title,year,authors,journal,abstract\ne1,{TITLE} [English],2014,Ames A,Journal of Walking,{'A walk. ' * 9}\n"
    f"e2,{TITLE},2014,Ames A,Annals of Rest,\n"
)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for name, text in (("pubmed.csv", PUBMED), ("embase.csv", EMBASE)):
        (tmp_path / name).write_text(text, "utf-8")
    return [tmp_path / "pubmed.csv", tmp_path / "embase.csv"]


def test_pairs_are_found_between_files_with_reasons_and_places(files: list[Path]) -> None:
    found = find_pairs(files)
    assert found.records == 4
    (copy,), (doubt,) = (found.of(kind) for kind in PairKind)
    assert copy.reason == "the same title, year, first author and journal"
    assert [(one.path.name, one.index, one.record["id"], one.record["_line"]) for one in (copy.one, copy.stays)] == [
        ("pubmed.csv", 0, "p1", 2),
        ("embase.csv", 0, "e1", 2),
    ]
    assert doubt.reason == "the same title, year and first author, but another journal"
    assert [one.record["id"] for one in (doubt.one, doubt.stays)] == ["e2", "e1"]


def test_every_pair_is_a_row_that_no_spreadsheet_takes_for_a_formula(files: list[Path]) -> None:
    stream = io.StringIO()
    assert write_pairs(find_pairs(files).pairs, stream) == 2
    header, first, second = csv.reader(stream.getvalue().splitlines())
    assert header == list(COLUMNS)
    assert (first[0], second[0]) == ("copy", "doubt")
    assert first[COLUMNS.index("title")] == f"'{TITLE}"
    assert second[COLUMNS.index("stays_file")] == "embase.csv"
    assert not any(cell.startswith("=") for row in (first, second) for cell in row)


def test_what_cannot_be_read_is_refused_and_names_the_file(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "empty.ris").touch()
    with pytest.raises(InputError, match=r"empty\.ris: the file is empty"):
        find_pairs([*files, tmp_path / "empty.ris"])


def test_who_submits_is_told_of_doubts_and_how_to_see_them(
    files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    files[1] = files[1].rename(files[1].with_name("my records.csv"))
    identified = identify(files[1])
    assert (identified.duplicates, len(identified.doubts), len(identified.asked)) == (0, 1, 2)
    say_what_was_read(identified)
    said = capsys.readouterr().err
    assert f"1 pair of records may be copies and are kept: `tamis duplicates '{files[1]}'` lists them" in said
    kept = identify(files[1], keep_duplicates=True)
    say_what_was_read(kept)
    assert (kept.doubts, capsys.readouterr().err) == ((), "")
