"""Records become a file again: in their own format, or in the one that is asked for."""

from pathlib import Path
from typing import Any

import pytest

from tamis_review.intake import Format, read_records, write_records
from tamis_schemas import InputError

RIS = """\
TY  - JOUR
TI  - Exercise and mood
AU  - Rossi, A.
AU  - Ekholm, B.
AB  -
PY  - 2021///
T2  - Journal of Walks
KW  - exercise
mood
DO  - https://doi.org/10.1000/walk.1
UR  - https://example.org/a
UR  - https://example.org/b
N1  - a note
N1  - of two
ID  - 77
ER  - \x20

"""
FULL: dict[str, Any] = {
    "id": "k1",
    "title": "Exercise and mood",
    "abstract": "Background.\n\nER  - \nPMID- 1\n  Indented. ",
    "authors": ["Rossi, A.", "Ekholm, B."],
    "year": 2021,
    "journal": "Journal of Walks",
    "keywords": ["exercise", "mood"],
    "type": "Review",
    "language": "en",
    "doi": "10.1000/walk.1",
    "pmid": "101",
    "nct_id": "NCT01234567",
    "url": "https://example.org/a",
    "_label": "1",
    "_tamis_decision": "exclude",
    "_tamis_confidence": 0.25,
    "_tamis_reason": "No adults.\nTY  - JOUR\n",
    "_tamis_exclusion_reason": "Population: adults",
}


def _read(path: Path, text: str) -> list[dict[str, Any]]:
    path.write_bytes(text.encode())
    return read_records(path)


def _own(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in ("_line", "_source")}


def test_in_its_own_format_a_record_keeps_every_field_in_its_place(tmp_path: Path) -> None:
    records = _read(tmp_path / "in", RIS.replace("\x20\n", "\n"))
    write_records(records, tmp_path / "out")
    assert (tmp_path / "out").read_text("utf-8") == RIS.replace("AB  -\n", "AB  - \n").replace("\x20\x20\n", "\x20\n")


def test_a_change_shows_and_the_rest_stands(tmp_path: Path) -> None:
    (record,) = _read(tmp_path / "in", RIS)
    changed = {
        **record,
        "title": "New",
        "year": 2022,
        "doi": "10.1000/2",
        "keywords": ["x", "y", "z"],
        "language": "en",
    }
    write_records([changed], tmp_path / "out")
    lines = (tmp_path / "out").read_text("utf-8").splitlines()
    assert lines == [
        *["TY  - JOUR", "TI  - New", "AU  - Rossi, A.", "AU  - Ekholm, B.", "AB  - ", "PY  - 2022///"],
        *["T2  - Journal of Walks", "KW  - x", "y", "z", "DO  - https://doi.org/10.1000/2"],
        *["UR  - https://example.org/a", "UR  - https://example.org/b", "N1  - a note", "N1  - of two", "ID  - 77"],
        *["LA  - en", "ER  - ", ""],
    ]


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        (
            "ris",
            [
                *["TY  - JOUR", "M3  - Review", "TI  - Exercise and mood", "AU  - Rossi, A.", "AU  - Ekholm, B."],
                *["PY  - 2021", "T2  - Journal of Walks", "AB  - Background.", "   ", "   ER  - ", "PMID- 1"],
                *["     Indented. ", "KW  - exercise", "KW  - mood", "LA  - en", "DO  - 10.1000/walk.1"],
                *["UR  - https://example.org/a", "ID  - k1", "N1  - PMID: 101", "N1  - NCT ID: NCT01234567"],
                *["N1  - Tamis decision: exclude", "N1  - Tamis confidence: 0.25"],
                *["N1  - Tamis reason: No adults.", "   TY  - JOUR", "   "],
                *["N1  - Tamis exclusion reason: Population: adults", "ER  - ", ""],
            ],
        ),
        (
            "Medline",
            [
                *["PMID- 101", "DP  - 2021", "TI  - Exercise and mood", "LID - 10.1000/walk.1 [doi]"],
                *["AB  - Background.", "      ", "      ", "      ER  - ", "      ", "      PMID- 1"],
                *["      ", "        Indented. ", "FAU - Rossi, A.", "FAU - Ekholm, B.", "LA  - en"],
                *["SI  - ClinicalTrials.gov/NCT01234567", "PT  - Review", "JT  - Journal of Walks"],
                *["OT  - exercise", "OT  - mood", "GN  - URL: https://example.org/a", "GN  - Record ID: k1"],
                *["GN  - Tamis decision: exclude", "GN  - Tamis confidence: 0.25"],
                *["GN  - Tamis reason: No adults.", "      ", "      TY  - JOUR", "      "],
                *["GN  - Tamis exclusion reason: Population: adults", ""],
            ],
        ),
    ],
)
def test_in_another_format_each_canonical_field_and_the_decision_have_their_tag(
    tmp_path: Path, form: str, lines: list[str]
) -> None:
    write_records([FULL], tmp_path / "out", format=form)
    assert (tmp_path / "out").read_text("utf-8").splitlines() == lines
    (record,) = read_records(tmp_path / "out")
    # An id of its own gives way to the PubMed id; the blanks at the ends of a value are no part of it.
    own = {name: record[name] for name in FULL if name not in ("id", "_label")}
    assert own == {**{name: FULL[name] for name in own}, "abstract": FULL["abstract"].strip()}


