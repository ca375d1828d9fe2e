"""A plan: what may follow what, and what passes from one stage to the next."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from tamis_schemas import (
    ErrorKind,
    EvaluationResult,
    Extract,
    Filter,
    Inclusion,
    InclusionDecision,
    InclusionStatus,
    ItemResult,
    ItemStatus,
    Judge,
    Override,
    ReviewPlan,
    ReviewStage,
    Score,
    SearchCriteria,
    Steering,
    Tier,
)

INCLUSION = Inclusion(criteria=SearchCriteria(research_question="Does it?", inclusion_criteria=["humans"]))
FILTER = Filter(criteria="Is it?")
SCORE = Score(criteria="How good?")
JUDGE = Judge(guidelines="Only what it says.")


def row(value: Any, **changes: Any) -> ItemResult:
    given: dict[str, Any] = {
        "index": 0,
        "item_id": "1",
        "status": ItemStatus.DECIDED,
        "result": EvaluationResult(value=value, confidence=0.5),
    }
    return ItemResult(**given | changes)


def screened(status: InclusionStatus) -> ItemResult:
    return row(status.value, decision=InclusionDecision(status=status, confidence=0.5, rationale="so"))


@pytest.mark.parametrize(
    ("stage", "result", "passes"),
    [
        (ReviewStage(operation=INCLUSION), screened(InclusionStatus.INCLUDE), True),
        (ReviewStage(operation=INCLUSION), screened(InclusionStatus.UNCERTAIN), False),
        (ReviewStage(operation=INCLUSION), screened(InclusionStatus.EXCLUDE), False),
        (ReviewStage(operation=INCLUSION, passes=("include", "uncertain")), screened(InclusionStatus.UNCERTAIN), True),
        (ReviewStage(operation=INCLUSION, passes=("include", "uncertain")), screened(InclusionStatus.EXCLUDE), False),
        (ReviewStage(operation=FILTER), row(True), True),
        (ReviewStage(operation=FILTER), row(False), False),
        (ReviewStage(operation=SCORE), row(0.0), True),
        (ReviewStage(operation=SCORE, at_least=0.5), row(0.5), True),
        (ReviewStage(operation=SCORE, at_least=0.5), row(0.49), False),
        (ReviewStage(operation=Extract(instruction="Which?")), row(None), True),
    ],
)
def test_a_stage_says_what_passes(stage: ReviewStage, result: ItemResult, passes: bool) -> None:
    assert stage.lets_pass(result) is passes


@pytest.mark.parametrize("operation", [INCLUSION, FILTER, SCORE, Extract(instruction="Which?")])
@pytest.mark.parametrize(
    "changes",
    [
        {"status": ItemStatus.FAILED, "result": EvaluationResult(error="refused"), "error_kind": ErrorKind.REFUSED},
        {"status": ItemStatus.EXCLUDED_BY_FILTER, "result": None},
        {"status": ItemStatus.CANCELLED, "result": None},
        {"status": ItemStatus.PENDING, "result": None},
        {"result": EvaluationResult(error="an error that is called decided")},
    ],
)
def test_what_is_not_decided_never_passes(operation: Any, changes: dict[str, Any]) -> None:
    assert not ReviewStage(operation=operation).lets_pass(row(True, **changes))


@pytest.mark.parametrize(
    ("stage", "value", "passes"),
    [
        (ReviewStage(operation=INCLUSION), "include", True),
        (ReviewStage(operation=INCLUSION), "exclude", False),
        (ReviewStage(operation=FILTER), True, True),
        (ReviewStage(operation=FILTER), False, False),
        (ReviewStage(operation=SCORE, at_least=0.5), 0.4, False),
        (ReviewStage(operation=Extract(instruction="Which?")), None, True),
    ],
)
def test_what_a_human_decided_counts_also_where_the_software_decided_nothing(
    stage: ReviewStage, value: object, passes: bool
) -> None:
    human = Override(
        batch_id="b", index=0, item_id="1", value=value, reviewer="R", created_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    failed = row(None, status=ItemStatus.FAILED, result=EvaluationResult(error="refused"), override=human)
    assert stage.lets_pass(failed) is passes


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ([], "at least 1"),
        ([{"operation": JUDGE}], "a judge needs an earlier stage"),
        ([{"operation": FILTER}, {"operation": JUDGE}, {"operation": SCORE}], "a judge must be the last stage"),
        ([{"operation": FILTER, "passes": ["include", "uncertain"]}], "passes belongs to an inclusion, not to filter"),
        ([{"operation": INCLUSION, "passes": ["include", "exclude"]}], "excluded records do not continue"),
        ([{"operation": INCLUSION, "passes": []}], "passes must name include, uncertain or both"),
        ([{"operation": FILTER, "at_least": 0.5}], "at_least belongs to a score, not to filter"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(stages: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ReviewPlan.model_validate({"stages": [stage | {"operation": dump(stage)} for stage in stages]})


def dump(stage: dict[str, Any]) -> dict[str, Any]:
    dumped: dict[str, Any] = stage["operation"].model_dump(mode="json")
    return dumped


def test_a_plan_survives_its_json() -> None:
    plan = ReviewPlan(stages=(ReviewStage(operation=INCLUSION, model="m"), ReviewStage(operation=JUDGE)))
    assert ReviewPlan.model_validate(plan.model_dump(mode="json")) == plan
    assert [stage.model for stage in plan.asking("other").stages] == ["m", "other"]


def test_a_plan_that_is_not_steered_is_known_by_what_it_was_known_by_before() -> None:
    content = ReviewPlan(stages=(ReviewStage(operation=FILTER),)).content
    assert set(content["stages"][0]) == {"operation", "model", "passes", "at_least"}


def test_a_plan_is_another_one_by_its_steering_but_not_by_its_tier() -> None:
    plan = ReviewPlan(stages=(ReviewStage(operation=FILTER), ReviewStage(operation=SCORE)))
    assert plan.steered(Steering(tier=Tier.FLEX, tier_patience=5)).content == plan.content
    assert plan.steered(Steering(reasoning_effort="low")).content != plan.content


def test_what_is_said_of_a_review_goes_over_what_its_plan_says() -> None:
    stage = ReviewStage(operation=FILTER, steering=Steering(tier=Tier.FLEX, reasoning_effort="low"))
    steered = ReviewPlan(stages=(stage,)).steered(Steering(tier=Tier.STANDARD))
    assert steered.stages[0].steering == Steering(tier=Tier.STANDARD, reasoning_effort="low")
