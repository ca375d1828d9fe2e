"""Tables that people fill in: found by the names of their columns, and wrong ones told by their line."""

from pathlib import Path

import pytest

from tamis_review.decisions.sheets import find_record, read_decisions
from tamis_review.plans.spreadsheet import read_table
from tamis_schemas import (
    Filter,
    Inclusion,
    InputError,
    InvalidParameters,
    Score,
    SearchCriteria,
)

INCLUSION = Inclusion(criteria=SearchCriteria(research_question="Does it?", inclusion_criteria=["It does"]))
IDS = ["a", "b", "c", "c", "1", "0"]


def table(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "t.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("index,decision,note\n1,include,für\n", "utf-8"),
        ("Index;DECISION; note \r\n1;include;für\r\n", "cp1252"),
        ("index\tdecision\tnote\n\n1\tinclude\tfür\n", "utf-16"),
        ("\ufeffindex,decision,note,else\n1, include ,für,x\n\n,,,\n", "utf-8"),
    ],
)
def test_a_table_is_read_however_a_spreadsheet_wrote_it(tmp_path: Path, text: str, encoding: str) -> None:
    (row,) = read_table(table(tmp_path, text, encoding), ("index", "decision", "note"), ("decision",))
    assert [row[name] for name in ("index", "decision", "note", "reviewer")] == ["1", "include", "für", ""]


def test_the_line_is_that_of_the_file_where_a_cell_holds_line_ends(tmp_path: Path) -> None:
    text = 'index,decision,note\n0,include,"two\nlines"\n1,exclude,\n'
    assert [row.line for row in read_table(table(tmp_path, text), ("index",), ())] == [2, 4]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (" \n,,\n", "the file has no rows"),
        ("index,note\n", "t.csv:1: no column 'decision'; there are: index, note"),
        ("index,index,decision\n", "t.csv:1: the column 'index' occurs twice"),
        ("index,decision\n1,include,what\n", "t.csv:2: the row has 3 cells, but the header has 2 columns"),
        ('index,decision\n1,"include\n', "t.csv:2: a quote that opens"),
        ("index,decision\n1,perhaps\n", "t.csv:2: 'perhaps' is not a decision"),
        ("index,decision\n6,include\n", "t.csv:2: '6' is not an index: use 0 to 5"),
        ("id,decision\na,include\nx,include\n", "t.csv:3: no record has the id 'x'"),
        (
            "id,decision\nc,include\n",
            "t.csv:2: 2 records have the id 'c': use the number of one of them instead (No. 3, No. 4)",
        ),
        ("index,id,decision\n1,a,include\n", "t.csv:2: No. 2 (index 1) has the id 'b', not 'a'"),
        ("note,decision\nx,include\n", "t.csv:2: which record?"),
        ("number,decision\n0,include\n", "t.csv:2: '0' is not a record number: use 1 to 6"),
        (
            "index,number,decision\n1,1,include\n",
            "t.csv:2: the index 1, from 0, is No. 2, but the column 'number' says 1: correct one of them",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError) as told:
        read_decisions(table(tmp_path, text), INCLUSION, IDS, reviewer="Reviewer A")
    assert complaint in str(told.value)


def test_rows_name_their_own_reviewer_and_rows_without_a_decision_are_counted(tmp_path: Path) -> None:
    text = "item_id,decision,reviewer,note\na,Include,,\nb,,Reviewer B,\nc,,,\n"
    found = read_decisions(table(tmp_path, text), INCLUSION, IDS, reviewer="Reviewer A")
    assert [(one.index, one.value, one.reviewer, one.note) for one in found.decisions] == [
        (0, "include", "Reviewer A", None)
    ]
    assert (found.blank, found.lines) == (2, (2,))
    text = "index,id,decision,reviewer\n2,c,exclude,Reviewer B\n"
    assert (
        read_decisions(table(tmp_path, text), INCLUSION, IDS, reviewer="Reviewer A").decisions[0].reviewer
        == "Reviewer B"
    )
    with pytest.raises(InputError, match="who decided"):
        read_decisions(table(tmp_path, "index,decision\n1,include\n"), INCLUSION, IDS, reviewer=None)


@pytest.mark.parametrize(
    ("operation", "text", "value"),
    [(Filter(criteria="x"), "No", False), (Filter(criteria="x"), "include", True), (Score(criteria="x"), "0.5", 0.5)],
)
def test_a_word_becomes_what_the_operation_gives(tmp_path: Path, operation: Filter, text: str, value: object) -> None:
    found = read_decisions(table(tmp_path, f"index,decision\n0,{text}\n"), operation, IDS, reviewer="Reviewer A")
    assert found.decisions[0].value == value


@pytest.mark.parametrize(
    ("text", "place"),
    [
        *(("a", 0), ("2", 1), ("#2", 1), ("3", 2), ("6", 5), ("number:1", 0), ("number:6", 5), ("0", 5)),
        *(("index:0", 0), ("index:3", 3), ("id:0", 5), ("id:1", 4)),
    ],
)
def test_a_record_is_named_by_its_id_or_its_number_from_1(text: str, place: int) -> None:
    assert find_record(text, IDS) == place


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1", "1 is the id of No. 5 and the number of No. 1 (a): write id:1 or number:1"),
        ("c", "2 records have the id"),
        ("z", "no record has the id 'z'"),
        ("17", "no record has the id '17'"),
        ("7", "no record has the id '7', and the record numbers of this batch are 1 to 6"),
        ("#7", "no record has the id '#7', and the record numbers"),
        ("#0", "no record has the id '#0', and the record numbers"),
        ("number:0", "'0' is not a record number: use 1 to 6"),
        ("index:9", "'9' is not an index"),
        ("id:z", "no record has the id 'z'"),
    ],
)
def test_a_name_that_means_none_or_several_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(InvalidParameters) as told:
        find_record(text, IDS)
    assert complaint in str(told.value)


def test_an_id_that_is_its_own_number_is_no_riddle() -> None:
    assert find_record("2", ["1", "2"]) == 1


def test_an_id_that_several_records_bear_is_a_riddle_even_where_one_of_them_has_that_number() -> None:
    with pytest.raises(InvalidParameters, match=r"2 is the id of No\. 1 and the number of No\. 2 \(2\)"):
        find_record("2", ["2", "2"])


def test_a_table_may_name_records_by_their_number(tmp_path: Path) -> None:
    path = table(tmp_path, "number,decision\n1,include\n6,exclude\n")
    found = read_decisions(path, INCLUSION, IDS, reviewer="Reviewer A")
    assert [(one.index, one.value) for one in found.decisions] == [(0, "include"), (5, "exclude")]


def test_an_id_in_a_table_counts_before_its_number(tmp_path: Path) -> None:
    path = table(tmp_path, "number,id,decision\n3,a,include\n")
    assert read_decisions(path, INCLUSION, IDS, reviewer="Reviewer A").decisions[0].index == 0
