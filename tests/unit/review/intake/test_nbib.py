"""NBIB: every tag is kept, every fault has its line."""

import io
from pathlib import Path
from typing import Any

import pytest

from tamis_review.intake import read_records
from tamis_review.intake.nbib import WIDTH, read_nbib, write_nbib
from tamis_review.intake.notes import NoteKind, Notes
from tamis_schemas import InputError

PATH = Path("export.nbib")

TWO = """\

PMID- 101
OWN - NLM
IS  - 1234-5678 (Electronic)
IS  - 1234-5679 (Print)
DP  - 2021 May-Jun
TI  - Exercise and mood in adults: a trial of many words that do not fit in just one\x20
      line.
LID - e55 [pii]
LID - 10.1000/walk.1 [doi]
AB  - BACKGROUND: Little is known. METHODS: We asked. RESULTS: They answered.\x20
      CONCLUSIONS: More is known.
FAU - Rossi, Ada
AU  - Rossi A
AD  - University of Walks.
FAU - Ekholm, Bo
AU  - Ekholm B
CN  - WALK Study Group
LA  - eng
SI  - ClinicalTrials.gov/NCT01234567
SI  - GEO/GSE1
PT  - Journal Article
PT  - Randomized Controlled Trial
TA  - J Walks
JT  - Journal of walks
MH  - Adult
MH  - *Exercise/psychology
PMC - PMC99
OT  - walking
AID - 10.1000/walk.1 [doi]
AID - e55 [pii]

PMID- 102
STAT- Publisher
DP  - 2022
BTI - A book
AU  - Rossi A
TA  - J Walks
"""


def _read(text: str) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in record.items() if name != "_source"}
        for record in read_nbib(text, Notes(PATH, strict=True))
    ]


def _written(records: list[dict[str, Any]]) -> str:
    stream = io.StringIO(newline="")
    write_nbib(records, stream)
    return stream.getvalue()


def test_canonical_names_hidden_rest_and_lines() -> None:
    first, second = _read(TWO)
    assert first == {
        "id": "101",
        "title": "Exercise and mood in adults: a trial of many words that do not fit in just one line.",
        "abstract": "BACKGROUND: Little is known. METHODS: We asked. RESULTS: They answered. "
        "CONCLUSIONS: More is known.",
        "authors": ["Rossi, Ada", "Ekholm, Bo"],
        "year": 2021,
        "journal": "Journal of walks",
        "keywords": ["Adult", "*Exercise/psychology", "walking"],
        "type": "Journal Article; Randomized Controlled Trial",
        "language": "eng",
        "doi": "10.1000/walk.1",
        "pmid": "101",
        "nct_id": "NCT01234567",
        "_nbib_OWN": "NLM",
        "_nbib_IS": ["1234-5678 (Electronic)", "1234-5679 (Print)"],
        "_nbib_DP": "2021 May-Jun",
        "_nbib_LID": "e55 [pii]",
        "_nbib_AU": ["Rossi A", "Ekholm B"],
        "_nbib_AD": "University of Walks.",
        "_nbib_CN": "WALK Study Group",
        "_nbib_SI": "GEO/GSE1",
        "_nbib_TA": "J Walks",
        "_nbib_PMC": "PMC99",
        "_nbib_AID": "e55 [pii]",
        "_line": 2,
    }
    assert second == {
        "id": "102",
        "title": "A book",
        "authors": ["Rossi A"],
        "year": 2022,
        "journal": "J Walks",
        "pmid": "102",
        "_nbib_STAT": "Publisher",
        "_line": 33,
    }


def test_what_is_written_is_what_was_read() -> None:
    assert _written(read_nbib(TWO, Notes(PATH, strict=True))) == f"{TWO[1:]}\n"


def test_line_ends_cut_blanks_and_a_second_byte_order_mark_do_no_harm() -> None:
    text = "PMID- 1\r\nTI  - cut\r\n      off\r\n\r\n\ufeffPMID- 2\rTI  - not\r  indented by six\rAB  -\r"
    assert [(r["title"], r["_line"]) for r in _read(text)] == [("cut off", 1), ("not indented by six", 5)]


def test_a_line_of_prose_that_looks_like_a_tag_is_one_only_where_the_dash_is_in_column_five() -> None:
    (record,) = _read("PMID- 1\nTI  - a\n      US  - based\n      PMID- 2\nAB  - b\n")
    assert (record["title"], record["abstract"]) == ("a US  - based PMID- 2", "b")


def test_a_long_value_is_broken_after_a_blank_and_a_long_word_is_not() -> None:
    title = f"{'word ' * 40}{'x' * 200} end"
    lines = _written([{"title": title}]).splitlines()
    assert lines[0] == "OWN - Tamis"
    assert all(len(line) <= WIDTH + 1 or "x" * 200 in line for line in lines)
    assert sum(line.startswith("      ") for line in lines) == 4  # 16 words, 16 words, 8 words, the long one, "end"
    assert _read("\n".join(lines))[0]["title"] == title


