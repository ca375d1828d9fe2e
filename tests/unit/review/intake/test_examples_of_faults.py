"""The example files beside the checkout, one for each kind of fault in files that people brought."""

from typing import Any

import pytest

from stage.shared_data import EXAMPLES
from tamis_review.intake.reading import Intake, read_file

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason=f"no example files at {EXAMPLES}")


def _read(name: str) -> Intake:
    """Read strictly: a lost record would be an error."""
    return read_file(EXAMPLES / name, strict=True)


def _fields(intake: Intake, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(record.get(name) for name in names) for record in intake.records]


def test_text_with_a_tag_between_records_costs_none_and_is_noted_once() -> None:
    intake = _read("ovid_c1_after_er.ris")
    assert _fields(intake, "title") == [("Bed rest after surgery",), ("Walking after surgery",)]
    assert [note.text for note in intake.notes] == [
        "record number",
        "link",
        "line of text outside of any record",
    ]


def test_fields_directly_above_the_type_are_the_records_own() -> None:
    intake = _read("ty_not_first.ris")
    assert _fields(intake, "title", "authors", "abstract") == [
        ("Baboons of a reserve", ["Moor, A. J."], "Some text about them"),
        ("Second paper", ["Hill, B."], None),
    ]
    assert intake.notes == ()


def test_pmcs_number_above_the_pubmed_id_stays_with_its_record() -> None:
    intake = _read("pmc_before_pmid.nbib")
    assert _fields(intake, "pmid", "_nbib_PMC", "title") == [("1", "PMC1", "First"), ("2", "PMC2", "Second")]
    assert intake.notes == ()


def test_a_row_shifted_behind_its_abstract_is_kept_without_the_cells_behind_the_shift() -> None:
    intake = _read("scopus_shifted.csv")
    assert _fields(intake, "title", "year", "doi", "abstract") == [
        ("Walking in towns", 2021, "10.1/w", "We walked and saw."),
        ("Walking in towns 2", 2022, "10.1/v", "We walked and saw."),
    ]
    assert intake.records[1]["id"] == "10.1/v"  # the accession number is behind the shift
    assert [(note.text, note.line) for note in intake.notes] == [("a cell beyond the header's", 3)]


def test_quotes_within_a_cell_cost_no_row() -> None:
    intake = _read("bare_quote.csv")
    assert _fields(intake, "abstract") == [('He said "yes" to it',), ("We walked and saw.",)]
    assert intake.notes == ()


def test_comments_without_braces_cost_no_entry() -> None:
    intake = _read("comment_lines.bib")
    assert _fields(intake, "id", "title") == [("a", "First"), ("b", "Second")]
    assert intake.notes == ()
