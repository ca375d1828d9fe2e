"""A paper is made of any record, and no record is refused."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tamis_schemas.records.paper import PaperData


def test_only_a_title_is_demanded() -> None:
    paper = PaperData(title="T")
    assert paper.model_dump(exclude={"title", "authors"}) == dict.fromkeys(
        ("abstract", "year", "journal", "publication_date", "doi", "pmid", "id")
    )
    assert paper.authors == []


def test_a_record_becomes_a_paper_under_the_same_names() -> None:
    record = {
        "id": 7,
        "title": "T",
        "abstract": "A",
        "year": 2020,
        "authors": ["Jo", "Mo"],
        "journal": "J",
        "publication_date": "2020-05-01",
        "doi": "10.1/x",
        "pmid": 123,
        "_label": 1,
        "keywords": ["k"],
    }
    assert PaperData.of(record) == PaperData(
        id="7",
        title="T",
        abstract="A",
        year=2020,
        authors=["Jo", "Mo"],
        journal="J",
        publication_date="2020-05-01",
        doi="10.1/x",
        pmid="123",
    )


@pytest.mark.parametrize(
    ("value", "year"),
    [
        *((2020, 2020), ("2020", 2020), (" 2020 ", 2020), (2020.0, 2020)),
        *((value, None) for value in ("in press", "", None, True, 2020.5, "2020-05", "²⁰²⁰", [2020], "9" * 5000)),
    ],
)
def test_a_year_that_is_no_number_is_unknown(value: object, year: int | None) -> None:
    assert PaperData.of({"title": "T", "year": value}).year == year


def test_a_single_author_a_date_and_half_of_a_character_are_read() -> None:
    paper = PaperData.of({"title": "a\ud800b", "authors": "Jo", "publication_date": date(2020, 5, 1)})
    assert (paper.title, paper.authors, paper.publication_date) == ("a?b", ["Jo"], "2020-05-01")


@given(
    st.dictionaries(
        st.sampled_from(list(PaperData.model_fields)),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text() | st.none()),
    )
)
def test_no_record_is_refused(record: dict[str, object]) -> None:
    paper = PaperData.of(record)
    assert PaperData.model_validate(paper.model_dump()) == paper


def test_a_misspelt_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="abstrakt"):
        PaperData.model_validate({"title": "T", "abstrakt": "A"})


def test_the_item_id_is_the_id_else_the_pmid() -> None:
    ids = [PaperData.of(record).item_id for record in ({"id": "a", "pmid": "b"}, {"pmid": "b"}, {"title": "T"})]
    assert ids == ["a", "b", "unknown"]
