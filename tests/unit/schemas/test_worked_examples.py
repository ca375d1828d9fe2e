"""Worked examples in criteria: how many and how long, and what of them identifies a batch or a plan."""

from typing import Any

import pytest
from pydantic import ValidationError

from tamis_schemas import Inclusion, ReviewPlan, SearchCriteria, WorkedExample
from tamis_schemas.operations import as_asked_for
from tamis_schemas.operations.criteria import LONGEST_ABSTRACT, LONGEST_REASON, LONGEST_TITLE, MAX_EXAMPLES

EXAMPLE = {"title": "A trial", "decision": "include"}


def criteria(*examples: Any) -> SearchCriteria:
    given = {"research_question": "q", "inclusion_criteria": ["humans"], "examples": list(examples)}
    return SearchCriteria.model_validate(given)


def test_an_example_has_a_title_and_a_decision_and_may_have_more() -> None:
    (example,) = criteria(EXAMPLE).examples
    assert example == WorkedExample(title="A trial", abstract=None, decision="include", reason=None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": "A trial"},
        {"decision": "include"},
        EXAMPLE | {"decision": "uncertain"},
        EXAMPLE | {"title": " "},
        EXAMPLE | {"label": 1},
        EXAMPLE | {"title": "x" * (LONGEST_TITLE + 1)},
        EXAMPLE | {"abstract": "x" * (LONGEST_ABSTRACT + 1)},
        EXAMPLE | {"reason": "x" * (LONGEST_REASON + 1)},
    ],
)
def test_what_is_no_example_or_too_long_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        criteria(wrong)


def test_only_so_many_are_taken() -> None:
    assert len(criteria(*[EXAMPLE] * MAX_EXAMPLES).examples) == MAX_EXAMPLES
    with pytest.raises(ValidationError):
        criteria(*[EXAMPLE] * (MAX_EXAMPLES + 1))


def test_criteria_without_examples_are_stored_as_before_there_were_any() -> None:
    assert "examples" not in criteria().model_dump(mode="json")
    dumped = Inclusion(criteria=criteria()).model_dump(mode="json")
    assert dumped.keys() == {"operation", "criteria", "unclear", "unverified"}
    stored = Inclusion(criteria=criteria(EXAMPLE)).model_dump(mode="json")
    assert Inclusion.model_validate(stored).criteria.examples == [WorkedExample(title="A trial", decision="include")]


def test_chosen_examples_identify_nothing_and_those_of_the_criteria_do() -> None:
    plain = Inclusion(criteria=criteria(), examples_from="7c01").model_dump(mode="json")
    chosen = Inclusion(criteria=criteria(EXAMPLE), examples_from="7c01").model_dump(mode="json")
    own = Inclusion(criteria=criteria(EXAMPLE)).model_dump(mode="json")
    # Nor does the default of a policy that requests from before there was one could not name.
    plain.pop("unverified")
    assert as_asked_for(chosen) == as_asked_for(plain) == plain
    assert own.pop("unverified") == "refer"
    assert as_asked_for(own) == as_asked_for(own | {"unverified": "refer"}) == own
    assert as_asked_for(own | {"unverified": "exclude"}) != own
    assert as_asked_for({"operation": "filter"}) == {"operation": "filter"}


def test_a_plan_stays_the_same_review_whatever_was_chosen_for_it() -> None:
    def content(**given: Any) -> dict[str, Any]:
        return ReviewPlan.model_validate({"stages": [{"operation": Inclusion(**given)}]}).content

    assert content(criteria=criteria(EXAMPLE), examples_from="7c01") == content(
        criteria=criteria(), examples_from="7c01"
    )
    assert content(criteria=criteria(EXAMPLE)) != content(criteria=criteria())
