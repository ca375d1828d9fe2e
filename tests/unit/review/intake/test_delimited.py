"""CSV and its kin: what the columns mean, and what cannot be a table of records."""

from pathlib import Path
from typing import Any

import pytest

from tamis_review.intake.delimited import read_delimited
from tamis_schemas import InputError
from tamis_schemas.records.item import shown_fields

PATH = Path("export.csv")


def read(text: str) -> list[dict[str, Any]]:
    """The records, but for what they remember of their source."""
    return [{name: value for name, value in own.items() if name != "_source"} for own in read_delimited(text, PATH)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_makes_a_header(delimiter: str) -> None:
    rows = [["Title", "Abstract", "Year"], ['"a, b; c | d"', '"e\n""f"""', "2020"]]
    text = "\r\n".join(delimiter.join(row) for row in rows)
    assert read(text) == [{"id": "record-1", "title": "a, b; c | d", "abstract": 'e\n"f"', "year": 2020, "_line": 2}]


def test_labels_stay_with_the_record_and_are_never_shown() -> None:
    text = "id,title,abstract,label,label_ta,Included,_note\n7,t,a,1,0,yes,n\n"
    (record,) = read(text)
    assert record == {
        "id": "7",
        "title": "t",
        "abstract": "a",
        "_label": "1",
        "_label_ta": "0",
        "_Included": "yes",
        "_note": "n",
        "_line": 2,
    }
    assert shown_fields(record) == {"title": "t", "abstract": "a"}


def test_names_that_meet_behind_the_underscore_are_both_kept() -> None:
    (record,) = read("title,label,_label,_line\nt,1,0,9\n")
    assert record == {
        "id": "record-1",
        "title": "t",
        "_label": "1",
        "__label": "0",
        "__line": "9",
        "_line": 2,
    }


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("Title,PMID,DOI", "t,12,10.1/x", "12"),
        ("Title,UT (Unique WOS ID),DOI", "t,WOS:1,10.1/x", "WOS:1"),
        ("Title,EID,DOI", "t,2-s2.0-1,https://doi.org/10.1/x", "2-s2.0-1"),
        ("Title,DOI", "t,https://doi.org/10.1/x", "10.1/x"),
        ("Key,Title,DOI", "AB12,t,10.1/x", "AB12"),
        ("NCT Number,Study Title", "NCT01,t", "NCT01"),
        ("record_id,Title,pmid", ",t,12", "12"),
        ("Title", "t", "record-1"),
    ],
)
def test_the_id_is_the_best_that_the_row_has(header: str, row: str, expected: str) -> None:
    assert read(f"{header}\n{row}\n")[0]["id"] == expected


def test_the_first_filled_column_of_several_serves_and_the_others_are_kept() -> None:
    text = "Title,Original Title,Author Keywords,Index Keywords\n,Titel,k,i; j\nt,Titel,,i; j\n"
    first, second = read(text)
    assert (first["title"], first["keywords"], first["_Index Keywords"]) == ("Titel", ["k"], "i; j")
    assert (second["title"], second["_Original Title"], second["keywords"]) == ("t", "Titel", ["i", "j"])


def test_the_two_letter_columns_of_web_of_science_are_known() -> None:
    (record,) = read("PT\tAU\tTI\tSO\tID\tUT\nJ\tA, B; C, D\tt\tJ WALK\tplus\tWOS:3\n")
    assert record == {
        "id": "WOS:3",
        "title": "t",
        "authors": ["A, B", "C, D"],
        "journal": "J WALK",
        "_PT": "J",
        "_ID": "plus",
        "_line": 2,
    }


@pytest.mark.parametrize(
    ("cell", "authors"),
    [
        ("Wilson L.N.; Gardner J.D.", ["Wilson L.N.", "Gardner J.D."]),
        ("Griffin DK, Larkin DM, O'Connor RE.", ["Griffin DK", "Larkin DM", "O'Connor RE"]),
        ("Yang Z., Jiang B., McNamara M.E.", ["Yang Z.", "Jiang B.", "McNamara M.E."]),
        ("Sampson, Scott D.", ["Sampson, Scott D."]),
        ("Smith JA Jr, de la Fuente R.", ["Smith JA Jr", "de la Fuente R."]),
        ("Erickson GM.", ["Erickson GM"]),
        ("WHO", ["WHO"]),
    ],
)
def test_authors_are_separated_as_each_database_writes_them(cell: str, authors: list[str]) -> None:
    assert read(f'title,authors\nt,"{cell}"\n')[0]["authors"] == authors


def test_a_year_with_more_than_a_year_keeps_the_rest() -> None:
    first, second, third = read("title,Publication Date\na,2020-05\nb,2021.0\nc,soon\n")
    assert (first["year"], first["_Publication Date"]) == (2020, "2020-05")
    assert second == {"id": "record-2", "title": "b", "year": 2021, "_line": 3}
    assert third["year"] == "soon"


def test_lines_are_counted_through_quoted_line_breaks_and_empty_rows_are_no_records() -> None:
    text = 'title,abstract\r\na,"1\r\n2\r\n3"\r\n\r\n,\r\nb,c\r\n'
    assert [(r["title"], r["_line"]) for r in read(text)] == [("a", 2), ("b", 7)]


def test_what_stands_above_the_header_is_passed_over() -> None:
    text = '"SEARCH QUERY","walks:ti"\n-------\n\n"Title","Abstract"\na,b\n'
    assert read(text) == [{"id": "record-1", "title": "a", "abstract": "b", "_line": 5}]


def test_a_column_without_a_name_is_kept_by_its_position() -> None:
    assert read(",title,\n0,t,\n")[0]["_column_1"] == "0"


def test_a_cell_larger_than_csv_allows_by_itself_is_read() -> None:
    assert len(read("title,abstract\nt," + "x" * 200_000)[0]["abstract"]) == 200_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,note\na,b\n", r"export\.csv:1: no column for a title or an abstract.*'name', 'note'"),
        ("12,Some title,2020\n13,Another,2021\n", r"export\.csv:1: the first row looks like a record"),
        ("title,year\na,2020\nb,2021,x,y\n", r"export\.csv:3: a row of 4 cells under a header of 2"),
        ('title,abstract\na,"b\n\nc"\nd,e,f\n', r"export\.csv:5: a row of 3 cells"),
        ("id,title,abstract\n1,a,b\n2\n", r"export\.csv:3: a row of 1 cells .* neither title nor abstract"),
        ('title,abstract\na,b\nc,"d\ne,f\n', r"export\.csv:3: a quote .* never closed"),
        ('title,abstract\na,"b"c\n', r"export\.csv:2: the quotes .* do not match"),
        ("title,abstract\n", "no record"),
        ("title\n\n\n", "no record"),
    ],
)
def test_a_fault_is_an_error_naming_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(text)
