"""The example: small, complete, and read as any other file."""

from tamis_review.example import CITATIONS, CRITERIA
from tamis_review.intake import read_records
from tamis_review.plans.criteria_file import read_criteria


def test_the_citations_are_24_records_with_ids_of_their_own_and_one_has_no_abstract() -> None:
    records = read_records(CITATIONS)
    assert len({record["id"] for record in records}) == 24
    assert sum("abstract" not in record for record in records) == 1


def test_every_abstract_has_60_to_130_words() -> None:
    for record in read_records(CITATIONS):
        if "abstract" in record:
            assert 60 <= len(record["abstract"].split()) <= 130, record["id"]


def test_the_criteria_are_three_to_include_and_two_to_exclude() -> None:
    criteria = read_criteria(CRITERIA)
    assert [criterion.label for criterion in criteria.labelled()] == ["I1", "I2", "I3", "E1", "E2"]
