"""How an item is identified, and what of it a model sees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import resolve_item_id
from tamis_schemas.records.item import shown_fields


@pytest.mark.spec("1.56")
@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"id": "a", "pmid": "b", "nct_id": "c"}, "a"),
        ({"pmid": "b", "nct_id": "c"}, "b"),
        ({"nct_id": "c"}, "c"),
        ({"title": "x"}, "unknown"),
        ({"id": None, "pmid": 123}, "123"),
        ({"id": "", "pmid": "b"}, "b"),
        ({"id": 0}, "0"),
        ({}, "unknown"),
    ],
)
def test_the_id_is_the_first_of_id_pmid_nct_id(item: dict[str, object], expected: str) -> None:
    assert resolve_item_id(item) == expected


def test_neither_id_nor_underscored_nor_empty_fields_are_shown() -> None:
    item = {"id": "1", "title": "T", "_label": 1, "abstract": "", "authors": [], "year": 0, "open": False, "doi": None}
    assert shown_fields(item) == {"title": "T", "year": 0, "open": False}


@given(st.dictionaries(st.text(min_size=1), st.text() | st.integers() | st.none()))
def test_what_is_shown_keeps_order_and_values(item: dict[str, object]) -> None:
    shown = shown_fields(item)
    assert list(shown) == [name for name in item if name in shown]
    assert all(item[name] == value for name, value in shown.items())
