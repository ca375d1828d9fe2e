"""Damaged tables: what is malformed costs one record, and a note says which."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.intake import cell_rows
from tamis_review.intake.delimited import read_delimited
from tamis_review.intake.notes import Note, NoteKind, Notes
from tamis_schemas import InputError

PATH = Path("export.csv")


def read(text: str) -> tuple[list[dict[str, Any]], tuple[Note, ...]]:
    notes = Notes(PATH)
    return read_delimited(text, notes), notes.taken


def titles(text: str) -> list[str]:
    return [record["title"] for record in read(text)[0]]


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        ("b,x,more,2020", "a row of 4 cells under a header of 3: does a cell contain the delimiter without quotes?"),
        (",,", None),  # a row without a word is no record
        ("", None),
        ('"b"c,x,2020', "the quotes of the row beginning here do not match"),
        ('b,"he said "no", twice",2020', "the quotes of the row beginning here do not match"),
        ('b,"x,2020', "the quotes of the row beginning here do not match"),  # its quote meets the next row's
        ('b,"x\ny\n"z",2020', "the quotes of the row beginning here do not match"),
    ],
)
def test_a_damaged_row_costs_one_record_and_the_others_are_read(damaged: str, reason: str | None) -> None:
    text = f'title,abstract,year\na,"first, one",2019\n{damaged}\nc,"third, one",2021\nd,"fourth",2022\n'
    records, notes = read(text)
    assert [(record["title"], record["year"]) for record in records] == [("a", 2019), ("c", 2021), ("d", 2022)]
    lines = text.split("\n")
    assert [record["_line"] for record in records] == [2, lines.index('c,"third, one",2021') + 1, len(lines) - 1]
    if reason is None:
        assert notes == ()
        return
    (note,) = notes
    assert (note.kind, note.line) == (NoteKind.LOST, 3)
    assert note.text.startswith(reason)
    with pytest.raises(InputError, match=r"export\.csv:3: "):
        read_delimited(text, Notes(PATH, strict=True))


def test_a_quote_that_is_never_closed_costs_no_more_than_its_row_where_the_next_can_be_read() -> None:
    records, (note,) = read('title,abstract\na,b\nc,"d\ne,f\ng,h\n')
    assert [(record["title"], record["_line"]) for record in records] == [("a", 2), ("e", 4), ("g", 5)]
    assert (note.line, note.text) == (
        3,
        "a quote that opens in the row beginning here is never closed; the next complete row begins in line 4",
    )


@pytest.mark.parametrize(
    ("row", "is_kept"),
    [
        ('Walks,"We saw, all of us",2021,a,b', True),
        ("Walks,We saw all.,2021,a,b", True),
        ("Walks,We saw, all of us.,2021,b", False),  # the abstract is cut
        ("Walks,We saw.,all of us.,2021,b", False),  # the year is none
        ("Walks,We saw all,2021,a, b", True),
        ("Walks, in towns,We saw all.,2021,b", False),
        (",We saw all.,2021,a,b", False),
    ],
)
def test_a_surplus_cell_costs_the_record_only_where_its_content_is_shifted(row: str, is_kept: bool) -> None:
    notes = Notes(PATH)
    read_delimited(f"Title,Abstract,Year,Note\nt,a,2020,n\n{row}\n", notes)
    assert [note.kind for note in notes.taken] == [NoteKind.SKIPPED if is_kept else NoteKind.LOST]


@pytest.mark.parametrize(
    ("authors", "is_kept"),
    [(",Moor A.", False), ('"","Moor A."', False), ("Moor A.,b", True), ('"Moor, A",b', True)],
)
def test_authors_behind_a_surplus_cell_are_lost_with_a_note_and_never_without(authors: str, is_kept: bool) -> None:
    records, notes = read(f"Title,Abstract,Year,Authors\nt,a,2020,n\nWalks,We saw.,2021,{authors}\n")
    assert [note.kind for note in notes] == [NoteKind.SKIPPED if is_kept else NoteKind.LOST]
    assert [record.get("authors") is not None for record in records[1:]] == [True] * is_kept


def test_a_surplus_cell_before_a_year_costs_the_record_although_quotes_stand_around_every_cell() -> None:
    row = '"Walks","in towns","2021","We saw.","n"'
    _, (note,) = read(f"Title,Year,Abstract,Note\nt,2020,a,n\n{row}\n")
    assert (note.kind, note.line) == (NoteKind.LOST, 3)


def test_rows_of_a_small_table_have_the_width_of_its_header_without_empty_rows() -> None:
    rows = cell_rows.rows_of_table("\na;b;c\n\n1\n1;'=2;3;;\n", PATH, len)
    assert [(row.line, row.cells) for row in rows] == [
        (2, ["a", "b", "c"]),
        (4, ["1", "", ""]),
        (5, ["1", "=2", "3"]),
    ]
    with pytest.raises(InputError, match=r"export\.csv:2: the row has 2 cells, but the header has 1 columns"):
        list(cell_rows.rows_of_table("a\n1,2\n", PATH, len))


def test_where_no_row_can_be_read_behind_it_one_note_says_that_the_rest_is_lost() -> None:
    records, (note,) = read('title,abstract,year\na,b,1\nc,"d,\nno row\nno row, either\n')
    assert [record["title"] for record in records] == ["a"]
    assert note.line == 3
    assert note.text.endswith("is never closed; no row after it can be read")


def test_a_short_row_with_neither_title_nor_abstract_is_lost_and_one_with_either_is_read() -> None:
    records, (note,) = read("id,title,abstract,year\n1,a,b,2020\n2\n3,c\n4,,d\n")
    assert [record["id"] for record in records] == ["1", "3", "4"]
    assert (note.line, note.text) == (
        3,
        "a row of 1 cells under a header of 4, with neither title nor abstract: does a cell contain a line break "
        "without quotes?",
    )


def test_the_lines_of_a_text_whose_opening_quote_is_gone_cost_one_record() -> None:
    text = "id,title,abstract,year\n1,a,b,2020\n2\nfirst line\nsecond line\n3,c,d,2021\n4\n5,e,f,2022\n"
    records, notes = read(text)
    assert [record["id"] for record in records] == ["1", "3", "5"]
    assert [(note.kind, note.line, note.n) for note in notes] == [
        (NoteKind.LOST, 3, 1),
        (NoteKind.SKIPPED, 4, 2),
        (NoteKind.LOST, 7, 1),
    ]


def test_what_a_quote_swallowed_without_a_trace_is_read_and_a_text_of_several_lines_is_not_taken_for_rows() -> None:
    records, (note,) = read('title,abstract,note\n"a","b","c\n",;","e","f"\n"g","h","i"\n')
    assert [record["title"] for record in records] == [",;", "g"]
    assert note.line == 2
    records, (note,) = read('title,abstract,note\na,b, b,"c\nd, e\nf"\ng,h,i\n')
    assert [record["title"] for record in records] == ["g"]
    assert note.line == 2


def test_a_line_of_text_with_as_many_commas_as_the_header_is_no_record_behind_a_stray_quote() -> None:
    text = 'title,abstract,year\na,"first "word", of\nsome, long, text\nand more"\n",2019\nb,c,2020\nd,e,2021\n'
    records, (note,) = read(text)
    assert [record["title"] for record in records] == ["b", "d"]
    assert note.line == 2
    # One damaged row behind another costs no whole row between the two.
    assert titles('title,abstract,year\na,"x"y,1\nb,c,2\nd,"x"y,3\ne,f,4\n') == ["b", "e"]


def test_a_table_of_which_nothing_can_be_read_is_an_error() -> None:
    with pytest.raises(InputError, match=r"export\.csv:2: a row of 3 cells.*; none of its 2 records can be read"):
        read("title,abstract\na,b,c\nd,e,f\n")
    with pytest.raises(InputError, match="no column for a title or an abstract"):
        read("name,note\na,b\n")


def test_rows_far_apart_are_each_found_again() -> None:
    rows = [f'"title {n}","text, {n}","20{n:02}"' for n in range(60)]
    rows[10] = '"title 10","text, 10,"2010"'
    rows[11] = '"title 11,"text, 11","2011"'
    rows[40] = '"title 40","a "quoted", word","2040"'
    records, notes = read("\n".join(['"Title","Abstract","Year"', *rows]))
    assert [record["year"] - 2000 for record in records] == [n for n in range(60) if n not in (10, 11, 40)]
    # Line 12 and 13 are one stretch of damage: where the first row ends cannot be seen.
    assert [note.line for note in notes] == [12, 42]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(*[st.text("abc ,;é", min_size=1, max_size=6).map(str.strip).filter(bool)] * 3), min_size=2),
    st.data(),
)
def test_whichever_row_is_damaged_all_others_are_read(rows: list[tuple[str, ...]], data: st.DataObject) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([("title", "abstract", "note"), *rows])
    lines = stream.getvalue().splitlines()
    at = data.draw(st.integers(1, len(rows)))
    title, abstract, note = rows[at - 1]
    # The damaged line, the row that is read from it, and the note.
    lines[at], own, noted = data.draw(
        st.sampled_from(
            [
                (lines[at].removesuffix('"'), [], [NoteKind.LOST]),  # a quote that is not closed
                # A quote that stands alone within a cell, and a cell too many: neither costs any content.
                (lines[at].replace('"', '"x" y', 1), [(f'x" y{title}', abstract, note)], []),
                (f'{lines[at]},"more"', [(title, abstract, note)], [NoteKind.SKIPPED]),
            ]
        )
    )
    text = "\r\n".join(lines) + "\r\n"
    records, notes = read(text)
    left = [*rows[: at - 1], *own, *rows[at:]]
    assert [(record["title"], record["abstract"], record["_note"]) for record in records] == left
    assert [(note.kind, note.line) for note in notes] == [(kind, at + 1) for kind in noted]


@settings(max_examples=60)
@given(st.data())
def test_whatever_is_done_to_a_table_it_is_read_or_refused_and_every_record_stands_in_a_line_of_its_own(
    data: st.DataObject,
) -> None:
    text = 'Title,Abstract,Year,Note\r\n"a","b, ""c""\r\nd",2020,\r\n' + "".join(f"t{n},x,20{n},\r\n" for n in range(9))
    for _ in range(data.draw(st.integers(1, 4))):
        at, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        kept = data.draw(st.sampled_from([at, min(at + 1, len(text)), end]))
        text = text[:at] + data.draw(st.text('",\r\na\0', max_size=3)) + text[kept:]
    try:
        records, notes = read(text)
    except InputError:
        return
    lines = [record["_line"] for record in records]
    assert lines == sorted(set(lines))
    assert not set(lines) & {note.line for note in notes if note.text != "a cell beyond the header's"}


def test_a_text_made_of_stray_quotes_is_read_in_time_that_grows_with_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each line opens a quote that the next one closes and opens again: every one of them seems to run to the end."""
    count = [0]

    class Counted(cell_rows._Lines):
        def __next__(self) -> str:
            count[0] += 1
            return super().__next__()

    monkeypatch.setattr(cell_rows, "_Lines", Counted)
    monkeypatch.setattr(cell_rows, "READ_AGAIN", 0)
    lines = 2_000
    with pytest.raises(InputError, match="too many such quotes to find the next complete row"):
        read("title,abstract,year\n" + 'a",b,"\n' * lines)
    assert count[0] < (cell_rows.TIMES_AGAIN + 4) * lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_through_what_is_read_again(end: str) -> None:
    text = end.join(["title,abstract", 'a,"one', 'two"', 'b,"c', "d,e", 'f,"g', 'h"', "i,j", ""])
    records, (note,) = read(text)
    # The quote of line 4 is closed in line 6, where a letter stands behind it.
    assert [(record["title"], record["_line"]) for record in records] == [("a", 2), ("d", 5), ("f", 6), ("i", 8)]
    assert note.line == 4
