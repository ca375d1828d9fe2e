"""The parameters of operations are checked before anything is written."""

import pytest
from pydantic import ValidationError

from tamis_schemas import Filter, Inclusion, InvalidParameters, SearchCriteria, parse_operation

QUESTION = {"research_question": "Does it work?"}


def test_stored_parameters_give_the_operation_back() -> None:
    operation = Inclusion(criteria=SearchCriteria(**QUESTION, inclusion_criteria=["humans"], date_range=(1990, 2020)))
    assert parse_operation(operation.model_dump(mode="json")) == operation


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"operation": "filter", "criteria": " "}, "filter.criteria"),
        ({"operation": "filter"}, "filter.criteria"),
        ({"operation": "guess"}, "operation"),
        ({"operation": "filter", "criteria": "x", "temperature": 1}, "filter.temperature"),
        ("filter", "operation"),
    ],
)
def test_wrong_parameters_are_refused_naming_the_field(params: object, named: str) -> None:
    with pytest.raises(InvalidParameters, match=named):
        parse_operation(params)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, "at least one criterion"),
        ({"inclusion_criteria": ["a"], "date_range": (2020, 2010)}, "begins after it ends: 2020 > 2010"),
        ({"inclusion_criteria": ["a", " "]}, "inclusion_criteria.1"),
        ({"inclusion_criteria": ["a"], "inclusions": ["b"]}, "inclusions"),
        ({"inclusion_criteria": ["a"], "research_question": ""}, "research_question"),
    ],
)
def test_criteria_that_decide_nothing_are_refused(changes: dict[str, object], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        SearchCriteria.model_validate(QUESTION | changes)


def test_criteria_are_labelled_inclusion_first() -> None:
    criteria = SearchCriteria(**QUESTION, inclusion_criteria=["a", "b"], exclusion_criteria=["c"])
    assert [(c.label, c.text, c.excludes) for c in criteria.labelled()] == [
        ("I1", "a", False),
        ("I2", "b", False),
        ("E1", "c", True),
    ]


def test_an_operation_cannot_be_changed_after_it_was_made() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Filter(criteria="x").criteria = "y"  # type: ignore[misc] # the wrong use
