"""Figures over HTTP are those of the client: agreement, failures, panel; and the priority is set there, too."""

import pytest
from sqlalchemy import update

from stage.gateway import signed_in
from stage.screened import SCREENING, Ledgered, decided, failed, write_batch
from tamis_producer import Batch, Client
from tamis_producer.decisions.record_overrides import HumanDecision
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import Extract, InclusionDecision, Operation
from tamis_schemas.ledger import batches


def judged(n: int, status: str) -> Ledgered:
    decision = {"status": status, "confidence": 0.8, "rationale": ""}
    return decided({"id": f"r{n}", "title": f"Title {n}"}, InclusionDecision.model_validate(decision))


def batch_of(client: Client, *rows: Ledgered, operation: Operation = SCREENING, state: str = "completed") -> Batch:
    with client.engine.begin() as connection:
        written = write_batch(connection, rows, operation=operation, state=state)
    return client.batch(str(written))


def test_the_agreement_is_that_of_the_client(client: Client) -> None:
    batch = batch_of(client, *(judged(n, "include" if n < 2 else "exclude") for n in range(4)))
    batch.decide([HumanDecision(place, "include", "Reviewer A") for place in range(3)])
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        answer = http.get(f"/v1/batches/{batch.id[:8]}/agreement")
    assert answer.status_code == 200, answer.text
    assert answer.json() == batch.agreement().model_dump(mode="json")
    assert (answer.json()["overrides"]["n"], answer.json()["undecided"]) == (3, 0)


def test_an_operation_that_decides_nothing_has_no_agreement(client: Client) -> None:
    batch = batch_of(client, operation=Extract(instruction="The year"))
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        answer = http.get(f"/v1/batches/{batch.id}/agreement")
    assert (answer.status_code, "decide about records" in answer.json()["detail"]) == (422, True)


def test_failures_are_told_round_by_round(client: Client) -> None:
    batch = batch_of(client, judged(0, "include"), failed({"id": "r1", "title": "Title 1"}, "timeout"))
    sound = batch_of(client, judged(0, "include"))
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        told = http.get(f"/v1/batches/{batch.id}/failures").json()
        assert told == batch.failures().model_dump(mode="json")
        assert [(one["round"], one["failed"]) for one in told["rounds"]] == [(1, 1)]
        assert http.get(f"/v1/batches/{sound.id}/failures").json()["rounds"] == []


def test_a_batch_of_one_model_has_no_panel_figures(client: Client) -> None:
    batch = batch_of(client, judged(0, "include"))
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        answer = http.get(f"/v1/batches/{batch.id}/panel")
    assert (answer.status_code, "asks one model" in answer.json()["detail"]) == (422, True)


@pytest.mark.parametrize("body", [{"priority": "urgent"}, {}, {"priority": "high", "more": 1}])
def test_a_priority_that_there_is_not_is_refused(client: Client, body: dict[str, object]) -> None:
    batch = batch_of(client, judged(0, "include"), state="running")
    with signed_in(client, "An operator", Scope.CONTROL) as http:
        assert http.put(f"/v1/batches/{batch.id}/priority", json=body).status_code == 422


def test_an_open_batch_gets_another_priority_and_a_completed_one_does_not(client: Client) -> None:
    batch = batch_of(client, judged(0, "include"), state="running")
    with signed_in(client, "An operator", Scope.CONTROL) as http:
        answer = http.put(f"/v1/batches/{batch.id}/priority", json={"priority": "high"})
        assert (answer.status_code, answer.json()["batch"]["priority"]) == (200, "high"), answer.text
        with client.engine.begin() as connection:
            connection.execute(update(batches).values(state="completed"))
        assert http.put(f"/v1/batches/{batch.id}/priority", json={"priority": "low"}).status_code == 409
