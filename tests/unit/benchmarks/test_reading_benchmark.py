"""The tables that `python -m benchmarks.reading` reads are what it says they are."""

from pathlib import Path

import pytest
from benchmarks.reading import DAMAGED, LAYOUTS, damaged, table
from benchmarks.records import records

from tamis_review.intake.delimited import read_delimited
from tamis_review.intake.notes import Notes

PATH = Path("table.csv")


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_holds_the_same_records(name: str) -> None:
    (own,) = records(1)
    (record,) = read_delimited(table(LAYOUTS[name], [own]), Notes(PATH, strict=True))
    assert {field: record[field] for field in ("title", "abstract", "year", "journal", "doi", "authors")} == {
        "title": own["title"],
        "abstract": own["abstract"],
        "year": 2020,
        "journal": "Journal of Walking",
        "doi": f"10.1234/{own['id']}",
        "authors": ["Strand, Anna", "Li, Mo", "Okafor, Chi"],
    }


def test_one_row_of_a_hundred_is_damaged_and_no_other_is_lost() -> None:
    notes = Notes(PATH)
    read = read_delimited(damaged(records(3 * DAMAGED)), notes)
    assert [note.line for note in notes.taken] == [DAMAGED + 1, 2 * DAMAGED + 1, 3 * DAMAGED + 1]
    assert len(read) == 3 * DAMAGED - 3