def test_a_trial_number_and_a_doi_are_told_from_other_numbers() -> None:
    (record,) = _read(
        "PMID- 1\nLID - 10.1/a [pii]\nAID - 10.1/b[DOI]\nAID - 10.1/c [doi]\nSI  - clinicaltrials.gov/NCT7\n"
    )
    assert (record["doi"], record["nct_id"]) == ("10.1/b", "NCT7")
    assert (record["_nbib_LID"], record["_nbib_AID"]) == ("10.1/a [pii]", "10.1/c [doi]")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nTI  - lost\nPMID- 1\n", r"export\.nbib:2: a record without its beginning"),
        ("PMID- 1\nTI  - a\n\nOWN - NLM\nTI  - lost\n", r"export\.nbib:4: a record without its beginning"),
        ("\n\n", "no record"),
        ("Exported today\n", "no record"),
    ],
)
def test_a_fault_is_an_error_naming_its_line_where_reading_is_strict(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_nbib(text, Notes(PATH, strict=True))


A, B, C = (f"PMID- {at}\nOWN - NLM\nTI  - {at}\nAB  - one \n      two\n\n" for at in (1, 2, 3))


@pytest.mark.parametrize(
    "damaged", [B.replace("PMID-", "PMIX-"), B.replace("PMID-", "pmid:"), B.removeprefix("PMID- 2\n")]
)
def test_a_broken_record_costs_no_other(damaged: str) -> None:
    notes = Notes(PATH)
    records = read_nbib(A + damaged + C, notes)
    whole = read_nbib(A + B + C, Notes(PATH, strict=True))
    assert [_without_line(record) for record in records] == [_without_line(whole[at]) for at in (0, 2)]
    assert [(note.kind, note.line) for note in notes.taken if note.kind is NoteKind.LOST] in (
        [(NoteKind.LOST, 7)],
        [(NoteKind.LOST, 8)],  # a line that looks like no tag is text
    )


def test_each_of_two_broken_records_in_a_row_is_noted() -> None:
    notes = Notes(PATH)
    damaged = B.removeprefix("PMID- 2\n")
    assert [record["title"] for record in read_nbib(A + damaged + damaged + C, notes)] == ["1", "3"]
    assert [note.line for note in notes.taken] == [7, 12]


def _without_line(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "_line"}


def test_text_between_records_is_skipped() -> None:
    notes = Notes(PATH, strict=True)
    records = read_nbib(f"Exported today\n{A}2.\n{B}", notes)
    assert [record["abstract"] for record in records] == ["one two", "one two"]
    assert [(note.text, note.line) for note in notes.taken] == [
        ("line of text outside of any record", 1),
        ("record number", 8),
    ]


def test_empty_lines_between_all_lines_separate_nothing() -> None:
    spread = "\n\n".join((A + B).splitlines())
    assert [record["title"] for record in read_nbib(spread, Notes(PATH, strict=True))] == ["1", "2"]


ERIC = """\
OWN - ERIC
TI  - Walking to School
AU  - Rossi, Ada
JT  - Journal of Schools
OID - EJ100001
DP  - 2015
LID - http://dx.doi.org/10.1000/school.1
AID - http://eric.example/?id=EJ100001
OT  - Exercise
OT  - Schools
AB  - Children walk.
ISSN- ISSN-1234-5678
PT  - Journal Articles

OWN - ERIC
TI  - Second
OID - ED2

"""


def test_eric_which_has_no_pubmed_id_begins_its_records_with_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "eric.txt"
    path.write_text(ERIC)
    first, second = read_records(path)
    assert (first["id"], first["title"], first["year"], first["doi"]) == (
        "EJ100001",
        "Walking to School",
        2015,
        "10.1000/school.1",
    )
    assert (first["journal"], first["keywords"], first["type"]) == (
        "Journal of Schools",
        ["Exercise", "Schools"],
        "Journal Articles",
    )
    assert (first["url"], first["_nbib_ISSN"]) == ("http://eric.example/?id=EJ100001", "ISSN-1234-5678")
    assert (second["id"], second["_line"]) == ("ED2", 15)
    again = _read(_written([{**first, "pmid": "7"}, second]))
    assert [(one["title"], one.get("pmid"), one.get("doi")) for one in again] == [
        ("Walking to School", "7", "10.1000/school.1"),
        ("Second", None, None),
    ]


def test_a_record_without_a_pubmed_id_begins_with_its_owner_and_is_read_again() -> None:
    text = _written([{"title": "First", "doi": "10.1000/a"}, {"title": "Second", "pmid": "5"}, {"title": "Third"}])
    assert "PMID- \n" not in text
    records = read_nbib(text, Notes(PATH, strict=True))
    assert [(own["title"], own.get("pmid")) for own in records] == [("First", None), ("Second", "5"), ("Third", None)]
    assert _written(records) == text
