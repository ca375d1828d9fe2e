"""Labelled duplicates: what `python -m benchmarks.duplicates` measures is what the documentation says."""

from pathlib import Path

import pytest
from benchmarks.duplicate_sets import LabelledCopies, SourcedRecord, export_records, labelled_copies, review_records
from benchmarks.duplicates import Found, judged, labelled_counts, print_labelled, print_mutated, print_pairs
from benchmarks.title_mutations import COPIES, NO_COPIES

from stage.shared_data import needs_real_records

PAGE = Path(__file__).parents[3] / "docs" / "screening-benchmarks.md"
DOCUMENTED = PAGE.read_text("utf-8").split("\n## What it rejects\n")[0]
RECORDED = Path(__file__).with_name("recorded_duplicates.txt").read_text("utf-8").splitlines()
PAPER = {
    "title": "Walking and the mood of older people: results from small towns",
    "year": 2014,
    "authors": ["Strand A"],
    "journal": "Journal of Walking",
}


@needs_real_records
def test_the_exports_of_one_set_of_records_have_no_miss_and_no_false_merge() -> None:
    pairs, different, merged = judged(export_records())
    assert (len(pairs), different, merged) == (83, 9647, 0)
    assert {(pair.same, pair.found) for pair in pairs} == {(True, Found.COPY)}


def test_every_rule_of_the_benchmark_makes_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    print_mutated([PAPER])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("| ", "|-"))]
    rows = [[cell.strip() for cell in line.strip("|").rsplit("|", 4)] for line in lines[2:]]
    counts = {name: [int(count) for count in counts] for name, *counts in rows}
    assert len(counts) == len(COPIES) + len(NO_COPIES) + 2
    for name in COPIES:
        assert counts[name][:2] == [1, 1], name
    for name in NO_COPIES:
        assert counts[name][:2] == [1, 0], name


def test_the_key_is_hidden_and_a_third_record_joins_two() -> None:
    doi, pmid = {"doi": "10.1234/a"}, {"pmid": "1"}
    other = {"title": "Of quite another thing", "doi": "10.1234/b"}
    records = [SourcedRecord("s", {**PAPER, **own}) for own in (doi, {**doi, **pmid}, {**pmid, "year": 2017}, other)]
    pairs, different, merged = judged(records)
    assert [(pair.one, pair.other, pair.found) for pair in pairs if pair.same] == [
        (0, 1, Found.COPY),
        (0, 2, Found.DIFFERENT),
        (1, 2, Found.DIFFERENT),
    ]
    assert (different, merged) == (2, 0)  # the last from each that has a DOI


def test_labelled_copies_are_counted_with_and_without_a_label_on_the_kept_record() -> None:
    other = {"title": "Of quite another thing", "year": 2014}
    records = [PAPER, PAPER, PAPER, other]
    assert labelled_counts(LabelledCopies("kept", records, [False, True, True, True], 1)) == (2, 0)
    assert labelled_counts(LabelledCopies("all", records, [True, True, True, False], 0)) == (3, 0)
    assert labelled_counts(LabelledCopies("wrong", records, [False, False, True, False], 1)) == (1, 1)


@needs_real_records
@pytest.mark.night
def test_the_labelled_sets_reach_the_goal_and_have_the_documented_figures(capsys: pytest.CaptureFixture[str]) -> None:
    for labelled in labelled_copies():
        found, merged = labelled_counts(labelled)
        assert found >= 0.99 * sum(labelled.labels)
        assert merged <= 0.005 * (len(labelled.records) - sum(labelled.labels))
    print_labelled()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(rows) == 3
    assert [row for row in rows if row not in RECORDED or row not in DOCUMENTED] == []


@needs_real_records
@pytest.mark.night
def test_the_review_and_the_rules_have_the_documented_figures(capsys: pytest.CaptureFixture[str]) -> None:
    review = review_records()
    print_pairs("the review", review, misses=False)
    rich = [
        own.record for own in review if all(own.record.get(name) for name in ("year", "journal", "authors", "title"))
    ]
    print_mutated([{**own, "year": int(own["year"])} for own in rich])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(rows) > 50
    assert [row for row in rows if row not in RECORDED] == []
    sums = [row for row in rows if row.startswith(("| all ", "| **all "))]
    assert len(sums) == 3
    assert [row for row in sums if row not in DOCUMENTED] == []
