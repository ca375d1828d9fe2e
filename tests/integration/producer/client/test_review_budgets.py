"""Budgets of a review's stages, and priorities, as the ledger keeps them."""

from decimal import Decimal

import pytest
from sqlalchemy import text

from stage import abstracts
from tamis_producer import Client
from tamis_review import Review, list_reviews, submit_review
from tamis_schemas import (
    Filter,
    IdempotencyConflict,
    InvalidParameters,
    Priority,
    ReviewPlan,
    ReviewStage,
    Score,
)


def plan(first: str | None, second: str | None = None, model: str = "gpt-5-mini") -> ReviewPlan:
    stages = (
        ReviewStage(operation=Filter(criteria="Is it?"), model=model, max_cost=first and Decimal(first)),
        ReviewStage(operation=Score(criteria="How good?"), model=model, max_cost=second and Decimal(second)),
    )
    return ReviewPlan(stages=stages)


def submit(client: Client, planned: ReviewPlan, priority: Priority = Priority.NORMAL) -> Review:
    return submit_review(client, planned, abstracts(2), label="r", priority=priority)


def test_a_stage_has_the_budget_of_the_plan_and_the_reviews_priority(client: Client) -> None:
    (stage,) = submit(client, plan("2.50"), priority=Priority.HIGH).status().stages
    assert stage.budget is not None
    assert stage.budget.max_cost == Decimal("2.5")
    assert stage.budget.spent == stage.budget.reserved == 0
    with client.engine.connect() as connection:
        assert connection.execute(text("SELECT priority FROM batches")).scalar_one() == "high"


def test_another_budget_is_the_same_review_unless_it_is_a_tighter_one(client: Client) -> None:
    first = submit(client, plan("2", "3"))
    assert (
        submit(client, plan("2", "3")).id
        == submit(client, plan("5", "3")).id
        == submit(client, plan(None)).id
        == first.id
    )
    with pytest.raises(IdempotencyConflict, match=r"stage score.*a budget of \$3\.00 instead of \$1\.00"):
        submit(client, plan("2", "1"))


def test_every_stage_with_a_budget_needs_a_price(client: Client) -> None:
    with pytest.raises(InvalidParameters, match="unheard-of"):
        submit(client, plan(None, "1", model="unheard-of"))
    assert list_reviews(client) == []
