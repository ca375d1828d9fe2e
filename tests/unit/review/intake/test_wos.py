"""Web of Science, tagged: every tag is kept, every fault has its line."""

from pathlib import Path
from typing import Any

import pytest

from tamis_review.intake import read_file, read_records, write_records
from tamis_review.intake.notes import NoteKind, Notes
from tamis_review.intake.recognise import Format
from tamis_review.intake.wos import read_wos
from tamis_schemas import InputError

PATH = Path("savedrecs.txt")

TWO = """\
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


def test_canonical_names_hidden_rest_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "savedrecs.ciw"
    path.write_text("\ufeff" + TWO)
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
    (record,) = read_wos(f"PT J\nAB {long}\n   Second paragraph.\nER\n", PATH)
    assert record["abstract"] == f"{long.strip()}\nSecond paragraph."


def test_two_exports_in_one_file_are_read(tmp_path: Path) -> None:
    notes = Notes(PATH, strict=True)
    assert len(read_wos(f"{TWO}\n\ufeff{TWO}", PATH, notes)) == 4
    assert notes.taken == ()


A, B, C = (f"PT J\nTI {name}\nPY 2020\nER\n\n" for name in "abc")


@pytest.mark.parametrize(
    ("damaged", "line"),
    [(B.replace("ER\n", ""), 6), (B.replace("PT J\n", ""), 6), (B.replace("PT J", "PQ J"), 6)],
)
def test_a_broken_record_costs_no_other(damaged: str, line: int) -> None:
    notes = Notes(PATH)
    records = read_wos(A + damaged + C, PATH, notes)
    assert [(record["title"], record["id"]) for record in records] == [("a", "record-1"), ("c", "record-3")]
    assert [(note.kind, note.line) for note in notes.taken] == [(NoteKind.LOST, line)]
    with pytest.raises(InputError, match=rf"savedrecs\.txt:{line}: a record without"):
        read_wos(A + damaged + C, PATH)


def test_a_file_that_is_cut_off_loses_its_last_record_alone() -> None:
    notes = Notes(PATH)
    assert [record["title"] for record in read_wos(f"{A}Exported today\n{B[:-5]}", PATH, notes)] == ["a"]
    assert [(note.kind, note.line) for note in notes.taken] == [(NoteKind.SKIPPED, 6), (NoteKind.LOST, 7)]
    with pytest.raises(InputError, match=r"savedrecs\.txt:1: .* cut off\?"):
        read_wos(A[:-5], PATH, Notes(PATH))


def test_records_of_another_format_in_the_file_are_lost_by_its_name() -> None:
    notes = Notes(PATH)
    text = f"{A}EF\nTY  - JOUR\nTI  - b\nER  - \n\n%0 Journal Article\n%T c\n\n{C}"
    assert [record["title"] for record in read_wos(text, PATH, notes)] == ["a", "c"]
    assert [(note.line, note.text.partition(",")[0]) for note in notes.taken] == [
        (7, "a record in RIS"),
        (11, "a record in EndNote tagged"),
    ]


def _written(tmp_path: Path, form: Format) -> list[dict[str, Any]]:
    path = tmp_path / "written"
    write_records(read_wos(TWO, PATH), path, format=form)
    return read_records(path)


CANONICAL = ("title", "abstract", "authors", "year", "journal", "language", "doi")


def test_all_that_ris_has_tags_for_is_exported_as_ris(tmp_path: Path) -> None:
    first, second = _written(tmp_path, Format.RIS)
    own = read_wos(TWO, PATH)[0]
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
    own = read_wos(TWO, PATH)[0]
    assert {name: first[name] for name in CANONICAL} == {name: own[name] for name in CANONICAL}
    kept = {name: value for name, value in first.items() if name.startswith("_endnote_")}
    assert (kept["_endnote_volume"], kept["_endnote_number"], kept["_endnote_pages"]) == ("3", "2", "10-19")
    assert (kept["_endnote_isbn"], kept["_endnote_publisher"]) == ("1234-5678", "WALK PRESS")
    assert kept["_endnote_auth-address"] == "\n".join(own["_wos_C1"])


def test_a_table_has_room_for_everything(tmp_path: Path) -> None:
    first, _ = _written(tmp_path, Format.DELIMITED)
    own = read_wos(TWO, PATH)[0]
    names = [name for name in own if name not in ("_line",)]
    assert {name: "; ".join(own[name]) if isinstance(own[name], list) else own[name] for name in names} == {
        name: "; ".join(first[name]) if isinstance(first[name], list) else first[name] for name in names
    }
