"""The example files beside the checkout, one for each kind of fault in files that people brought."""

import json
from pathlib import Path
from typing import Any

import pytest
from bibtexparser.splitter import Splitter

from stage.shared_data import EXAMPLES
from tamis_review.intake.reading import Intake, read_file
from tamis_review.intake.writing import write_records

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


def test_a_field_with_a_blank_in_its_name_comes_back_from_an_export(tmp_path: Path) -> None:
    write_records(_read("field_name_with_blank.bib").records, tmp_path / "out.bib")
    (entry,) = Splitter((tmp_path / "out.bib").read_text("utf-8")).split().entries
    assert (entry["Early_Access_Date"], entry["funding_text_1"]) == ("{{NOV 2021}}", "{A grant}")
    (back,) = read_file(tmp_path / "out.bib", strict=True).records
    assert (back["_bib_Early_Access_Date"], back["_bib_funding_text_1"]) == ("{NOV 2021}", "A grant")


def test_commands_that_only_format_leave_their_text() -> None:
    assert _fields(_read("bbt_italics.bib"), "title", "abstract", "year", "journal") == [
        (
            "Prevalence of Salmonella in Sus scrofa",
            "The Salmonella of wild pigs, CO2 and 5 µg.",
            2021,
            "J Walks",
        )
    ]


def test_an_entity_behind_an_escaped_ampersand_is_its_character() -> None:
    assert _fields(_read("acm_entities.bib"), "title") == [("Needs & Motivations of Senior Travelers",)]


def test_the_columns_of_springer_are_known() -> None:
    assert _fields(_read("springer.csv"), "title", "journal", "doi", "year", "authors", "type") == [
        ("Walking in towns", "J Walks", "10.1/w", 2021, ["Ann MoorBob Hill"], "Article")
    ]


def test_the_columns_of_openalex_are_known() -> None:
    intake = _read("openalex.csv")
    assert _fields(intake, "title", "abstract", "journal", "authors") == [
        ("Walking in towns", "We walked and saw.", "J Walks", ["Ann Moor", "Bob Hill"])
    ]
    assert _fields(intake, "doi", "pmid", "year", "language") == [("10.1/w", "123", 2021, "en")]


@pytest.mark.parametrize("name", ["csl.json", "csl.jsonl"])
def test_csl_is_read_under_canonical_names_and_comes_back(name: str, tmp_path: Path) -> None:
    intake = _read(name)
    own = ("Walking in towns", "We walked and saw.", ["Moor, Ann"], 2021, "J Walks", "10.1/w")
    assert _fields(intake, "title", "abstract", "authors", "year", "journal", "doi") == [own]
    assert intake.records[0]["id"] == "m"
    write_records(intake.records, tmp_path / "out.jsonl")
    (line,) = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    (original,) = json.loads(f"[{(EXAMPLES / name).read_text('utf-8').strip('[]')}]")
    assert json.loads(line).items() >= original.items()
    (again,) = read_file(tmp_path / "out.jsonl", strict=True).records
    assert {key: again[key] for key in intake.records[0] if key != "_source"} == {
        key: value for key, value in intake.records[0].items() if key != "_source"
    }
