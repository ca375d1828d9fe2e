"""The reasoning of a batch's results, judged over HTTP as a batch of its own."""

from collections.abc import Iterator

import httpx2 as httpx
import pytest

from stage.gateway import signed_in
from stage.gateway_page import few, record
from stage.screened import Ledgered, write_batch
from tamis_producer import Client
from tamis_producer.gateway.api_keys import Scope
from tamis_review.page import preview_routes
from tamis_schemas import ItemStatus, Judge, Priority

OPERATION = {"operation": "judge", "guidelines": "Only words of the abstract.", "noun": "Abstract"}
TERMS = {"operation": OPERATION, "model": "gpt-5-mini"}


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "Reviewer A", Scope.READ, Scope.SUBMIT) as http:
        yield http


@pytest.fixture
def judged(client: Client) -> str:
    """Five records; three have a decision with its reason, one failed, one is a copy."""
    with client.engine.begin() as connection:
        return f"/v1/batches/{write_batch(connection, few())}/judgement"


def test_results_are_judged_as_a_batch_of_their_own_on_the_terms_that_are_given(
    client: Client, http: httpx.Client, judged: str
) -> None:
    more = {"priority": "high", "max_cost": 2, "use_cache": False, "steering": {"reasoning_effort": "low"}}
    headers = {"Idempotency-Key": "spring"}
    answer = http.post(judged, json=TERMS | more, headers=headers)
    assert answer.status_code == 201, answer.text
    view = answer.json()["batch"]
    assert answer.headers["Location"] == f"/v1/batches/{view['id']}"
    assert (view["label"], view["operation"], view["model"]) == ("judgement of citations.ris", "judge", "gpt-5-mini")
    assert (view["priority"], view["budget"]["max_cost"], view["submitted_by"]) == (Priority.HIGH, 2, "Reviewer A")
    assert view["steering"]["reasoning_effort"] == "low"
    batch = client.batch(view["id"])
    assert batch.operation() == Judge(guidelines="Only words of the abstract.", noun="Abstract", block_threshold=0.15)
    first = next(batch.results()).item
    assert (first["id"], first["value"], first["confidence"], first["reasoning"]) == ("r0", "include", 0.9, "because")
    assert first["context"] == "title: Zebra crossing\nabstract: Abstract 0.\nyear: 2000"
    assert batch.item_ids() == ["r0", "r1", "r2"]
    again = http.post(judged, json=TERMS | more, headers=headers)
    assert (again.json()["batch"]["id"], again.headers["Idempotency-Replayed"]) == (view["id"], "true")
    other = TERMS | more | {"operation": OPERATION | {"guidelines": "Anything."}}
    assert http.post(judged, json=other, headers=headers).status_code == 409
    assert http.post(judged, json=TERMS | {"label": "evidence"}).json()["batch"]["label"] == "evidence"


def test_a_dry_run_says_what_it_would_take_and_submits_nothing(client: Client, http: httpx.Client, judged: str) -> None:
    answer = http.post(f"{judged}/dry-run", json=TERMS | {"max_cost": 1})
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert (told["records"], told["asked"], told["calls"], float(told["max_cost"])) == (5, 3, 3, 1)
    assert 0 < float(told["cost"]) < float(told["most_cost"])
    (model,) = told["models"]
    assert (model["model"], len(model["samples"])) == ("gpt-5-mini", 3)
    assert "Only words of the abstract." in model["samples"][0]["messages"][1]["content"]
    assert len(client.batches()) == 1


def test_what_cannot_be_judged_is_refused_with_its_reason_by_both_routes(
    client: Client, http: httpx.Client, judged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with client.engine.begin() as connection:
        running = write_batch(connection, [Ledgered(record(0), ItemStatus.PENDING)], state="running")
        silent = write_batch(connection, [Ledgered(record(0), value="include", confidence=0.5)])
    for batch_id, told in (
        (running, "is running: judge it when it is finished"),
        (silent, "there is nothing to judge"),
    ):
        for route in ("", "/dry-run"):
            answer = http.post(f"/v1/batches/{batch_id}/judgement{route}", json=TERMS)
            assert (answer.status_code, told in answer.json()["detail"]) == (422, True), answer.text
    for operation in (
        {"operation": "filter", "criteria": "Is it?"},
        OPERATION | {"guidelines": " "},
        {"guidelines": "x"},
    ):
        answer = http.post(judged, json={"operation": operation})
        assert (answer.status_code, "/body/operation" in answer.json()["detail"]) == (422, True), answer.text
    monkeypatch.setattr(preview_routes, "MOST_ASKED", 2)
    assert "takes at most 2 records" in http.post(f"{judged}/dry-run", json=TERMS).json()["detail"]
