"""The tagged formats of Web of Science and EndNote: every tag is kept, every fault has its line."""

from pathlib import Path
from typing import Any

import pytest

from tamis_review.intake import read_file, read_records, write_records
from tamis_review.intake.notes import NoteKind, Notes
from tamis_review.intake.recognise import Format
from tamis_review.intake.wos_and_enw import read_enw, read_wos
from tamis_schemas import InputError

WOS_FILE = Path("savedrecs.txt")

WOS_TWO = """\
FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Rossi, A
   Ekholm, B
AF Rossi, Ada
   Ekholm, Bo
TI Walking to work and what comes
   of it
SO JOURNAL OF WALKS
LA English
DT Article; Early Access
DE exercise; mood;
   adults
ID PHYSICAL-ACTIVITY; HEALTH
AB We asked people.
   They answered.
C1 [Rossi, A] Univ Walks, Rome, Italy.
   [Ekholm, B] Univ Gait, Oslo, Norway.
CR AAA B, 1990, J WALKS, V1, P1
   BBB C, 1991, J WALKS, V2, P2
SN 1234-5678
EI 8765-4321
PU WALK PRESS
JI J. Walks
PD MAY
PY 2021
VL 3
IS 2
BP 10
EP 19
DI 10.1000/walk.1
UT WOS:0001
DA 2024-01-01
ER

PT B
AU Rossi, A
TI A book
PM 123
UT WOS:0002
ER

EF
"""


def test_canonical_names_hidden_rest_and_lines_of_web_of_science(tmp_path: Path) -> None:
    path = tmp_path / "savedrecs.ciw"
    path.write_text("\ufeff" + WOS_TWO)
    intake = read_file(path)
    assert (intake.format, intake.notes) == (Format.WOS_TAGGED, ())
    first, second = intake.records
    assert first == {
        "id": "WOS:0001",
        "title": "Walking to work and what comes of it",
        "abstract": "We asked people. They answered.",
        "authors": ["Rossi, A", "Ekholm, B"],
        "year": 2021,
        "journal": "JOURNAL OF WALKS",
        "keywords": ["exercise", "mood", "adults"],
        "type": "Article; Early Access",
        "language": "English",
        "doi": "10.1000/walk.1",
        "_wos_PT": "J",
        "_wos_AF": ["Rossi, Ada", "Ekholm, Bo"],
        "_wos_ID": "PHYSICAL-ACTIVITY; HEALTH",
        "_wos_C1": ["[Rossi, A] Univ Walks, Rome, Italy.", "[Ekholm, B] Univ Gait, Oslo, Norway."],
        "_wos_CR": ["AAA B, 1990, J WALKS, V1, P1", "BBB C, 1991, J WALKS, V2, P2"],
        "_wos_SN": "1234-5678",
        "_wos_EI": "8765-4321",
        "_wos_PU": "WALK PRESS",
        "_wos_JI": "J. Walks",
        "_wos_PD": "MAY",
        "_wos_VL": "3",
        "_wos_IS": "2",
        "_wos_BP": "10",
        "_wos_EP": "19",
        "_wos_DA": "2024-01-01",
        "_line": 3,
    }
    assert second == {
        "id": "123",
        "title": "A book",
        "authors": ["Rossi, A"],
        "type": "BOOK",
        "pmid": "123",
        "_wos_UT": "WOS:0002",
        "_line": 37,
    }


def test_lines_that_are_too_long_to_be_parts_of_one_are_paragraphs() -> None:
    long = "word " * 30
    (record,) = read_wos(f"PT J\nAB {long}\n   Second paragraph.\nER\n", Notes(WOS_FILE, strict=True))
    assert record["abstract"] == f"{long.strip()}\nSecond paragraph."


def test_two_exports_in_one_file_are_read(tmp_path: Path) -> None:
    notes = Notes(WOS_FILE, strict=True)
    assert len(read_wos(f"{WOS_TWO}\n\ufeff{WOS_TWO}", notes)) == 4
    assert notes.taken == ()


