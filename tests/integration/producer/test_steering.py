"""How a batch is steered: kept in the ledger, part of its content, told to whoever asks but for values of headers."""

import json
from collections.abc import Iterator

import httpx2 as httpx
import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from stage import abstracts
from stage.gateway import signed_in
from tamis_cli.commands import app
from tamis_producer import Batch, Client
from tamis_producer.gateway.api_keys import Scope
from tamis_review import submit_review
from tamis_schemas import (
    NO_STEERING,
    Filter,
    IdempotencyConflict,
    ReviewPlan,
    ReviewStage,
    Score,
    Steering,
    SteeringView,
    Tier,
    TierFallback,
)
from tamis_schemas.ledger import batches

# Imported for its command.
from tamis_cli.commands import status  # noqa: F401  # isort: skip

ONCOLOGY = Filter(criteria="Is this about oncology?")
SECRET = "hunter2-hunter2"
STEERING = Steering(
    reasoning_effort="low",
    extra_body={"top_p": 0.9},
    extra_headers={"X-Team": SECRET},
    tier=Tier.FLEX,
    tier_patience=60,
    tier_fallback=TierFallback.WAIT,
)
SHOWN = {
    "reasoning_effort": "low",
    "extra_body": {"top_p": 0.9},
    "extra_headers": ["X-Team"],
    "tier": "flex",
    "tier_patience": 60.0,
    "tier_fallback": "wait",
}


def kept(client: Client, batch_id: str) -> Steering:
    with client.engine.connect() as connection:
        told = connection.execute(select(batches.c.steering).where(batches.c.id == batch_id)).scalar_one()
    return Steering.model_validate(told or {})


def test_a_batch_keeps_how_it_is_steered_and_shows_no_value_of_a_header(client: Client) -> None:
    batch = client.submit(ONCOLOGY, abstracts(1), steering=STEERING)
    assert kept(client, batch.id) == STEERING
    view = batch.status()
    assert view.steering == SteeringView.of(STEERING)
    assert view.model_dump(mode="json")["steering"] == SHOWN
    assert SECRET not in view.model_dump_json()


def test_a_batch_that_is_not_steered_says_nothing_of_it(client: Client) -> None:
    batch = client.submit(ONCOLOGY, abstracts(1))
    assert kept(client, batch.id) == NO_STEERING
    assert batch.status().steering is None


def test_status_shows_it_where_the_model_is_shown(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = client.submit(ONCOLOGY, abstracts(1), steering=STEERING)
    monkeypatch.setenv("TAMIS_BROKER_URL", client.settings.broker_url or "")
    monkeypatch.setenv("TAMIS_DATABASE_URL", client.settings.database_url or "")
    told = CliRunner().invoke(app, ["status", batch.id], env={"COLUMNS": "200"})
    assert told.exit_code == 0, told.output
    assert f"steering {SteeringView.of(STEERING).words}" in " ".join(told.output.split())
    assert SECRET not in told.output


@pytest.mark.parametrize(
    ("again", "same"),
    [
        (STEERING, True),
        (STEERING.model_copy(update={"tier": Tier.STANDARD}), True),
        (STEERING.model_copy(update={"tier_patience": 1.0, "tier_fallback": None}), True),
        (STEERING.model_copy(update={"reasoning_effort": "high"}), False),
        (STEERING.model_copy(update={"extra_body": {}}), False),
        (STEERING.model_copy(update={"extra_headers": {"X-Team": "other"}}), False),
        (NO_STEERING, False),
    ],
)
def test_another_steering_is_another_content_but_another_tier_is_not(
    client: Client, again: Steering, same: bool
) -> None:
    def submitted(steering: Steering) -> Batch:
        return client.submit(ONCOLOGY, abstracts(1), idempotency_key="k", steering=steering)

    first = submitted(STEERING)
    if same:
        assert submitted(again).id == first.id
        assert kept(client, first.id) == STEERING  # it stays at its own tier
    else:
        with pytest.raises(IdempotencyConflict, match="steering"):
            submitted(again)


def test_a_review_is_steered_by_its_plan_and_by_what_is_said_over_it(client: Client) -> None:
    own = Steering(reasoning_effort="high", tier=Tier.STANDARD)
    plan = ReviewPlan(
        stages=(ReviewStage(operation=Score(criteria="Good?"), steering=own), ReviewStage(operation=ONCOLOGY))
    )
    over = Steering(tier=Tier.FLEX)
    review = submit_review(client, plan, abstracts(2), label="r", steering=over)
    (first,) = review.status().stages
    assert kept(client, first.id) == Steering(reasoning_effort="high", tier=Tier.FLEX)
    assert submit_review(client, plan, abstracts(2), label="r").id == review.id  # the tier makes no other review


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "A pipeline", *Scope) as http:
        yield http


def test_a_batch_over_http_is_steered_and_its_answer_shows_no_value_of_a_header(
    http: httpx.Client, client: Client
) -> None:
    terms = {"operation": ONCOLOGY.model_dump(mode="json"), "steering": STEERING.set_fields}
    plain = http.post("/v1/batches", json={**terms, "items": abstracts(1)})
    lines = [terms, *abstracts(1)]
    streamed = http.post(
        "/v1/batches",
        content="\n".join(map(json.dumps, lines)),
        headers={"Content-Type": "application/x-ndjson"},
    )
    file = http.post(
        "/v1/files", data={"terms": json.dumps(terms)}, files={"file": ("records.csv", b"id,title\n1,Sieves\n")}
    )
    for answer in (plain, streamed, file):
        assert answer.status_code == 201, answer.text
        assert answer.json()["batch"]["steering"] == SHOWN
        assert SECRET not in answer.text
        assert kept(client, answer.json()["batch"]["id"]) == STEERING


@pytest.mark.parametrize(
    ("steering", "complaint"),
    [
        ({"tier": "cheap"}, "steering.tier"),
        ({"extra_body": {"model": "x"}}, "steering.extra_body"),
        ({"extra_headers": {"Authorization": SECRET}}, "steering.extra_headers"),
        ({"effort": "low"}, "steering.effort"),
        ("flex", "steering"),
    ],
)
def test_a_wrong_steering_over_http_is_named(http: httpx.Client, steering: object, complaint: str) -> None:
    answer = http.post(
        "/v1/batches",
        json={"operation": ONCOLOGY.model_dump(mode="json"), "items": abstracts(1), "steering": steering},
    )
    assert answer.status_code == 422
    assert complaint in answer.json()["detail"]
    assert SECRET not in answer.text