def test_what_goes_from_format_to_format_and_back_is_the_same(tmp_path: Path) -> None:
    first = _read(tmp_path / "in", RIS)
    write_records(first, tmp_path / "nbib", format=Format.NBIB)
    there = read_records(tmp_path / "nbib")
    write_records(there, tmp_path / "ris", format=Format.RIS)
    (back,) = read_records(tmp_path / "ris")
    kept = {name: value for name, value in _own(first[0]).items() if not name.startswith("_")}
    assert {**_own(back), "type": "JOUR"} == {**kept, "_ris_TY": "JOUR"}
    assert back["type"] == "Journal Article"


@pytest.mark.parametrize("form", [Format.RIS, Format.NBIB])
def test_a_new_decision_replaces_the_one_that_the_file_had(tmp_path: Path, form: Format) -> None:
    write_records([FULL], tmp_path / "one", format=form)
    (first,) = read_records(tmp_path / "one")
    revised = {**first, "_tamis_decision": "include", "_tamis_reason": "Adults."}
    del revised["_tamis_exclusion_reason"]
    write_records([revised], tmp_path / "two")
    text = (tmp_path / "two").read_text("utf-8")
    assert text.count("Tamis decision: ") == text.count("Tamis reason: ") == 1
    assert "Tamis exclusion reason" not in text
    assert "N1  - \n" not in text
    assert "GN  - \n" not in text
    (second,) = read_records(tmp_path / "two")
    assert _own(second) == {**_own(revised)}


def test_a_second_decision_on_the_same_record_stays_an_ordinary_note(tmp_path: Path) -> None:
    note = "N1  - Tamis decision: "
    (record,) = _read(tmp_path / "in", f"TY  - JOUR\n{note}include\n{note}exclude\nER  - \n")
    assert (record["_tamis_decision"], record["_ris_N1"]) == ("include", "Tamis decision: exclude")


@pytest.mark.parametrize(
    ("record_type", "code", "medline"),
    [
        ("JOUR", "JOUR", "Journal Article"),
        ("article", "JOUR", "Journal Article"),
        ("Randomized Controlled Trial; Journal Article", "JOUR", "Randomized Controlled Trial"),
        ("Systematic Review", "JOUR", "Systematic Review"),
        ("inproceedings", "CPAPER", "Congress"),
        ("Book Section", "CHAP", "Book Chapter"),
        ("phdthesis", "THES", "Academic Dissertation"),
        ("something else", "GEN", "something else"),
        (None, "GEN", None),
        (7, "GEN", None),
    ],
)
def test_a_type_has_its_name_in_each_format(
    tmp_path: Path, record_type: object, code: str, medline: str | None
) -> None:
    for form in (Format.RIS, Format.NBIB):
        write_records([{"title": "a", "type": record_type}], tmp_path / form.value, format=form)
    assert (tmp_path / "RIS").read_text("utf-8").startswith(f"TY  - {code}\n")
    types = [line[6:] for line in (tmp_path / "NBIB").read_text("utf-8").splitlines() if line.startswith("PT  - ")]
    assert types[:1] == ([] if medline is None else [medline])


def test_names_and_keywords_stay_on_one_line(tmp_path: Path) -> None:
    record = {"title": "a", "authors": ["Rossi,\nA."], "keywords": ["x\r\ny", "ER  - "], "url": "https://a\nb"}
    write_records([record], tmp_path / "out", format="RIS")
    (again,) = read_records(tmp_path / "out")
    assert (again["authors"], again["keywords"], again["url"]) == (["Rossi, A."], ["x y", "ER  -"], "https://a b")


def test_a_source_made_by_someone_else_cannot_end_the_record_or_begin_another(tmp_path: Path) -> None:
    fields = [["TY", None, "BOOK\nER  - "], ["ER", None, ""], ["TY", None, "X"], ["T\n", None, "x"], ["TI", "title"]]
    record = {"title": "a\nER  - \nTY  - b", "_source": {"format": "RIS", "fields": fields}}
    write_records([record], tmp_path / "out")
    (again,) = read_records(tmp_path / "out")
    assert again["title"] == "a ER  -  TY  - b"


@pytest.mark.parametrize(
    ("sources", "wanted", "said"),
    [
        ([], None, "the format to write is unknown: choose one of RIS, NBIB"),
        ([None], None, "the format to write is unknown"),
        (["RIS", "NBIB"], None, "the records come from RIS, NBIB: choose the format"),
        (["RIS", None], None, "the records come from RIS, no file: choose the format"),
        (["RIS"], "word", "'word' is not a format for writing; choose one of RIS, NBIB"),
        (["RIS"], Format.HTML, "is not a format for writing"),
    ],
)
def test_a_format_that_is_not_clear_is_asked_for(
    tmp_path: Path, sources: list[str | None], wanted: str | None, said: str
) -> None:
    records = [{"title": "a", **({"_source": {"format": form, "fields": []}} if form else {})} for form in sources]
    with pytest.raises(InputError, match=said):
        write_records(records, tmp_path / "out", format=wanted)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_wholly_leaves_the_old_one_alone(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("before")
    with pytest.raises(AttributeError):
        write_records([{"title": "a"}, None], tmp_path / "out", format="RIS")  # type: ignore[list-item]  # the fault
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("out", "before")]
