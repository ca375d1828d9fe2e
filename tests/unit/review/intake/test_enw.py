"""EndNote's tagged format: every tag is kept, every fault has its line."""

from pathlib import Path

import pytest

from tamis_review.intake import read_file, read_records, write_records
from tamis_review.intake.enw import read_enw
from tamis_review.intake.notes import NoteKind, Notes
from tamis_review.intake.recognise import Format
from tamis_schemas import InputError

PATH = Path("export.enw")

TWO = """\
%0 Journal Article
%A Rossi, Ada
%A Ekholm, Bo
%D 2021
%T Walking to work
%J Journal of Walks
%V 3
%N 2
%P 10-19
%! Walking
%@ 1234-5678
%+ Univ Walks, Rome
%X We asked people.
They answered.

They asked us.
%K exercise
mood
%R https://doi.org/10.1000/walk.1
%U https://library.example/1
%U https://library.example/2
%M 123
%W NLM
%G eng
%E Editor, One
%E Editor, Two
%Z a note

%0 Book Section
%T A chapter
%B A book
%8 2020 May
%M 77
"""


def test_canonical_names_hidden_rest_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "records.txt"
    path.write_text("\ufeff" + TWO)
    intake = read_file(path)
    assert (intake.format, intake.notes) == (Format.ENDNOTE_TAGGED, ())
    first, second = intake.records
    assert first == {
        "id": "123",
        "title": "Walking to work",
        "abstract": "We asked people.\nThey answered.\nThey asked us.",
        "authors": ["Rossi, Ada", "Ekholm, Bo"],
        "year": 2021,
        "journal": "Journal of Walks",
        "keywords": ["exercise", "mood"],
        "type": "Journal Article",
        "language": "eng",
        "doi": "10.1000/walk.1",
        "pmid": "123",
        "url": "https://library.example/1",
        "_enw_V": "3",
        "_enw_N": "2",
        "_enw_P": "10-19",
        "_enw_!": "Walking",
        "_enw_@": "1234-5678",
        "_enw_+": "Univ Walks, Rome",
        "_enw_U": "https://library.example/2",
        "_enw_W": "NLM",
        "_enw_E": ["Editor, One", "Editor, Two"],
        "_enw_Z": "a note",
        "_line": 1,
    }
    assert second == {
        "id": "77",
        "title": "A chapter",
        "year": 2020,
        "journal": "A book",
        "type": "Book Section",
        "_enw_8": "2020 May",
        "_line": 29,
    }


def test_refer_the_older_format_leaves_the_type_out(tmp_path: Path) -> None:
    path = tmp_path / "refer"
    path.write_text("%A Rossi, Ada\n%T One\n%D 2020\n\n%A Ekholm, Bo\n%T Two\n")
    assert [(record["title"], record["_line"]) for record in read_records(path)] == [("One", 1), ("Two", 5)]


A, B, C = (f"%0 Journal Article\n%T {name}\n%D 2020\n\n" for name in "abc")


@pytest.mark.parametrize(
    ("damaged", "titles", "lost"),
    [
        ("%0 Journal Article\n%0 Journal Article\n%T b\n\n", "abc", [5]),
        ("%0 Journal Article\n\n%T b\n\n", "abc", [5]),
        ("%D 2020\n%V 3\n\n", "ac", [5]),
        (B.rstrip("\n") + "\n", "abc", []),  # no empty line behind it
    ],
)
def test_a_broken_record_costs_no_other(damaged: str, titles: str, lost: list[int]) -> None:
    notes = Notes(PATH)
    assert [record["title"] for record in read_enw(A + damaged + C, PATH, notes)] == [*titles]
    assert [note.line for note in notes.taken if note.kind is NoteKind.LOST] == lost
    if lost:
        with pytest.raises(InputError, match=r"export\.enw:5: a part of a record"):
            read_enw(A + damaged + C, PATH)


def test_text_between_records_is_skipped_and_a_file_of_parts_alone_is_an_error() -> None:
    notes = Notes(PATH, strict=True)
    assert len(read_enw(f"Exported today\n\n{A}2.\n{B}", PATH, notes)) == 2
    assert [(note.text, note.line) for note in notes.taken] == [
        ("line of text outside of any record", 1),
        ("record number", 7),
    ]
    with pytest.raises(InputError, match=r"export\.enw:1: a part of a record.*; none of its 2 records can be read"):
        read_enw("%V 3\n\n%V 4\n", PATH, Notes(PATH))
    with pytest.raises(InputError, match="no record"):
        read_enw("text\n", PATH)


def test_text_behind_an_empty_line_is_a_paragraph_if_the_record_goes_on_and_else_none() -> None:
    notes = Notes(PATH)
    text = "%0 Journal Article\n%T a\n%X one\n\ntwo\n%K c\n\nhalf a\n%T b\n%X three\n\nend\n"
    first, second = read_enw(text, PATH, notes)
    assert (first["abstract"], first["keywords"]) == ("one\ntwo", ["c"])
    assert (second["title"], second["abstract"]) == ("b", "three")
    assert [(note.line, note.n) for note in notes.taken] == [(8, 2)]


@pytest.mark.parametrize("form", [Format.RIS, Format.ENDNOTE_XML, Format.DELIMITED])
def test_what_a_format_can_hold_is_exported(tmp_path: Path, form: Format) -> None:
    own = read_enw(TWO, PATH)
    write_records(own, tmp_path / "written", format=form)
    again = read_records(tmp_path / "written")
    names = ("title", "abstract", "authors", "year", "journal", "keywords", "language", "doi", "pmid", "url")
    assert {name: again[0].get(name) for name in names} == {name: own[0][name] for name in names}
    kept = {
        Format.RIS: {
            "_ris_VL": "3",
            "_ris_SP": "10-19",
            "_ris_A2": ["Editor, One", "Editor, Two"],
            "_ris_ST": "Walking",
        },
        Format.ENDNOTE_XML: {
            "_endnote_volume": "3",
            "_endnote_pages": "10-19",
            "_endnote_contributors/secondary-authors/author": ["Editor, One", "Editor, Two"],
            "_endnote_notes": "a note",
        },
        Format.DELIMITED: {"_enw_V": "3", "_enw_E": "Editor, One; Editor, Two", "_enw_!": "Walking"},
    }[form]
    assert {name: again[0].get(name) for name in kept} == kept
