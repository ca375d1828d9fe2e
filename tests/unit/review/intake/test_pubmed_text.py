"""PubMed's "Abstract (text)": every paragraph is placed, every fault has its line."""

from pathlib import Path
from typing import Any

import pytest

from tamis_review.intake import read_file, read_records, write_records
from tamis_review.intake.notes import NoteKind, Notes
from tamis_review.intake.pubmed_text import read_pubmed_text
from tamis_review.intake.recognise import Format
from tamis_schemas import InputError

PATH = Path("abstract-set.txt")

# Lines are broken after a blank, which stays; \x20 keeps it from editors.
THREE = """\
1. J Walks. 2021 May-Jun;3(2 Suppl 1):10-9. doi:\x20
10.1000/walk.1. Epub 2021 Jan 5.

Walking to work, and what comes of it: a trial of\x20
many words.

Rossi A(#)(1)(2), Ekholm B Jr(2), von der Heide C(*)(3); WALK Study Group.

Author information:
(1)University of Walks, Rome,\x20
Italy.
(2)University of Gait.
(#)Contributed equally

Collaborators: Third D, Fourth E.

Comment in
    J Walks. 2022 Jan;4(1):5.

BACKGROUND: Little is known about\x20
walking.
METHODS: We asked.

Publisher: HINTERGRUND: Wenig ist\x20
bekannt.

Copyright © 2021 The Authors. Published by Walk Press.

DOI: 10.1000/walk.1
PMCID: PMC99 [Available on 2022-01-01]
PMID: 101 [Indexed for MEDLINE]

Conflict of interest statement: None\x20
declared.


2. RETRACTED ARTICLE

bioRxiv [Preprint]. 2020 Mar 3:2020.03.02.000001. doi: 10.1101/2020.03.02.000001.

[A title in another language].

[Article in Italian; Abstract available in Italian from the publisher]

Rossi A.

PMID: 102


3. Walking Handbook [Internet]. Rome: Walk Press; 2019 Jan–.

A chapter.

1. Numbered paragraph, with no blank line twice above it.

A society of walkers

PMID: 103
"""


def _read(text: str) -> list[dict[str, Any]]:
    return read_pubmed_text(text, Notes(PATH, strict=True))


def test_every_paragraph_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "records.ris"
    path.write_bytes(b"\xef\xbb\xbf" + THREE.replace("\n", "\r\n").encode())
    intake = read_file(path)
    assert (intake.format, intake.notes) == (Format.PUBMED_TEXT, ())
    first, second, third = intake.records
    assert first == {
        "id": "101",
        "title": "Walking to work, and what comes of it: a trial of many words.",
        "abstract": "BACKGROUND: Little is known about walking.\nMETHODS: We asked.",
        "authors": ["Rossi A", "Ekholm B Jr", "von der Heide C", "WALK Study Group"],
        "year": 2021,
        "journal": "J Walks",
        "doi": "10.1000/walk.1",
        "pmid": "101",
        "_pubmed_citation": "J Walks. 2021 May-Jun;3(2 Suppl 1):10-9. doi: 10.1000/walk.1. Epub 2021 Jan 5.",
        "_pubmed_date": "2021 May-Jun",
        "_pubmed_volume": "3",
        "_pubmed_issue": "2 Suppl 1",
        "_pubmed_pages": "10-9",
        "_pubmed_affiliations": (
            "(1)University of Walks, Rome, Italy.\n(2)University of Gait.\n(#)Contributed equally"
        ),
        "_pubmed_collaborators": "Third D, Fourth E.",
        "_pubmed_related": "Comment in\n    J Walks. 2022 Jan;4(1):5.",
        "_pubmed_other_abstract": "Publisher: HINTERGRUND: Wenig ist bekannt.",
        "_pubmed_pmcid": "PMC99",
        "_pubmed_conflict_of_interest": "None declared.",
        "_pubmed_copyright": "Copyright © 2021 The Authors. Published by Walk Press.",
        "_line": 1,
    }
    assert second == {
        "id": "102",
        "title": "[A title in another language].",
        "authors": ["Rossi A"],
        "year": 2020,
        "journal": "bioRxiv",
        "language": "Italian",
        "pmid": "102",
        "_pubmed_notice": "RETRACTED ARTICLE",
        "_pubmed_citation": ("bioRxiv [Preprint]. 2020 Mar 3:2020.03.02.000001. doi: 10.1101/2020.03.02.000001."),
        "_pubmed_date": "2020 Mar 3",
        "_pubmed_pages": "2020.03.02.000001",
        "_pubmed_language_note": "[Article in Italian; Abstract available in Italian from the publisher]",
        "_line": 37,
    }
    assert (third["year"], third["title"], third["_line"]) == (2019, "A chapter.", 50)
    assert third["abstract"] == "1. Numbered paragraph, with no blank line twice above it."
    assert third["_pubmed_copyright"] == "A society of walkers"


