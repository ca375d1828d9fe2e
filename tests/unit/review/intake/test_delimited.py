"""CSV and its kin: what the columns mean, and what cannot be a table of records.

A table comes back as it was, with the decision behind its columns.
"""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stage.hostile import TEXT, without_source
from stage.independent_counts import RECORD_FILES
from stage.shared_data import DATA, needs_real_records
from tamis_producer.files.decode import read_decoded
from tamis_producer.results.formula_guard import FORMULA_STARTS, guarded, unguarded
from tamis_review.intake import read_records, write_records
from tamis_review.intake.delimited import read_delimited, write_csv, write_tsv
from tamis_review.intake.notes import Notes
from tamis_review.intake.recognise import Format
from tamis_review.intake.ris import read_ris
from tamis_review.intake.source import source_format
from tamis_schemas import InputError
from tamis_schemas.records.item import shown_fields

PATH = Path("export.csv")


def written(records: list[dict[str, Any]], write: Any = write_csv) -> str:
    stream = io.StringIO(newline="")
    write(records, stream)
    return stream.getvalue()


def read(text: str) -> list[dict[str, Any]]:
    return read_delimited(text, Notes(PATH, strict=True))


def without_source_of(text: str) -> list[dict[str, Any]]:
    """The records, but for what they remember of their source."""
    return [
        {name: value for name, value in own.items() if name != "_source"}
        for own in read_delimited(text, Notes(PATH, strict=True))
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_makes_a_header(delimiter: str) -> None:
    rows = [["Title", "Abstract", "Year"], ['"a, b; c | d"', '"e\n""f"""', "2020"]]
    text = "\r\n".join(delimiter.join(row) for row in rows)
    assert without_source_of(text) == [
        {"id": "record-1", "title": "a, b; c | d", "abstract": 'e\n"f"', "year": 2020, "_line": 2}
    ]


def test_labels_stay_with_the_record_and_are_never_shown() -> None:
    text = "id,title,abstract,label,label_ta,Included,_note\n7,t,a,1,0,yes,n\n"
    (record,) = without_source_of(text)
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
    (record,) = without_source_of("title,label,_label,_line\nt,1,0,9\n")
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
    assert without_source_of(f"{header}\n{row}\n")[0]["id"] == expected


def test_the_first_filled_column_of_several_serves_and_the_others_are_kept() -> None:
    text = "Title,Original Title,Author Keywords,Index Keywords\n,Titel,k,i; j\nt,Titel,,i; j\n"
    first, second = without_source_of(text)
    assert (first["title"], first["keywords"], first["_Index Keywords"]) == ("Titel", ["k"], "i; j")
    assert (second["title"], second["_Original Title"], second["keywords"]) == ("t", "Titel", ["i", "j"])


def test_the_two_letter_columns_of_web_of_science_are_known() -> None:
    (record,) = without_source_of("PT\tAU\tTI\tSO\tID\tUT\nJ\tA, B; C, D\tt\tJ WALK\tplus\tWOS:3\n")
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
    assert without_source_of(f'title,authors\nt,"{cell}"\n')[0]["authors"] == authors


def test_a_year_with_more_than_a_year_keeps_the_rest() -> None:
    first, second, third = without_source_of("title,Publication Date\na,2020-05\nb,2021.0\nc,soon\n")
    assert (first["year"], first["_Publication Date"]) == (2020, "2020-05")
    assert second == {"id": "record-2", "title": "b", "year": 2021, "_line": 3}
    assert third["year"] == "soon"


def test_lines_are_counted_through_quoted_line_breaks_and_empty_rows_are_no_records() -> None:
    text = 'title,abstract\r\na,"1\r\n2\r\n3"\r\n\r\n,\r\nb,c\r\n'
    assert [(r["title"], r["_line"]) for r in without_source_of(text)] == [("a", 2), ("b", 7)]


def test_what_stands_above_the_header_is_passed_over() -> None:
    text = '"SEARCH QUERY","walks:ti"\n-------\n\n"Title","Abstract"\na,b\n'
    assert without_source_of(text) == [{"id": "record-1", "title": "a", "abstract": "b", "_line": 5}]


def test_a_column_without_a_name_is_kept_by_its_position() -> None:
    assert without_source_of(",title,\n0,t,\n")[0]["_column_1"] == "0"


def test_a_cell_larger_than_csv_allows_by_itself_is_read() -> None:
    assert len(without_source_of("title,abstract\nt," + "x" * 200_000)[0]["abstract"]) == 200_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,note\na,b\n", r"export\.csv:1: no column for a title or an abstract.*'name', 'note'"),
        ("12,Some title,2020\n13,Another,2021\n", r"export\.csv:1: the first row looks like a record"),
        ("title,year\na,2020\nb,x,y,2021\n", r"export\.csv:3: a row of 4 cells under a header of 2"),
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
        without_source_of(text)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\r\n", "\n", "\r"])
def test_delimiter_line_ends_quotes_and_what_stands_above_come_back(delimiter: str, line_end: str) -> None:
    rows = [
        ["SEARCH", '"=walks:ti"'],
        [],
        ["Title", "Author(s)", "Year", "My label", ""],
        [f'"a{delimiter} b ""c"""', "X Y", "2020-05", " 1 ", "x"],
        ["b", "", "", "=SUM(A1)", ""],
    ]
    text = "".join(delimiter.join(row) + line_end for row in rows)
    records = read(text)
    guarded_text = text.replace("=SUM", "'=SUM").replace("=walks", "'=walks")
    assert written(records, write_tsv if delimiter == "\t" else write_csv) == guarded_text
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


def test_every_cell_is_guarded_against_formulas_and_read_again_without_the_guard() -> None:
    (record,) = read("Title,Note,+name\n=1+1,@x,-1\n")
    record["_tamis_reason"] = "@SUM(1)"
    text = written([record])
    assert text.startswith("Title,Note,'+name,")
    assert "'=1+1,'@x,'-1,,,'@SUM(1)," in text
    (again,) = read(text)
    assert (again["title"], again["_Note"], again["_+name"]) == ("=1+1", "@x", "-1")


@given(st.lists(TEXT | st.text("'=+-@\t\ra"), min_size=4, max_size=4), st.sampled_from((write_csv, write_tsv)))
def test_no_record_of_any_origin_becomes_a_live_formula_in_a_table(texts: list[str], write: Any) -> None:
    title, note, author, label = texts
    of_ris = read_ris(f"TY  - JOUR\nTI  - {' '.join(title.split())}\nAB  - x\nER  - \n", Notes(PATH))
    records = [
        *of_ris,
        {"id": note, "title": title, "authors": [author, author], label or "a": note, "_tamis_reason": note},
    ]
    delimiter = "\t" if write is write_tsv else ","
    rows = csv.reader(io.StringIO(written(records, write), newline=""), delimiter=delimiter)
    assert not [cell for row in rows for cell in row if cell.startswith(FORMULA_STARTS)]


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
@example([";"], [["", "\n", "", "", "", ""]], "\t")
def test_every_cell_of_any_table_comes_back(names: list[str], rows: list[list[str]], delimiter: str) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter)
    table = [["Title", *names], *([f"t{row[0]}", *row[1 : len(names) + 1]] for row in rows)]
    writer.writerows(table)
    records = read(stream.getvalue())
    if (found := "\t" if source_format(records[0]) is Format.TSV else ",") != "\t":
        found = records[0]["_source"].get("layout", {}).get("delimiter", ",")
    text = written(records, write_tsv if found == "\t" else write_csv)
    guarded_table = [[guarded(unguarded(cell)) for cell in row] for row in table]
    assert list(csv.reader(io.StringIO(text, newline=""), delimiter=found)) == guarded_table


