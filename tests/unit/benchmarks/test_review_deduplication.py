"""The published review's deduplication: each record finds its row, and every difference is counted once."""

import re
from pathlib import Path

import pytest
from benchmarks.duplicate_sets import review_records
from benchmarks.review_deduplication import compare, print_comparison, sources_alone
from benchmarks.review_rows import ExportedRecord, Placed, PlacedBy, exported_records, place, screened_titles

from stage.shared_data import needs_real_records

DOCUMENTED = (Path(__file__).parents[3] / "docs" / "replay.md").read_text("utf-8")
RECORDED = Path(__file__).with_name("recorded_deduplication.txt").read_text("utf-8").splitlines()
ROWS = {
    "1": "walking and the mood of older people",
    "2": "walking and mood in mnires disease ",
    "3": "hearing aids",
    "4": "a walking programme for people with tinnitus references",
    "5": "github2",
}
DOI = frozenset(("10.1234/a",))


def record(title: str, *, source: str = "medline", at: int = 1, identifiers: frozenset[str] = DOI) -> ExportedRecord:
    return ExportedRecord(source, at, title, identifiers)


@pytest.mark.parametrize(
    ("title", "row", "by"),
    [
        ("Walking, and the mood of older people", "1", PlacedBy.WRITTEN),
        ("Walking and mood in Ménière's disease", "2", PlacedBy.LETTERS),
        ("A walking programme for people with tinnitus.", "4", PlacedBy.WORDS),
        ("Hearing aids for people who walk", None, None),  # two words of a row stand in many titles
        ("Tinnitus references, with whom people go for a programme, and walking", None, None),  # its words by chance
        ("", None, None),
    ],
)
def test_a_record_is_placed_by_its_title(title: str, row: str | None, by: PlacedBy | None) -> None:
    (placed,) = place([record(title)], ROWS)
    assert (placed.row, placed.by) == (row, by)


def test_a_record_without_a_title_of_the_review_is_placed_by_what_it_shares_with_a_placed_one() -> None:
    records = [
        record("Gehen und Stimmung", identifiers=frozenset("7")),
        record("Stimmung", identifiers=DOI | {"7"}),
        record("Walking and the mood of older people"),
        record("Of quite another thing", identifiers=frozenset("8")),
    ]
    assert [(one.row, one.by) for one in place(records, ROWS)] == [
        ("1", PlacedBy.IDENTIFIER),
        ("1", PlacedBy.IDENTIFIER),
        ("1", PlacedBy.WRITTEN),
        (None, None),
    ]


def test_a_repository_is_placed_by_its_number() -> None:
    placed = place([record("walks", source="github", at=at, identifiers=frozenset()) for at in (1, 2)], ROWS)
    assert [one.row for one in placed] == [None, "5"]


def test_every_difference_is_counted_once_and_the_account_adds_up() -> None:
    paper = {"title": "Walking and the mood of older people: results", "year": 2014, "authors": ["Strand A"]}
    other = {"title": "Sleep and the mood of younger people: results", "year": 2015, "authors": ["Ames A"]}
    records = [
        paper,
        {**paper, "doi": "10.1234/a"},
        {**other, "doi": "10.1234/b"},
        {**other, "doi": "10.1234/c"},
        {"title": "Deposit"},
        {"title": "Running"},
    ]
    rows = ["1", "2", "3", "3", "3", None]
    found = compare(records, [Placed(record(str(own["title"])), row) for own, row in zip(records, rows, strict=True)])
    assert [(one.one, one.other, one.cause) for one in found.merged] == [
        ((0,), (1,), "the same title, year and first author")
    ]
    assert [(one.one, one.other, one.cause) for one in found.apart] == [
        ((2,), (3,), "the same title, year and first author, but another DOI"),
        ((2,), (4,), "another title"),
    ]
    # 3 rows - 1 merged + 2 apart + 1 lost
    assert (found.lost, found.lost_groups, len(set(found.group))) == ([5], 1, 3 - 1 + 2 + 1)


@needs_real_records
def test_the_published_review_lost_what_embase_alone_had_and_tamis_keeps_it(capsys: pytest.CaptureFixture[str]) -> None:
    placed = place(exported_records(), screened_titles())
    found = compare([own.record for own in review_records()], placed)
    assert {placed[index].record.source for index in found.lost} == {"embase"}
    rows = {one.row for one in placed if one.row is not None}
    assert len(rows) == 1_498
    alone = sources_alone(placed)
    assert (alone["embase"], alone["cinahl"], alone["scopus"]) == (0, 71, 182)
    assert len(rows) - len(found.merged) + len(found.apart) + found.lost_groups == len(set(found.group))
    print_comparison(found, pairs=True)
    rows_of_tables = [
        line for line in capsys.readouterr().out.splitlines() if re.fullmatch(r"\| .+ \| -?[\d,]+ \|", line)
    ]
    assert [row for row in rows_of_tables if row not in RECORDED] == []
    account = rows_of_tables.index("| left by the review | 1,498 |")
    assert "\n".join(rows_of_tables[account : account + 5]) in DOCUMENTED
