"""Reviews over HTTP: their stages, what is left in each, and what comes next."""

from collections.abc import Iterator

import httpx2 as httpx
import pytest

from stage import abstracts
from stage.gateway import signed_in
from tamis_producer import Client
from tamis_producer.gateway.api_keys import Scope
from tamis_review import Review, decide, submit_review
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_schemas import Filter, ReviewPlan, ReviewStage

PLAN = ReviewPlan(
    stages=(
        ReviewStage(operation=Filter(criteria="Is this about oncology?")),
        ReviewStage(operation=Filter(criteria="Is it a trial?")),
    )
)


@pytest.fixture
def review(client: Client) -> Review:
    return submit_review(client, PLAN, abstracts(4), label="spring update")


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        yield http


def test_a_review_says_what_is_left_for_whoever_asks(review: Review, http: httpx.Client) -> None:
    (batch,) = review.stages()
    decide(batch, [HumanDecision(0, True, "Reviewer A"), HumanDecision(1, True, "Reviewer B")])
    told = http.get(f"/v1/reviews/{review.id[:8]}").json()
    assert (told["label"], told["planned"], told["next_step"]) == ("spring update", ["filter", "filter"], "runs")
    (stage,) = told["stages"]
    assert (stage["name"], stage["todo"], stage["conflicts"]) == ("filter", 2, 0)
    assert (stage["batch"]["id"], stage["batch"]["counts"]["n_items"]) == (batch.id, 4)
    decide(batch, [HumanDecision(1, False, "Reviewer A")])
    told = http.get(f"/v1/reviews/{review.id}").json()
    assert (told["stages"][0]["conflicts"], told["next_step"]) == (1, "1 conflict to settle")


def test_what_is_left_is_what_the_work_list_shows(review: Review, http: httpx.Client) -> None:
    (batch,) = review.stages()
    decide(batch, [HumanDecision(2, False, "Reviewer B")])
    (stage,) = http.get(f"/v1/reviews/{review.id}").json()["stages"]
    counts = http.get(f"/v1/batches/{batch.id}/work").json()["counts"]
    assert (stage["todo"], stage["conflicts"]) == (counts["todo"], counts["conflicts"]) == (3, 0)


def test_reviews_are_listed_newest_first_and_page_by_page(client: Client, review: Review, http: httpx.Client) -> None:
    newer = submit_review(client, PLAN, abstracts(5), label="autumn update")
    listed = http.get("/v1/reviews").json()
    assert ([one["id"] for one in listed["items"]], listed["next"]) == ([newer.id, review.id], None)
    first = http.get("/v1/reviews", params={"limit": 1}).json()
    assert ([one["id"] for one in first["items"]], first["next"]) == ([newer.id], newer.id)
    second = http.get("/v1/reviews", params={"limit": 1, "after": first["next"]}).json()
    assert ([one["id"] for one in second["items"]], second["next"]) == ([review.id], None)
    assert http.get("/v1/reviews", params={"after": review.id}).json() == {"items": [], "next": None}


def test_a_review_that_is_not_there_is_unknown(http: httpx.Client) -> None:
    assert http.get("/v1/reviews/3f2a").status_code == 404
    assert http.get("/v1/reviews", params={"after": "3f2a"}).status_code == 404
