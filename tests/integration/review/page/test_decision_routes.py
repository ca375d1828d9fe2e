"""Human decisions over HTTP: they stand beside the model's, with who made them."""

import json
from collections.abc import Callable

import httpx2 as httpx
import pytest

from llm_double import Double
from stage import WorkerProcess, abstracts
from tamis_producer import Batch, Client
from tamis_review import list_overrides
from tamis_schemas import Extract, Filter

ONCOLOGY = Filter(criteria="Is this about oncology?")


@pytest.fixture
def batch(client: Client, start_worker: Callable[..., WorkerProcess], double: Double) -> Batch:
    start_worker()
    batch = client.submit(ONCOLOGY, abstracts(3))
    assert batch.wait(timeout=60).decided == 3
    return batch


def test_a_decision_is_made_listed_and_withdrawn_and_the_models_stays(batch: Batch, http: httpx.Client) -> None:
    models = [row.value for row in batch.results()]
    decided = http.post(f"/v1/batches/{batch.id}/items/1/override", json={"value": not models[1], "note": "read it"})
    assert decided.status_code == 201, decided.text
    assert (decided.json()["reviewer"], decided.json()["system_value"]) == ("Reviewer A", models[1])
    listed = http.get(f"/v1/batches/{batch.id}/overrides").json()["items"]
    assert [(one["index"], one["value"], one["note"]) for one in listed] == [(1, not models[1], "read it")]
    rows = list(batch.results())
    assert [row.value for row in rows] == models
    assert [row.final_value for row in rows] == [models[0], not models[1], models[2]]
    assert http.delete(f"/v1/batches/{batch.id}/items/1/override").status_code == 204
    assert http.get(f"/v1/batches/{batch.id}/overrides").json() == {"items": [], "next": None}
    assert [one.withdrawn for one in list_overrides(batch, history=True)] == [False, True]


def test_who_decides_may_be_named_and_is_the_keys_holder_otherwise(batch: Batch, http: httpx.Client) -> None:
    named = http.post(f"/v1/batches/{batch.id}/items/0/override", json={"value": True, "reviewer": "Reviewer B"})
    assert named.json()["reviewer"] == "Reviewer B"


def test_a_second_persons_contradiction_is_a_conflict_until_somebody_settles_it(
    batch: Batch, http: httpx.Client
) -> None:
    path = f"/v1/batches/{batch.id}/items/0/override"
    for reviewer, value in (("Reviewer A", True), ("Reviewer B", False)):
        assert http.post(path, json={"value": value, "reviewer": reviewer}).status_code == 201
    (conflict,) = http.get(f"/v1/batches/{batch.id}/conflicts").json()["items"]
    said = [(one["reviewer"], one["value"]) for one in conflict["decisions"]]
    assert (conflict["index"], said) == (0, [("Reviewer A", True), ("Reviewer B", False)])
    assert len(http.get(f"/v1/batches/{batch.id}/overrides").json()["items"]) == 2
    (row,) = batch.results([0])
    assert (row.conflict, row.final_value) == (True, None)
    third = {"value": False, "reviewer": "Reviewer C", "settles": True, "reason": "in rats"}
    assert http.post(path, json=third).json()["settles"] is True
    assert http.get(f"/v1/batches/{batch.id}/conflicts").json()["items"] == []
    not_theirs = http.delete(path, params={"reviewer": "Reviewer D"})
    assert (not_theirs.status_code, "Reviewer B" in not_theirs.json()["detail"]) == (422, True)
    assert http.delete(path, params={"reviewer": "Reviewer B"}).status_code == 204
    http.delete(path, params={"reviewer": "Reviewer C"})
    (row,) = batch.results([0])
    assert row.override is not None
    assert row.override.reviewer == "Reviewer A"


def test_a_file_of_decisions_is_uploaded_with_whose_they_are(batch: Batch, http: httpx.Client) -> None:
    ids = batch.item_ids()
    table = f"id,vote,comment\n{ids[0]},1,seen\n{ids[1]},2,\nnobody,1,\n"

    def upload(terms: dict[str, object]) -> httpx.Response:
        files = {"file": ("votes.csv", table.encode(), "text/csv")}
        path = f"/v1/batches/{batch.id}/decisions"
        return http.post(path, data={"terms": json.dumps(terms)}, files=files)

    answer = upload({})
    assert (answer.status_code, "votes.csv: who decided?" in answer.json()["detail"]) == (422, True)
    answer = upload({"reviewer": "Reviewer A"})
    assert answer.status_code == 201, answer.text
    told = answer.json()
    assert (told["new"], told["found_by"], [one["place"] for one in told["unmatched"]]) == (2, {"id": 2}, ["line 4"])
    assert [(one.index, one.value, one.note) for one in list_overrides(batch)] == [(0, True, "seen"), (1, False, None)]


@pytest.mark.parametrize(
    ("index", "value", "told"),
    [(0, "perhaps", "True or False"), (0, None, ""), (3, True, "no record No. 4 (index 3)"), (-1, True, "")],
)
def test_what_cannot_be_decided_is_refused_and_nothing_is_written(
    batch: Batch, http: httpx.Client, index: int, value: object, told: str
) -> None:
    answer = http.post(f"/v1/batches/{batch.id}/items/{index}/override", json={"value": value})
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert list_overrides(batch, history=True) == []


def test_nothing_can_be_withdrawn_that_does_not_stand(batch: Batch, http: httpx.Client) -> None:
    assert http.delete(f"/v1/batches/{batch.id}/items/0/override").status_code == 422


def test_a_value_that_a_person_wrote_is_read_as_the_terminal_reads_it(client: Client, http: httpx.Client) -> None:
    batch = client.submit(Extract(instruction="How many?", output_type="number"), abstracts(1))
    path = f"/v1/batches/{batch.id}/items/0/override"
    assert http.post(path, json={"value": " 112 ", "as_text": True}).json()["value"] == 112
    refused = http.post(path, json={"value": "many", "as_text": True})
    assert (refused.status_code, refused.json()["detail"]) == (422, "'many' is not a number")
    assert http.post(path, json={"value": 112, "as_text": True}).status_code == 422
