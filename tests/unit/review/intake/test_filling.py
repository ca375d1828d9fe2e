"""Filling: what a record lacks is taken from its copies, what it has stays, and what contradicts it is kept beside."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.intake.filling import CONTRADICTED, FILLED, filled

FIRST, SECOND = {"from": 4, "source": "Scopus"}, {"from": 9, "source": "Embase"}


def test_each_field_comes_from_the_first_that_has_it_and_says_so() -> None:
    record = {"id": "1", "title": "Walks", "year": 2020, "authors": [], "_own": "x"}
    first = {"id": "2", "title": "WALKS", "doi": "10.1000/a", "authors": ["Ames A"], "_theirs": "y"}
    second = {"id": "3", "abstract": "Sixty walked.", "doi": "10.1000/A", "journal": "J Walk", "year": 2020}
    whole = filled(record, [(first, FIRST), (second, SECOND)])
    assert whole == {
        "id": "1",
        "title": "Walks",
        "abstract": "Sixty walked.",
        "authors": ["Ames A"],
        "year": 2020,
        "journal": "J Walk",
        "doi": "10.1000/a",
        "_own": "x",
        FILLED: {"authors": FIRST, "doi": FIRST, "abstract": SECOND, "journal": SECOND},
    }
    names = [name for name in whole if not name.startswith("_")]
    assert names == ["id", "title", "abstract", "authors", "year", "journal", "doi"]
    assert "abstract" not in record, "the caller's record is not changed"


@pytest.mark.parametrize(
    ("name", "own", "other"),
    [
        ("year", 2021, 2020),
        ("doi", "10.1000/a", "https://doi.org/10.1000/b"),
        ("pmid", "31200", "31201"),
        ("nct_id", "NCT00000001", "NCT00000002"),
    ],
)
def test_what_a_copy_says_instead_is_kept_beside_and_never_instead(name: str, own: Any, other: Any) -> None:
    whole = filled({"id": "1", name: own}, [({name: other}, FIRST), ({name: own}, SECOND), ({name: other}, SECOND)])
    assert whole == {
        "id": "1",
        name: own,
        CONTRADICTED: {name: [{"value": other, **FIRST}, {"value": other, **SECOND}]},
    }


def test_copies_that_contradict_each_other_where_the_record_is_silent_are_not_resolved_silently() -> None:
    whole = filled({"id": "1"}, [({"doi": "10.1000/a"}, FIRST), ({"doi": "10.1000/b"}, SECOND)])
    assert (whole["doi"], whole[FILLED]) == ("10.1000/a", {"doi": FIRST})
    assert whole[CONTRADICTED] == {"doi": [{"value": "10.1000/b", **SECOND}]}


@pytest.mark.parametrize(
    ("name", "own", "other"),
    [
        ("doi", "10.1000/A", "doi:10.1000/a"),
        ("pmid", "0031200", "PMID: 31200"),
        ("year", "2020", 2020),
        ("journal", "J Walk", "Journal of Walking"),
        ("doi", "not yet", "10.1000/a"),  # what is no DOI contradicts none
        ("title", "Walks", "Walks."),
    ],
)
def test_another_way_to_write_the_same_is_no_contradiction(name: str, own: Any, other: Any) -> None:
    record = {"id": "1", name: own}
    assert filled(record, [({name: other}, FIRST)]) == record


def test_what_was_said_before_stays_and_a_column_of_that_name_is_no_hindrance() -> None:
    once = filled({"id": "1", "year": 2021}, [({"doi": "10.1000/a", "year": 2020}, FIRST)])
    twice = filled(once, [({"journal": "J Walk", "year": 2019}, SECOND)])
    assert twice[FILLED] == {"doi": FIRST, "journal": SECOND}
    assert [one["value"] for one in twice[CONTRADICTED]["year"]] == [2020, 2019]
    odd = filled({"id": "1", FILLED: "yes"}, [({"doi": "10.1000/a"}, FIRST)])
    assert odd[FILLED] == {"doi": FIRST}


values = st.sampled_from(["", None, [], "a", ["b"], 2020])
records = st.dictionaries(st.sampled_from(["title", "abstract", "journal", "keywords", "_hidden"]), values)


@given(records, st.lists(records, max_size=3))
def test_no_value_is_overwritten_and_each_that_was_filled_stands_in_its_copy(
    record: dict[str, Any], copies: list[dict[str, Any]]
) -> None:
    whole = filled(record, [(copy, {"from": at}) for at, copy in enumerate(copies)])
    for name, value in record.items():
        assert whole[name] == value or value in ("", None, [])
    gained = whole.get(FILLED, {})
    assert all(whole[name] == copies[origin["from"]][name] for name, origin in gained.items())
    assert set(whole) - set(record) <= {*gained, FILLED}