@pytest.mark.night
@needs_real_records
def test_real_tables_come_back_cell_by_cell() -> None:
    for name in RECORD_FILES:
        if not name.startswith(("exports/CSV/", "screening/")):
            continue
        path = DATA / name
        text = read_decoded(path).text
        again = written(read(text))
        rows = [
            list(csv.reader(io.StringIO(one, newline=""), delimiter=";" if "semicolon" in path.name else ","))
            for one in (text, again)
        ]
        expected = [[guarded(cell) for cell in row] for row in rows[0]]
        assert rows[1] == expected, path.name
        if expected == rows[0] and path.name != "_baseline_embase.csv":  # its quotes follow no rule
            assert again == text, path.name


@pytest.mark.parametrize(
    "cell",
    [
        "123",
        "PUBMED 123",
        "PUBMED 123,EMBASE 456",
        "123.0",
        "123 [http://x/?term=123]",
        "https://pubmed.ncbi.nlm.nih.gov/123/",
    ],
)
def test_a_pubmed_id_is_read_in_every_form_and_written_as_it_was(cell: str) -> None:
    text = f'title,PubMed ID\r\na,"{cell}"\r\n'
    records = read(text)
    assert records[0]["pmid"] == "123"
    assert list(csv.reader(io.StringIO(written(records)))) == [["title", "PubMed ID"], ["a", cell]]


def test_a_doi_in_the_address_is_read_and_gets_no_column() -> None:
    records = read("title,url\r\na,https://doi.org/10.1000/w\r\n")
    assert records[0]["doi"] == "10.1000/w"
    assert written(records) == "title,url\r\na,https://doi.org/10.1000/w\r\n"


@pytest.mark.parametrize(
    ("column", "text", "pmid"),
    [
        ("ID", "PUBMED 21314913", "21314913"),
        ("ID", "EMBASE 361584103,PUBMED 21314913", "21314913"),
        ("Cochrane Review ID", "PUBMED 21314913, EMBASE 361584103", "21314913"),
        ("Accession Number", "pubmed 7", "7"),
        ("ID", "EMBASE 361584103", None),
        ("ID", "21314913", None),
        ("ID", "CN-PUBMED 12", None),
        ("ID", "PUBMED 1234567890", None),
    ],
)
def test_an_id_that_is_a_pubmed_id_by_name_gives_it_and_the_table_comes_back(
    tmp_path: Path, column: str, text: str, pmid: str | None
) -> None:
    table = f'{column},Title,Abstract\n"{text}",T,"A, b"\n'
    (tmp_path / "in.csv").write_text(table, "utf-8")
    (record,) = read_records(tmp_path / "in.csv")
    assert record.get("pmid") == pmid
    assert text in (record["id"], record.get(f"_{column}"))
    write_records([record], tmp_path / "out.csv")
    (again,) = read_records(tmp_path / "out.csv")
    assert again == record
    assert (tmp_path / "out.csv").read_text("utf-8").splitlines()[0].count(",") == 2
