"""RIS: every tag is kept, every fault has its line."""

import io
from pathlib import Path
from typing import Any

import pytest

from tamis_review.intake.notes import NoteKind, Notes
from tamis_review.intake.ris import read_ris, write_ris
from tamis_schemas import InputError

PATH = Path("export.ris")

TWO = """\
TY  - JOUR
TI  - Exercise and mood
AU  - Rossi, A.
AU  - Ekholm, B.
AB  - Background: little is known.
   Methods: we asked.

Conclusions: more is known.
PY  - 2021///
T2  - Journal of Walks
KW  - exercise
mood
KW  - adults
DO  - https://doi.org/10.1000/walk.1
UR  - https://example.org/a;b?c=1
UR  - https://example.org/second
SN  - 1234-5678
N1  - RAYYAN-INCLUSION: {"rossi"=>"Included"}
XY  - unheard of
LA  - en
ER  -

TY  - CHAP
T1  - A chapter
ID  - 77
ER  -
"""


def _without_source(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "_source"}


def test_canonical_names_hidden_rest_and_lines() -> None:
    first, second = (_without_source(record) for record in read_ris(TWO, Notes(PATH, strict=True)))
    assert first == {
        "id": "10.1000/walk.1",
        "title": "Exercise and mood",
        "abstract": "Background: little is known.\nMethods: we asked.\n\nConclusions: more is known.",
        "authors": ["Rossi, A.", "Ekholm, B."],
        "year": 2021,
        "journal": "Journal of Walks",
        "keywords": ["exercise", "mood", "adults"],
        "type": "JOUR",
        "language": "en",
        "doi": "10.1000/walk.1",
        "url": "https://example.org/a;b?c=1",
        "_ris_UR": "https://example.org/second",
        "_ris_SN": "1234-5678",
        "_ris_N1": 'RAYYAN-INCLUSION: {"rossi"=>"Included"}',
        "_ris_XY": "unheard of",
        "_line": 1,
    }
    assert second == {"id": "77", "title": "A chapter", "type": "CHAP", "_line": 23}


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("AN  - WOS:1\nID  - 5\nDO  - 10.1/x", "WOS:1"),
        ("ID  - 5\nDO  - 10.1/x", "5"),
        ("DO  - 10.1/x", "10.1/x"),
        ("DB  - Embase\nC5  - 321\nU2  - L9", "321"),
        ("DB  - Medline\nC5  - 321\nU2  - L9\nUR  - https://www.embase.com/a", "321"),
        ("DB  - Scopus\nC2  - 654\nDO  - 10.1/x", "654"),
        ("C2  - PMC12\nDB  - Scopus\nDO  - 10.1/x", "10.1/x"),
        ("N1  - PMID: 987\nID  - 5", "987"),
        ("N1  - PMCID: PMC1\nPMID: 987\nID  - 5", "987"),
        ("N1  - NCT ID: NCT00000001\nAN  - 5", "NCT00000001"),
        ("DB  - Embase\nU2  - L9\nDO  - 10.1/x", "L9"),
        ("C5  - 321", "record-1"),
        ("", "record-1"),
    ],
)
def test_the_id_is_the_best_that_the_record_has(tags: str, expected: str) -> None:
    (record,) = read_ris(f"TY  - JOUR\n{tags}\nER  - \n", Notes(PATH, strict=True))
    assert record["id"] == expected


@pytest.mark.parametrize(
    ("tags", "year", "kept"),
    [
        ("PY  - 2024", 2024, {}),
        ("Y1  - 2024/05/01/", 2024, {"_ris_Y1": "2024/05/01/"}),
        ("PY  - 2024\nDA  - SEP 22", 2024, {"_ris_DA": "SEP 22"}),
        ("PY  - in press\nDA  - 2023/01", 2023, {"_ris_PY": "in press", "_ris_DA": "2023/01"}),
        ("PY  - in press", "in press", {}),
        ("DA  - SEP 22", None, {"_ris_DA": "SEP 22"}),
    ],
)
def test_a_year_is_a_number_where_it_is_one(tags: str, year: int | str | None, kept: dict[str, str]) -> None:
    (record,) = read_ris(f"TY  - JOUR\n{tags}\nER  - \n", Notes(PATH, strict=True))
    assert record.get("year") == year
    assert {name: value for name, value in record.items() if name.startswith("_ris")} == kept