@pytest.mark.parametrize(
    ("body", "abstract", "copyright_"),
    [
        ("Copyright 2021 Walk Press.", None, "Copyright 2021 Walk Press."),
        ("Copyright law and walking are old friends.", "Copyright law and walking are old friends.", None),
        ("We asked.\n\nIn short, this commentary says a good deal more than any name would say.", "both", None),
        (
            "We asked.\n\nThis article is under a Creative Commons licence, whatever it says.",
            "We asked.",
            "This article",
        ),
        ("We asked.\n\nAcademy of Walks.", "We asked.", "Academy of Walks."),
        (f"© is a sign. {'We asked why. ' * 60}Nobody knew.", "both", None),
    ],
)
def test_who_owns_the_rights_is_no_part_of_the_abstract(
    body: str, abstract: str | None, copyright_: str | None
) -> None:
    (record,) = _read(f"1. J Walks. 2021;3:1.\n\nWalking.\n\nRossi A.\n\n{body}\n\nPMID: 1\n")
    assert record.get("abstract") == (body.replace("\n\n", "\n") if abstract == "both" else abstract)
    assert record.get("_pubmed_copyright", "").startswith(copyright_ or "")
    assert ("_pubmed_copyright" in record) is (copyright_ is not None)


def test_a_title_is_known_by_its_place_and_an_abstract_in_another_language_alone_is_the_abstract() -> None:
    (record,) = _read(
        "1. J Walks. 2021;3:1.\n\nNASA: walking there.\n\nRossi A.\n\nPublisher: Wir fragten.\n\nPMID: 1\n"
    )
    assert (record["title"], record["abstract"]) == ("NASA: walking there.", "Publisher: Wir fragten.")
    assert "_pubmed_other_abstract" not in record


def test_where_a_program_cut_the_blanks_at_line_ends_lines_are_joined_but_for_labels() -> None:
    cut = "\n".join(line.rstrip() for line in THREE.splitlines())
    for one, other in zip(_read(cut), _read(THREE), strict=True):
        same = {name for name in other if name not in ("_pubmed_affiliations", "_pubmed_related")}
        assert {name: one[name] for name in same} == {name: other[name] for name in same}


A, B, C = (
    f"{at}. J Walks. 2021;{at}:1.\n\nTitle {at}.\n\nRossi A.\n\nWe asked.\n\nPMID: {at}00\n\n\n" for at in (1, 2, 3)
)


@pytest.mark.parametrize(
    ("damaged", "line", "reason"),
    [
        (B.replace("PMID: 200\n", ""), 12, "without its end"),
        (B.replace("PMID: ", "PMXD: "), 12, "without its end"),
        (B.replace("2. J", "x. J"), 12, "without its beginning"),
        (B.replace("2. J Walks. 2021;2:1.\n\n", ""), 12, "without its beginning"),
    ],
)
def test_a_broken_record_costs_no_other(damaged: str, line: int, reason: str) -> None:
    notes = Notes(PATH)
    records = read_pubmed_text(A + damaged + C, notes)
    assert [record["title"] for record in records] == ["Title 1.", "Title 3."]
    assert [(note.kind, note.line) for note in notes.taken] == [(NoteKind.LOST, line)]
    with pytest.raises(InputError, match=rf"abstract-set\.txt:{line}: a record {reason}"):
        _read(A + damaged + C)


@pytest.mark.parametrize("damaged", [A.replace("\n\n\n", "\n\n"), A.replace("\n\n", "\n\n\n", 2)])
def test_an_empty_line_too_few_or_too_many_costs_nothing(damaged: str) -> None:
    assert [record["title"] for record in _read(damaged + B + C)] == ["Title 1.", "Title 2.", "Title 3."]


def test_a_file_that_is_cut_off_loses_its_last_record_alone_and_text_between_is_skipped() -> None:
    notes = Notes(PATH)
    assert len(read_pubmed_text(f"{A}https://library.example/\n\n\n{B}"[:-20], notes)) == 1
    link, cut = notes.taken
    assert (link.kind, link.line, link.text) == (NoteKind.SKIPPED, 12, "link")
    assert (cut.kind, cut.line) == (NoteKind.LOST, 15)
    with pytest.raises(InputError, match="is the file cut off"):
        read_pubmed_text(A[:-20], Notes(PATH))
    with pytest.raises(InputError, match="no record"):
        read_pubmed_text("text\n", Notes(PATH))


@pytest.mark.parametrize("form", [Format.RIS, Format.ENDNOTE_XML, Format.DELIMITED])
def test_what_a_format_can_hold_is_exported(tmp_path: Path, form: Format) -> None:
    own = _read(THREE)
    write_records(own, tmp_path / "written", format=form)
    again = read_records(tmp_path / "written")
    names = ("title", "abstract", "authors", "year", "journal", "doi", "pmid", "language")
    for one, other in zip(again, own, strict=True):
        assert {name: one.get(name) for name in names} == {name: other.get(name) for name in names}
    kept = {
        Format.RIS: {"_ris_VL": "3", "_ris_IS": "2 Suppl 1", "_ris_SP": "10-9", "_ris_C2": "PMC99"},
        Format.ENDNOTE_XML: {"_endnote_volume": "3", "_endnote_pages": "10-9", "_endnote_custom2": "PMC99"},
        Format.DELIMITED: {"_pubmed_volume": "3", "_pubmed_conflict_of_interest": "None declared."},
    }[form]
    assert {name: again[0].get(name) for name in kept} == kept
    if form is Format.RIS:
        assert "Conflict of interest statement: None declared." in again[0]["_ris_N1"]
