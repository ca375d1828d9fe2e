"""Criteria under their labels, and what each says of a record that it excludes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tamis_schemas import SearchCriteria

TEXT = st.text("abc ", min_size=1, max_size=6).filter(str.strip)
ENTRY = st.tuples(TEXT, st.none() | TEXT)
BEGUN: dict[str, Any] = {"research_question": "q"}


def criteria(**fields: Any) -> SearchCriteria:
    return SearchCriteria.model_validate(BEGUN | fields)


def test_every_criterion_has_a_label_and_the_study_types_are_one_after_the_inclusion_criteria() -> None:
    made = criteria(
        inclusion_criteria=["adults", "trials"], exclusion_criteria=["reviews"], study_types=["RCT", "cohort"]
    )
    assert [(one.label, one.text, one.excludes) for one in made.labelled()] == [
        ("I1", "adults", False),
        ("I2", "trials", False),
        ("S1", "Study type: RCT or cohort", False),
        ("E1", "reviews", True),
    ]


def test_a_reason_never_reads_as_its_opposite_and_is_worded_as_the_caller_words_it() -> None:
    made = criteria(
        inclusion_criteria=["adults", {"criterion": " trials ", "exclude_as": "Wrong study design"}],
        exclusion_criteria=["reviews", {"criterion": "mice", "exclude_as": "Not in people"}, {"criterion": "notes"}],
        study_types=["RCT"],
        exclude_as={"S1": "Wrong type"},
    )
    assert (made.inclusion_criteria, made.exclusion_criteria) == (["adults", "trials"], ["reviews", "mice", "notes"])
    assert [one.reason for one in made.labelled()] == [
        "not met: adults",
        "Wrong study design",
        "Wrong type",
        "reviews",
        "Not in people",
        "notes",
    ]


def test_criteria_without_wordings_are_stored_as_before_there_were_any() -> None:
    plain = criteria(inclusion_criteria=["adults"]).model_dump(mode="json")
    assert "exclude_as" not in plain
    assert criteria(inclusion_criteria=[{"criterion": "adults"}]).model_dump(mode="json") == plain


@given(st.lists(ENTRY, max_size=3), st.lists(ENTRY, min_size=1, max_size=3))
def test_criteria_come_back_from_json_and_from_entries_with_the_same_reasons(
    included: list[tuple[str, str | None]], excluded: list[tuple[str, str | None]]
) -> None:
    def entries(listed: list[tuple[str, str | None]]) -> list[Any]:
        return [text if wording is None else {"criterion": text, "exclude_as": wording} for text, wording in listed]

    made = criteria(inclusion_criteria=entries(included), exclusion_criteria=entries(excluded))
    assert SearchCriteria.model_validate_json(made.model_dump_json()) == made
    told = [one.reason for one in made.labelled()]
    assert told == [
        *(f"not met: {text.strip()}" if wording is None else wording.strip() for text, wording in included),
        *((text if wording is None else wording).strip() for text, wording in excluded),
    ]


@pytest.mark.parametrize(
    ("fields", "place", "said"),
    [
        (
            {"inclusion_criteria": ["a", {"criterion": "b", "because": "c"}]},
            ("inclusion_criteria", 1, "because"),
            "Extra",
        ),
        ({"inclusion_criteria": [{"criterion": "b", "exclude_as": " "}]}, ("inclusion_criteria", 0, "exclude_as"), "1"),
        ({"exclusion_criteria": [{"criterion": ""}]}, ("exclusion_criteria", 0, "criterion"), "1"),
        ({"exclusion_criteria": [{"exclude_as": "c"}]}, ("exclusion_criteria", 0), "string"),
        (
            {"inclusion_criteria": ["a"], "exclude_as": {"I2": "c"}},
            (),
            "exclude_as names 'I2', but the criteria are I1",
        ),
        ({"inclusion_criteria": ["a"], "exclude_as": {"S1": "c"}}, (), "the criteria are I1"),
        (
            {"inclusion_criteria": [{"criterion": "b", "exclude_as": "c"}], "exclude_as": {"I1": "d"}},
            (),
            "exclude_as repeats I1",
        ),
    ],
)
def test_a_mistake_in_a_wording_has_its_place(fields: dict[str, Any], place: tuple[Any, ...], said: str) -> None:
    with pytest.raises(ValidationError, match=said) as raised:
        criteria(**fields)
    assert raised.value.errors()[0]["loc"] == place


def test_the_schema_says_that_an_entry_may_bring_its_wording_and_that_none_comes_back_with_it() -> None:
    entry, told = (
        TypeAdapter(SearchCriteria).json_schema(mode=mode)["properties"]["inclusion_criteria"]["items"]
        for mode in ("validation", "serialization")
    )
    assert [branch["type"] for branch in entry["anyOf"]] == ["string", "object"]
    assert told["type"] == "string"