def test_the_type_of_work_says_more_than_the_type_of_reference_unless_it_is_a_doi() -> None:
    (review,) = read_ris("TY  - JOUR\nM3  - Review\nER  - ", Notes(PATH, strict=True))
    assert (review["type"], review["_ris_TY"]) == ("Review", "JOUR")
    (doi,) = read_ris("TY  - JOUR\nM3  - 10.1/x\nER  - ", Notes(PATH, strict=True))
    assert (doi["type"], doi["_ris_M3"]) == ("JOUR", "10.1/x")


def test_two_titles_two_abstracts_and_two_kinds_of_authors_are_all_kept() -> None:
    (record,) = read_ris(
        "TY  - JOUR\nTI  - a\nT1  - b\nAB  - c\nAB  - d\nN2  - e\nAU  - f\nA1  - g\nER  - ", Notes(PATH, strict=True)
    )
    assert (record["title"], record["_ris_T1"]) == ("a", "b")
    assert (record["abstract"], record["_ris_N2"]) == ("c\nd", "e")
    assert (record["authors"], record["_ris_A1"]) == (["f"], "g")


def test_line_ends_numbering_a_missing_blank_and_a_second_byte_order_mark_do_no_harm() -> None:
    text = "1.\r\nTY  - JOUR\r\nTI  - a\r\nAB  -\r\nER  -\r\n2.\r\n\ufeffTY  - JOUR\rTI  - b\rER  - \r"
    assert [(r["title"], r["_line"]) for r in read_ris(text, Notes(PATH, strict=True))] == [("a", 2), ("b", 7)]


def test_files_with_one_blank_before_the_dash_are_read_and_prose_that_looks_alike_is_not_a_tag() -> None:
    assert read_ris("TY - JOUR\nTI - a\nER - \n", Notes(PATH, strict=True))[0]["title"] == "a"
    (record,) = read_ris(
        "TY  - JOUR\nAB  - done in the\nUS - based on\nAB- not a tag\nER  - \n", Notes(PATH, strict=True)
    )
    assert record["abstract"] == "done in the\nUS - based on\nAB- not a tag"


