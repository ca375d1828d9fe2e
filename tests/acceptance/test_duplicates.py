"""`tamis duplicates`: every pair with its reason, on the screen, as JSON and as a table."""

import csv
import json
from pathlib import Path

from stage import tamis

HEADER = "id,title,year,authors,journal\n"
TITLE = "Walking and the mood of older people in small towns"


def test_pairs_of_several_files_are_shown_told_and_written(tmp_path: Path) -> None:
    rows = f"{HEADER}a,{TITLE},2014,Ames A,J Walk\n"
    (tmp_path / "one.csv").write_text(rows, "utf-8")
    (tmp_path / "two.csv").write_text(f"{rows}b,{TITLE},2014,Ames A,[Annals] of Rest\n", "utf-8")
    shown = tamis("duplicates", "one.csv", "two.csv", "-o", "pairs.csv", env={}, cwd=tmp_path)
    assert shown.code == 0, shown.err
    assert shown.out.splitlines() == [
        "copy the same title, year, first author and journal",
        f"  removed  a: {TITLE} (J Walk, 2014; two.csv line 2)",
        f"  kept     a: {TITLE} (J Walk, 2014; one.csv line 2)",
        "doubt the same title, year and first author, but another journal",
        f"           b: {TITLE} ([Annals] of Rest, 2014; two.csv line 3)",
        f"           a: {TITLE} (J Walk, 2014; one.csv line 2)",
        "3 records: 1 is a copy of another record, 2 are kept; 1 pair for a person to decide",
    ]
    with (tmp_path / "pairs.csv").open(encoding="utf-8", newline="") as stream:
        assert [(row["kind"], row["file"], row["stays_file"]) for row in csv.DictReader(stream)] == [
            ("copy", "two.csv", "one.csv"),
            ("doubt", "two.csv", "one.csv"),
        ]
    told = json.loads(tamis("duplicates", "one.csv", "two.csv", "--json", env={}, cwd=tmp_path).out)
    assert (told["records"], told["copies"], told["doubts"]) == (3, 1, 1)
    assert [(pair["kind"], pair["record"]["line"], pair["stays"]["id"]) for pair in told["pairs"]] == [
        ("copy", 2, "a"),
        ("doubt", 3, "a"),
    ]
    none = tamis("duplicates", "one.csv", env={}, cwd=tmp_path)
    assert (none.code, none.out) == (0, "no duplicates among 1 record\n")
    (tmp_path / "empty.csv").touch()
    refused = tamis("duplicates", "one.csv", "empty.csv", env={}, cwd=tmp_path)
    assert (refused.code, refused.out) == (2, "")
    assert "empty.csv: the file is empty" in refused.err
