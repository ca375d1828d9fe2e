"""The parameters of operations are checked before anything is written."""

import pytest
from pydantic import ValidationError

from tamis_schemas import (
    EvaluationResult,
    Extract,
    ExtractFields,
    FieldsResult,
    Filter,
    Inclusion,
    InvalidParameters,
    Score,
    SearchCriteria,
    parse_operation,
)

QUESTION = {"research_question": "Does it work?"}


def test_stored_parameters_give_the_operation_back() -> None:
    operation = Inclusion(criteria=SearchCriteria(**QUESTION, inclusion_criteria=["humans"], date_range=(1990, 2020)))
    assert parse_operation(operation.model_dump(mode="json")) == operation


@pytest.mark.spec("1.40")
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


@pytest.mark.spec("1.7")
def test_reasoning_is_asked_for_unless_said_otherwise() -> None:
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    for operation in (
        Filter(criteria="x"),
        Score(criteria="x"),
        Extract(instruction="x"),
        ExtractFields(schema=schema, instructions="x"),
    ):
        assert operation.include_reasoning is True


@pytest.mark.spec("1.28", "1.30", "1.31")
@pytest.mark.parametrize("kind", [EvaluationResult, FieldsResult])
def test_both_kinds_of_result_have_the_same_indicators_and_no_item_id(
    kind: type[EvaluationResult] | type[FieldsResult],
) -> None:
    value = "value" if kind is EvaluationResult else "fields"
    assert list(kind.model_fields) == [value, "confidence", "reasoning", "error"]
    assert set(kind().model_dump().values()) == {None, 0.0}
    for outside in (-0.1, 1.1):
        with pytest.raises(ValidationError, match="confidence"):
            kind(confidence=outside)