def test_a_line_separator_within_a_text_is_not_a_line_end() -> None:
    (record,) = read_ris("TY  - JOUR\nAB  - a\u2028b\x0bc\nER  - \n", Notes(PATH, strict=True))
    assert record["abstract"] == "a\u2028b\x0bc"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("TY  - JOUR\nTI  - a\nTY  - JOUR\nER  - \n", r"export\.ris:1: a record without its end: .* line 3"),
        ("TY  - JOUR\nER  - \n\nTY  - JOUR\nTI  - a\n", r"export\.ris:4: .* before the end of the file.* cut off\?"),
        ("TY  - JOUR\nER  - \nTI  - lost\n", r"export\.ris:3: a record without its beginning"),
        ("TI  - a\nER  - \n", r"export\.ris:1: a record without its beginning"),
        ("\n\n", "no record"),
        ("Exported today\n", "no record"),
    ],
)
def test_a_fault_is_an_error_naming_its_line_where_reading_is_strict(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_ris(text, Notes(PATH, strict=True))


def test_what_programs_set_between_records_is_skipped_and_counted_even_where_reading_is_strict() -> None:
    text = (
        "\ufeffExported today\n\nRecord #1 of 2\nProvider: A Library\nContent: text/plain\n\nTY  -  JOUR\nTI  -  a\n"
        "ER  -  \n\n \nRecord #2 of 2\nTY  -  JOUR\nTI  -  b\nER  -  \nhttps://library.example/a?b=c\n<3>\nER  - \n"
    )
    notes = Notes(PATH, strict=True)
    assert [record["title"] for record in read_ris(text, notes)] == ["a", "b"]
    assert [(note.text, note.line, note.n) for note in notes.taken] == [
        ("line of text outside of any record", 1, 2),
        ("record number", 3, 3),
        ("`Provider:` line", 4, 1),
        ("`Content:` line", 5, 1),
        ("link", 16, 1),
    ]
    assert {note.kind for note in notes.taken} == {NoteKind.SKIPPED}


A, B, C = (f"TY  - JOUR\nTI  - {name}\nAB  - one\ntwo\nER  - \n" for name in "abc")


@pytest.mark.parametrize(
    ("damaged", "kind", "line"),
    [
        (B.removesuffix("ER  - \n"), NoteKind.LOST, 6),  # no end
        (B.replace("TY  -", "TX  -"), NoteKind.LOST, 6),  # no beginning
        (B.replace("TY  - JOUR\n", ""), NoteKind.LOST, 6),
        # Two ends: what follows the first is none's, and has nothing of a record.
        ("TY  - JOUR\nTI  - b\nAB  - one\nER  - \nPY  - 2020\nER  - \n", NoteKind.SKIPPED, 10),
        ("TY  - JOUR\nTI  - b\nER  - \nAU  - Moor, A\nER  - \n", NoteKind.LOST, 9),
        ("TY  - JOUR\nTI  - b\nER  - \nTY  - JOUR\nPY  - 2020\n", NoteKind.SKIPPED, 9),
        ("TI  - other\nTY  - JOUR\nTI  - b\nER  - \n", NoteKind.LOST, 6),  # two titles are two records
    ],
)
def test_a_broken_record_costs_no_other(damaged: str, kind: NoteKind, line: int) -> None:
    notes = Notes(PATH)
    text = A + damaged + C
    records = read_ris(text, notes)
    assert {text.split("\n")[record["_line"] - 1] for record in records} == {"TY  - JOUR"}
    assert [record["title"] for record in records if record["title"] != "b"] == ["a", "c"]
    assert [(note.kind, note.line) for note in notes.taken] == [(kind, line)]
    # Records are numbered as they stand in the file: the id of one does not depend on another's fault.
    assert records[-1]["id"] == "record-3" or len(records) == 3


def test_a_second_export_with_other_blanks_around_the_dash_is_read_as_well() -> None:
    text = A + "TY - JOUR\nTI - b\nER  - \n" + C
    assert [record["title"] for record in read_ris(text, Notes(PATH, strict=True))] == ["a", "b", "c"]


def test_the_pubmed_id_and_the_type_stand_where_cochrane_and_ovid_have_them() -> None:
    one, two, three = read_ris(
        "TY  -  JOUR\nAN  -  CN-1\nC3  -  PUBMED 123\nM3  -  Journal article\nER  -  \n"
        "TY  -  JOUR\nAN  -  CN-2\nC3  -  PUBMED 124,EMBASE 9\nER  -  \n"
        "TY  - JOUR\nM3  - Therapy [1]\nPT  - Journal Article\nC3  - A University\nER  - \n",
        Notes(PATH, strict=True),
    )
    assert (one["pmid"], one["id"], one["_ris_AN"], "_ris_C3" in one) == ("123", "123", "CN-1", False)
    assert (two["pmid"], two["_ris_C3"]) == ("124", "PUBMED 124,EMBASE 9")
    assert (three["type"], three["_ris_M3"], three["_ris_C3"]) == ("Journal Article", "Therapy [1]", "A University")


@pytest.mark.parametrize(
    ("fields", "doi"),
    [
        (["M3  - 10.1000/in.m3"], "10.1000/in.m3"),
        (["M3  - https://doi.org/10.1000/in.m3"], "10.1000/in.m3"),
        (["UR  - https://doi.org/10.1000/in.ur"], "10.1000/in.ur"),
        (["UR  - https://example.org/a", "UR  - http://dx.doi.org/10.1000/second"], "10.1000/second"),
        (["DO  - 10.1000/own", "M3  - 10.1000/in.m3", "UR  - https://doi.org/10.1000/in.ur"], "10.1000/own"),
        (["M3  - Review", "UR  - https://example.org/10.1000/no"], None),
    ],
)
def test_a_doi_is_found_where_exports_put_it_and_is_not_written_twice(fields: list[str], doi: str | None) -> None:
    text = "".join(f"{line}\n" for line in ("TY  - JOUR", "TI  - a", *fields, "ER  - ", ""))
    (record,) = read_ris(text, Notes(PATH, strict=True))
    assert record.get("doi") == doi
    written = io.StringIO()
    write_ris([record], written)
    assert written.getvalue() == text
    elsewhere = io.StringIO()
    write_ris([{name: value for name, value in record.items() if name != "_source"}], elsewhere)
    assert (f"DO  - {doi}\n" in elsewhere.getvalue()) is (doi is not None)


def test_a_copyright_notice_in_a_second_abstract_is_no_part_of_the_abstract() -> None:
    notice = "Copyright of Journal of Walks is the property of Walks Ltd. and its content may not be copied."
    text = f"TY  - JOUR\nAB  - We walked.\nAB  - And saw.\nAB  - {notice}\nER  - \n\n"
    (record,) = read_ris(text, Notes(PATH, strict=True))
    assert (record["abstract"], record["_ris_AB"]) == ("We walked.\nAnd saw.", notice)
    written = io.StringIO()
    write_ris([record], written)
    assert written.getvalue() == text
    alone = "TY  - JOUR\nAB  - Copyright of songs is a property that lasts.\nER  - \n"
    assert read_ris(alone, Notes(PATH, strict=True))[0]["abstract"] == "Copyright of songs is a property that lasts."
