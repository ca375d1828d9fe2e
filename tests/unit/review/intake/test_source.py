"""A record gives back the fields of its file: all, in order, and as the record has them now."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.intake.fields import FieldPlace, fields_of
from tamis_review.intake.recognise import Format
from tamis_review.intake.source import SOURCE, Field, layout_of, remember, source_format

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
KEYS = st.sampled_from(["title", "authors", "year", "_x", None])
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "title": TEXT,
        "authors": st.lists(TEXT, max_size=4),
        "year": st.integers(1000, 9999),
        "_x": TEXT | st.lists(TEXT, max_size=3),
    },
)
PLACES = {
    "title": FieldPlace("TI"),
    "authors": FieldPlace("AU"),
    "doi": FieldPlace("DO", "doi:", "."),
    "id": FieldPlace("ID"),
}


def _pairs(record: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    return [(field.name, field.text) for field in fields_of(record, Format.RIS, PLACES, **options)]


def _read(record: dict[str, Any], *fields: Field) -> dict[str, Any]:
    remember(record, Format.RIS, fields)
    travelled: dict[str, Any] = json.loads(json.dumps(record))
    assert list(travelled) == list(record)
    return travelled


@given(VALUES, st.lists(st.builds(Field, TEXT, TEXT, KEYS), max_size=8))
def test_any_fields_of_any_record_are_given_back_as_they_were(record: dict[str, Any], fields: list[Field]) -> None:
    travelled = _read(record, *fields)
    written = [(field.name, field.text) for field in fields_of(travelled, Format.RIS, {})]
    assert written == [(field.name, field.text) for field in fields]


@given(VALUES, st.lists(st.integers(0, 3)))
def test_fields_made_of_the_record_s_own_values_are_given_back(record: dict[str, Any], picks: list[int]) -> None:
    authors = record.get("authors", [])
    fields = [Field("AU", authors[pick], "authors") for pick in picks if pick < len(authors)]
    travelled = _read(record, *fields)
    assert [field.text for field in fields_of(travelled, Format.RIS, {})] == [field.text for field in fields]


def test_no_text_is_stored_twice() -> None:
    record: dict[str, Any] = {
        "title": "A title",
        "abstract": "one part\nanother",
        "authors": ["A", "B"],
        "keywords": ["x", "y", "z"],
        "doi": "10.1/a",
        "year": 2024,
        "_n": ["p", "q"],
    }
    remember(
        record,
        Format.RIS,
        [
            Field("TI", "A title", "title"),
            Field("AB", "one part", "abstract"),
            Field("AB", "another", "abstract"),
            Field("AU", "A", "authors"),
            Field("AU", "B", "authors"),
            Field("KW", "x; y; z", "keywords"),
            Field("DO", "https://doi.org/10.1/a", "doi"),
            Field("N1", "p", "_n"),
            Field("PY", "2024///", "year"),
            Field("N1", "q ", "_n"),
            Field("XX", "stands nowhere"),
            Field("YY", ""),
            Field("PM", "", "pmid"),
        ],
        {"delimiter": ";"},
    )
    mark = record[SOURCE]["fields"][1][3]
    assert record[SOURCE] == {
        "format": "RIS",
        "fields": [
            ["TI", "title"],
            ["AB", "abstract", [0, 8], mark],
            ["AB", "abstract", [9, 16], mark],
            ["AU", "authors", "*"],
            ["KW", "keywords", "; "],
            ["DO", "doi", ["https://doi.org/", ""]],
            ["N1", "_n", 0],
            ["PY", "year", ["", "///"]],
            ["N1", "_n", 1, ["", " "]],
            ["XX", None, "stands nowhere"],
            ["YY"],
            ["PM", "pmid"],
        ],
        "layout": {"delimiter": ";"},
    }
    assert layout_of(record, Format.RIS) == {"delimiter": ";"}
    assert layout_of(record, Format.NBIB) == {}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"title": "new"}, [("TI", "new"), ("AB", "a"), ("AB", "b"), ("AU", "A"), ("AU", "B"), ("PY", "2024/05")]),
        ({"abstract": "c"}, [("TI", "t"), ("AB", "c"), ("AU", "A"), ("AU", "B"), ("PY", "2024/05")]),
        ({"authors": ["C"]}, [("TI", "t"), ("AB", "a"), ("AB", "b"), ("AU", "C"), ("PY", "2024/05")]),
        (
            {"authors": ["A", "B", "C"]},
            [("TI", "t"), ("AB", "a"), ("AB", "b"), ("AU", "A"), ("AU", "B"), ("AU", "C"), ("PY", "2024/05")],
        ),
        ({"year": 2025}, [("TI", "t"), ("AB", "a"), ("AB", "b"), ("AU", "A"), ("AU", "B"), ("PY", "2025/05")]),
        ({"year": None}, [("TI", "t"), ("AB", "a"), ("AB", "b"), ("AU", "A"), ("AU", "B"), ("PY", "")]),
        (
            {"doi": "10.1/a"},
            [
                *[("TI", "t"), ("AB", "a"), ("AB", "b"), ("AU", "A"), ("AU", "B"), ("PY", "2024/05")],
                ("DO", "doi:10.1/a."),
            ],
        ),
    ],
)
def test_a_change_shows(change: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    record = _read(
        {"title": "t", "abstract": "a\nb", "authors": ["A", "B"], "year": 2024},
        Field("TI", "t", "title"),
        Field("AB", "a", "abstract"),
        Field("AB", "b", "abstract"),
        Field("AU", "A", "authors"),
        Field("AU", "B", "authors"),
        Field("PY", "2024/05", "year"),
    )
    assert _pairs({**record, **change}) == expected


def test_a_list_named_by_numbers_grows_and_shrinks_where_it_stands() -> None:
    fields = [Field("FAU", "A", "authors"), Field("AU", "a"), Field("FAU", "B", "authors"), Field("AU", "b")]
    record = _read({"authors": ["A", "B"]}, *fields)
    grown = _pairs({**record, "authors": ["A", "B", "C"]})
    assert grown == [("FAU", "A"), ("AU", "a"), ("FAU", "B"), ("FAU", "C"), ("AU", "b")]
    assert _pairs({**record, "authors": ["A"]}) == [("FAU", "A"), ("AU", "a"), ("AU", "b")]
    assert _pairs({**record, "authors": "A and B"}) == [("FAU", "A and B"), ("AU", "a"), ("AU", "b")]


def test_a_list_in_one_field_is_joined_as_it_was_and_as_the_format_has_it_where_it_changed() -> None:
    record = _read({"authors": ["A", "B"]}, Field("Authors", "A|B", "authors"))
    assert _pairs(record, joined_by="; ") == [("Authors", "A|B")]
    assert _pairs({**record, "authors": ["A", "B", "C"]}, joined_by="; ") == [("Authors", "A|B|C")]
    odd = _read({"authors": ["A", "B"]}, Field("Authors", "A, B.", "authors"))
    assert _pairs(odd, joined_by="; ") == [("Authors", "A, B.")]
    assert _pairs({**odd, "authors": ["A", "C"]}, joined_by="; ") == [("Authors", "A; C")]
    one = _read({"authors": ["A"]}, Field("Authors", "A", "authors"))
    assert _pairs({**one, "authors": ["A", "C"]}, joined_by="; ") == [("Authors", "A; C")]


def test_a_record_of_another_format_has_the_places_of_this_one_and_its_own_id_only() -> None:
    record = remember({"id": "k7", "title": "t", "authors": ["A", "B"]}, Format.NBIB, [Field("TI", "t", "title")])
    assert _pairs(record) == [("TI", "t"), ("AU", "A"), ("AU", "B"), ("ID", "k7")]
    assert _pairs({"id": "10.1/a", "doi": "10.1/a"}) == [("DO", "doi:10.1/a.")]
    assert _pairs({"id": "record-3", "title": "t"}) == [("TI", "t")]


@pytest.mark.parametrize(
    "source",
    [
        None,
        7,
        {},
        {"format": "RIS"},
        {"format": "of old"},
        {"format": []},
        "RIS",
        {"format": "RIS", "fields": [1, [], [2], ["AU", "x", 0], ["AU", "title", "?", "?", "?"], {}]},
    ],
)
def test_a_source_that_no_reader_wrote_breaks_nothing(source: object) -> None:
    record = {"title": "t", SOURCE: source}
    assert len(_pairs(record)) <= 2
    assert source_format(record) in (None, Format.RIS)