WOS_A, WOS_B, WOS_C = (f"PT J\nTI {name}\nPY 2020\nER\n\n" for name in "abc")


@pytest.mark.parametrize(
    ("damaged", "line"),
    [(WOS_B.replace("ER\n", ""), 6), (WOS_B.replace("PT J\n", ""), 6), (WOS_B.replace("PT J", "PQ J"), 6)],
)
def test_a_broken_record_costs_no_other_of_web_of_science(damaged: str, line: int) -> None:
    notes = Notes(WOS_FILE)
    records = read_wos(WOS_A + damaged + WOS_C, notes)
    assert [(record["title"], record["id"]) for record in records] == [("a", "record-1"), ("c", "record-3")]
    assert [(note.kind, note.line) for note in notes.taken] == [(NoteKind.LOST, line)]
    with pytest.raises(InputError, match=rf"savedrecs\.txt:{line}: a record without"):
        read_wos(WOS_A + damaged + WOS_C, Notes(WOS_FILE, strict=True))


def test_a_file_that_is_cut_off_loses_its_last_record_alone() -> None:
    notes = Notes(WOS_FILE)
    assert [record["title"] for record in read_wos(f"{WOS_A}Exported today\n{WOS_B[:-5]}", notes)] == ["a"]
    assert [(note.kind, note.line) for note in notes.taken] == [(NoteKind.SKIPPED, 6), (NoteKind.LOST, 7)]
    with pytest.raises(InputError, match=r"savedrecs\.txt:1: .* cut off\?"):
        read_wos(WOS_A[:-5], Notes(WOS_FILE))


def test_records_of_another_format_in_the_file_are_lost_by_its_name() -> None:
    notes = Notes(WOS_FILE)
    text = f"{WOS_A}EF\nTY  - JOUR\nTI  - b\nER  - \n\n%0 Journal Article\n%T c\n\n{WOS_C}"
    assert [record["title"] for record in read_wos(text, notes)] == ["a", "c"]
    assert [(note.line, note.text.partition(",")[0]) for note in notes.taken] == [
        (7, "a record in RIS"),
        (11, "a record in EndNote tagged"),
    ]


def _written(tmp_path: Path, form: Format) -> list[dict[str, Any]]:
    path = tmp_path / "written"
    write_records(read_wos(WOS_TWO, Notes(WOS_FILE, strict=True)), path, format=form)
    return read_records(path)


CANONICAL = ("title", "abstract", "authors", "year", "journal", "language", "doi")


def test_all_that_ris_has_tags_for_is_exported_as_ris(tmp_path: Path) -> None:
    first, second = _written(tmp_path, Format.RIS)
    own = read_wos(WOS_TWO, Notes(WOS_FILE, strict=True))[0]
    assert {name: first[name] for name in CANONICAL} == {name: own[name] for name in CANONICAL}
    assert first["keywords"] == ["exercise", "mood", "adults", "PHYSICAL-ACTIVITY; HEALTH"]
    details = {name.removeprefix("_ris_"): value for name, value in first.items() if name.startswith("_ris_")}
    assert details == {
        "TY": "JOUR",
        "VL": "3",
        "IS": "2",
        "SP": "10",
        "EP": "19",
        "DA": "MAY",
        "JA": "J. Walks",
        "SN": ["1234-5678", "8765-4321"],
        "PB": "WALK PRESS",
        "AD": own["_wos_C1"],
        "AF": own["_wos_AF"],
        "CR": own["_wos_CR"],
    }
    assert (second["type"], second["pmid"], second["_ris_AN"]) == ("BOOK", "123", "WOS:0002")


