"""Every real file, counted twice: by Tamis' readers, and by a script that knows nothing of them."""

import pytest

from stage.independent_counts import RECORD_FILES, RETURNS, Counted, counted
from stage.shared_data import DATA, needs_real_records
from tamis_review.intake import read_file

pytestmark = needs_real_records

# What the review's README says of its searches.
PUBLISHED = {
    "base": 85,
    "cinahl": 168,
    "embase": 568,
    "github": 155,
    "ieee": 93,
    "medline": 859,
    "psychinfo": 58,
    "scopus": 709,
}


@pytest.mark.parametrize("name", RECORD_FILES)
def test_the_reader_finds_the_records_and_fields_that_an_independent_count_finds(name: str) -> None:
    intake = read_file(DATA / name)
    expected = counted(name)
    found = {field: sum(field in record for record in intake.records) for field in ("title", "abstract", "year", "doi")}
    read = {field: n for field, n in found.items() if getattr(expected, field) is not None}
    assert Counted(len(intake.records), **read) == expected
    assert [note for note in intake.notes if note.kind == "lost"] == []


def test_the_independent_count_is_the_published_one() -> None:
    found = {name: counted(f"{RETURNS}/{name}.csv").records for name in PUBLISHED}
    assert found == PUBLISHED
    assert sum(found.values()) == 2_695
    assert counted(f"{RETURNS}/pubmed_abstracts.txt").records == PUBLISHED["medline"]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        # Of the 85 of BASE: keywords, languages and journals as far as its notes name one.
        ("base", {"authors": 85, "journal": 48, "language": 56, "type": 85, "url": 85, "keywords": 65}),
        ("cinahl", {"authors": 161, "journal": 168, "language": 168, "pmid": 79, "keywords": 159, "_database": 168}),
        ("embase", {"authors": 568, "journal": 568, "pmid": 411, "_database": 568}),
        ("psychinfo", {"authors": 58, "journal": 58, "_database": 58}),
        ("ieee", {"authors": 93, "journal": 93, "type": 93, "keywords": 92, "url": 93}),
        ("medline", {"authors": 859, "journal": 859, "pmid": 859}),
        ("scopus", {"authors": 706, "journal": 709, "type": 709, "pmid": 485, "url": 709, "_database": 709}),
    ],
)
def test_what_else_the_searches_of_a_review_hold_is_read(name: str, counts: dict[str, int]) -> None:
    records = read_file(DATA / RETURNS / f"{name}.csv").records
    assert {field: sum(field in record for record in records) for field in counts} == counts
