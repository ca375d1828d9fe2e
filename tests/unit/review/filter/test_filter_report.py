"""The initial filter over files: every record once, counted by rule and by label."""

import csv
import io
from pathlib import Path

import pytest

from tamis_review.filter.filter_report import COLUMNS, RuleCount, filter_files, write_outcomes
from tamis_schemas import InputError, SearchCriteria

CRITERIA = SearchCriteria(research_question="Q", inclusion_criteria=["adults", "case reports"])
ROWS = """id,title,abstract,label
a,Statins in mice,,1
b,Statins in rats,,0
c,=Statins in vitro,,0
d,Statins in adults,,1
e,A case report,,
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "records.csv"
    path.write_text(ROWS, "utf-8")
    return path


def test_every_record_has_an_outcome_in_the_files_order(file: Path) -> None:
    tier_one = filter_files([file, file], CRITERIA)
    assert [outcome.item_id for outcome in tier_one.outcomes] == list("abcde") * 2
    assert [outcome.result.passed for outcome in tier_one.outcomes] == [False, False, False, True, True] * 2
    assert tier_one.passed == 4
    assert set(tier_one.switched_off) == {"case_report", "case_series"}


def test_rejections_are_counted_by_rule_and_label_and_losses_are_named(file: Path) -> None:
    tier_one = filter_files([file], CRITERIA, label="label")
    assert tier_one.rules == [RuleCount("animal", 2, 1, 1), RuleCount("in_vitro", 1, 0, 1)]
    assert [outcome.title for outcome in tier_one.lost] == ["Statins in mice"]
    assert (tier_one.labelled(included=True), tier_one.labelled(included=False)) == (2, 2)


def test_the_outcomes_as_csv_hold_nothing_that_a_spreadsheet_would_execute(file: Path) -> None:
    stream = io.StringIO(newline="")
    assert write_outcomes(filter_files([file], CRITERIA, label="label"), stream) == 5
    rows = list(csv.DictReader(io.StringIO(stream.getvalue(), newline="")))
    assert tuple(rows[0]) == (*COLUMNS, "label")
    assert [row["outcome"] for row in rows] == ["rejected"] * 3 + ["passed"] * 2
    assert (rows[2]["rule"], rows[2]["matched"], rows[2]["start"], rows[2]["end"]) == (
        "in_vitro",
        "in vitro",
        "9",
        "17",
    )
    assert rows[2]["title"] == "'=Statins in vitro"
    assert [row["label"] for row in rows] == ["1", "0", "0", "1", ""]
    stream = io.StringIO(newline="")
    write_outcomes(filter_files([file], CRITERIA), stream)
    assert stream.getvalue().splitlines()[0] == ",".join(COLUMNS)


def test_a_column_that_is_not_there_is_refused_naming_those_that_are(file: Path) -> None:
    with pytest.raises(InputError, match=r"records\.csv: no column 'included'.*: label"):
        filter_files([file], CRITERIA, label="included")


def test_what_is_no_label_is_refused_naming_its_line(file: Path) -> None:
    file.write_text("id,title,label\na,A,yes\nb,B,2\n", "utf-8")
    with pytest.raises(InputError, match=r"records\.csv:3: field 'label': '2' is not a label"):
        filter_files([file], CRITERIA, label="label")