def test_all_that_endnote_has_elements_for_is_exported_as_endnote_xml(tmp_path: Path) -> None:
    first, _ = _written(tmp_path, Format.ENDNOTE_XML)
    own = read_wos(WOS_TWO, Notes(WOS_FILE, strict=True))[0]
    assert {name: first[name] for name in CANONICAL} == {name: own[name] for name in CANONICAL}
    kept = {name: value for name, value in first.items() if name.startswith("_endnote_")}
    assert (kept["_endnote_volume"], kept["_endnote_number"], kept["_endnote_pages"]) == ("3", "2", "10-19")
    assert (kept["_endnote_isbn"], kept["_endnote_publisher"]) == ("1234-5678", "WALK PRESS")
    assert kept["_endnote_auth-address"] == "\n".join(own["_wos_C1"])


def test_a_table_has_room_for_everything(tmp_path: Path) -> None:
    first, _ = _written(tmp_path, Format.DELIMITED)
    own = read_wos(WOS_TWO, Notes(WOS_FILE, strict=True))[0]
    names = [name for name in own if name not in ("_line",)]
    assert {name: "; ".join(own[name]) if isinstance(own[name], list) else own[name] for name in names} == {
        name: "; ".join(first[name]) if isinstance(first[name], list) else first[name] for name in names
    }


ENW_FILE = Path("export.enw")

ENW_TWO = """\
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


def test_canonical_names_hidden_rest_and_lines_of_endnote(tmp_path: Path) -> None:
    path = tmp_path / "records.txt"
    path.write_text("\ufeff" + ENW_TWO)
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


ENW_A, ENW_B, ENW_C = (f"%0 Journal Article\n%T {name}\n%D 2020\n\n" for name in "abc")


@pytest.mark.parametrize(
    ("damaged", "titles", "lost"),
    [
        ("%0 Journal Article\n%0 Journal Article\n%T b\n\n", "abc", [5]),
        ("%0 Journal Article\n\n%T b\n\n", "abc", [5]),
        ("%D 2020\n%V 3\n\n", "ac", [5]),
        (ENW_B.rstrip("\n") + "\n", "abc", []),  # no empty line behind it
    ],
)
def test_a_broken_record_costs_no_other_of_endnote(damaged: str, titles: str, lost: list[int]) -> None:
    notes = Notes(ENW_FILE)
    assert [record["title"] for record in read_enw(ENW_A + damaged + ENW_C, notes)] == [*titles]
    assert [note.line for note in notes.taken if note.kind is NoteKind.LOST] == lost
    if lost:
        with pytest.raises(InputError, match=r"export\.enw:5: a part of a record"):
            read_enw(ENW_A + damaged + ENW_C, Notes(ENW_FILE, strict=True))


def test_text_between_records_is_skipped_and_a_file_of_parts_alone_is_an_error() -> None:
    notes = Notes(ENW_FILE, strict=True)
    assert len(read_enw(f"Exported today\n\n{ENW_A}2.\n{ENW_B}", notes)) == 2
    assert [(note.text, note.line) for note in notes.taken] == [
        ("line of text outside of any record", 1),
        ("record number", 7),
    ]
    with pytest.raises(InputError, match=r"export\.enw:1: a part of a record.*; none of its 2 records can be read"):
        read_enw("%V 3\n\n%V 4\n", Notes(ENW_FILE))
    with pytest.raises(InputError, match="no record"):
        read_enw("text\n", Notes(ENW_FILE, strict=True))


def test_text_behind_an_empty_line_is_a_paragraph_if_the_record_goes_on_and_else_none() -> None:
    notes = Notes(ENW_FILE)
    text = "%0 Journal Article\n%T a\n%X one\n\ntwo\n%K c\n\nhalf a\n%T b\n%X three\n\nend\n"
    first, second = read_enw(text, notes)
    assert (first["abstract"], first["keywords"]) == ("one\ntwo", ["c"])
    assert (second["title"], second["abstract"]) == ("b", "three")
    assert [(note.line, note.n) for note in notes.taken] == [(8, 2)]


@pytest.mark.parametrize("form", [Format.RIS, Format.ENDNOTE_XML, Format.DELIMITED])
def test_what_a_format_can_hold_is_exported(tmp_path: Path, form: Format) -> None:
    own = read_enw(ENW_TWO, Notes(ENW_FILE, strict=True))
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
