"""A table comes back as it was, with the decision behind its columns."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stage.hostile import TEXT, without_source
from stage.independent_counts import RECORD_FILES
from stage.shared_data import DATA, needs_real_records
from tamis_producer.files.decode import read_decoded
from tamis_producer.results.formula_guard import guarded, unguarded
from tamis_review.intake.delimited import read_delimited
from tamis_review.intake.delimited_writing import write_csv, write_tsv
from tamis_review.intake.recognise import Format
from tamis_review.intake.source import source_format
from tamis_schemas.records.item import shown_fields

PATH = Path("export.csv")


def written(records: list[dict[str, Any]], write: Any = write_csv) -> str:
    stream = io.StringIO(newline="")
    write(records, stream)
    return stream.getvalue()


def read(text: str) -> list[dict[str, Any]]:
    return read_delimited(text, PATH)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\r\n", "\n", "\r"])
def test_delimiter_line_ends_quotes_and_what_stands_above_come_back(delimiter: str, line_end: str) -> None:
    rows = [
        ["SEARCH", '"walks:ti"'],
        [],
        ["Title", "Author(s)", "Year", "My label", ""],
        [f'"a{delimiter} b ""c"""', "X Y", "2020-05", " 1 ", "x"],
        ["b", "", "", "=SUM(A1)", ""],
    ]
    text = "".join(delimiter.join(row) + line_end for row in rows)
    records = read(text)
    assert written(records, write_tsv if delimiter == "\t" else write_csv) == text
    assert source_format(records[0]) is (Format.TSV if delimiter == "\t" else Format.DELIMITED)


@pytest.mark.parametrize(
    "text",
    [
        '"Title","Year"\r\n"a","2020"\r\n"b",""\r\n',
        'Title,Year\n"a","2020"\n"b",""\n',
        '"Title","Year","Note"\n"a","2020",\n"b",,"n"\n',
        'Title,Year\r\na,2020\r\n"b,",\r\n',
        'Title\n"a,"\nb\n',
        "Title,Year\na,2020\nb,2021",
        "Title,Year\na,2020\r\nb,2021\r\n",
    ],
)
def test_quotes_around_all_cells_or_all_that_are_filled_stay(text: str) -> None:
    assert written(read(text)) == text


def test_a_subset_has_the_columns_but_not_what_stood_above_the_header() -> None:
    records = read("SEARCH walks:ti\nTitle,Year,Note\na,2020,\nb,2021,n\n")
    assert written(records[1:]) == "Title,Year,Note\nb,2021,n\n"


def test_the_decision_gets_columns_behind_the_others_and_is_replaced() -> None:
    records = read("Title;Label\na;1\nb;0\n")
    records[0] |= {"_tamis_decision": "exclude", "_tamis_confidence": 0.9, "_tamis_reason": "=1+1;\n"}
    once = written(records)
    assert once == (
        "Title;Label;tamis_decision;tamis_confidence;tamis_reason;tamis_exclusion_reason\n"
        'a;1;exclude;0.9;"\'=1+1;\n";\nb;0;;;;\n'
    )
    again = read(once)
    assert without_source(again) == without_source(records)
    assert shown_fields(again[0]) == {"title": "a"}
    again[0]["_tamis_decision"] = "include"
    assert written(again) == once.replace("exclude;0.9", "include;0.9")


def test_only_what_a_model_wrote_is_guarded_against_formulas() -> None:
    (record,) = read("Title,Note\n=1+1,@x\n")
    record["_tamis_reason"] = "@SUM(1)"
    assert "=1+1,@x,,,'@SUM(1)," in written([record])


@given(TEXT | st.text("'=+-@\t\ra"))
def test_a_guarded_text_is_no_formula_and_can_be_had_back(text: str) -> None:
    assert not guarded(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unguarded(guarded(text)) == text


def test_changed_cells_show_and_new_fields_get_columns() -> None:
    records = read("Title,Authors,Note,Abstract\na,X; Y,n,\nb,Z,m,  \n")
    records[0] |= {"authors": ["X", "Y", "Q; R"], "_Note": "new", "year": 2020}
    records[1] |= {"authors": ["Z", "Y"], "abstract": "text", "pmid": "5"}
    del records[1]["title"]
    assert written(records) == ('Title,Authors,Note,Abstract,year,pmid\na,"X; Y; Q, R;",new,,2020,\n,Z; Y,m,text,,5\n')


def test_a_table_of_tabs_is_written_with_commas_when_that_is_asked_for() -> None:
    records = read("Title\tMy label\na, b\t1\n")
    assert written(records) == 'Title,My label\r\n"a, b",1\r\n'


def test_records_from_elsewhere_have_the_canonical_columns_and_their_own() -> None:
    records = [
        {"id": "k1", "title": "a", "authors": ["X, Y"], "sample": 12, "_label": "1", "_tamis_decision": "include"},
        {"id": "5", "pmid": "5", "abstract": "b", "keywords": ["walks, long"]},
        {"id": "record-3"},
    ]
    text = written(records)
    assert text == (
        "id,title,abstract,authors,keywords,pmid,sample,tamis_decision,tamis_confidence,tamis_reason,"
        'tamis_exclusion_reason\r\nk1,a,,"X, Y",,,12,include,,,\r\n,,b,,"walks, long;",5,,,,,\r\nrecord-3,,,,,,,,,,\r\n'
    )
    first, second, third = read(text)
    assert (first["authors"], second["keywords"], second["id"], third["id"]) == (
        ["X, Y"],
        ["walks, long"],
        "5",
        "record-3",
    )


def test_tables_with_different_columns_become_one() -> None:
    records = [*read("Title,Label\na,1\n"), *read("title;abstract\nb;c\n")]
    assert [own.get("title") for own in read(written(records))] == ["a", "b"]
    assert written(records).splitlines()[0] == "Title,Label,abstract"


NAME = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=6).map(str.strip)


@given(
    st.lists(NAME, min_size=1, max_size=5, unique_by=str.casefold).filter(
        lambda names: "title" not in map(str.casefold, names)
    ),
    st.lists(st.lists(TEXT, min_size=6, max_size=6), min_size=1, max_size=4),
    st.sampled_from(",;\t|"),
)
def test_every_cell_of_any_table_comes_back(names: list[str], rows: list[list[str]], delimiter: str) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter)
    table = [["Title", *names], *([f"t{row[0]}", *row[1 : len(names) + 1]] for row in rows)]
    writer.writerows(table)
    records = read(stream.getvalue())
    if (found := "\t" if source_format(records[0]) is Format.TSV else ",") != "\t":
        found = records[0]["_source"].get("layout", {}).get("delimiter", ",")
    text = written(records, write_tsv if found == "\t" else write_csv)
    assert list(csv.reader(io.StringIO(text, newline=""), delimiter=found)) == table


@needs_real_records
def test_real_tables_come_back_cell_by_cell() -> None:
    for name in RECORD_FILES:
        if not name.startswith(("exports/CSV/", "screening/")):
            continue
        path = DATA / name
        text = read_decoded(path).text
        again = written(read(text))
        if path.name != "_baseline_embase.csv":  # its quotes follow no rule
            assert again == text, path.name
        rows = [
            list(csv.reader(io.StringIO(one, newline=""), delimiter=";" if "semicolon" in path.name else ","))
            for one in (text, again)
        ]
        assert rows[0] == rows[1], path.name
