"""Human decisions over HTTP: they stand beside the model's, with who made them."""

from collections.abc import Callable, Iterator

import httpx2 as httpx
import pytest

from llm_double import Double
from stage import WorkerProcess, abstracts
from stage.gateway import signed_in
from tamis_producer import Batch, Client
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import Filter

ONCOLOGY = Filter(criteria="Is this about oncology?")


@pytest.fixture
def batch(client: Client, start_worker: Callable[..., WorkerProcess], double: Double) -> Batch:
    start_worker()
    batch = client.submit(ONCOLOGY, abstracts(3))
    assert batch.wait(timeout=60).decided == 3
    return batch


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "Reviewer A", Scope.READ, Scope.DECIDE) as http:
        yield http


def test_a_decision_is_made_listed_and_withdrawn_and_the_models_stays(batch: Batch, http: httpx.Client) -> None:
    models = [row.value for row in batch.results()]
    decided = http.post(f"/v1/batches/{batch.id}/items/1/override", json={"value": not models[1], "note": "read it"})
    assert decided.status_code == 201, decided.text
    assert (decided.json()["reviewer"], decided.json()["system_value"]) == ("Reviewer A", models[1])
    listed = http.get(f"/v1/batches/{batch.id}/overrides").json()
    assert [(one["index"], one["value"], one["note"]) for one in listed] == [(1, not models[1], "read it")]
    rows = list(batch.results())
    assert [row.value for row in rows] == models
    assert [row.final_value for row in rows] == [models[0], not models[1], models[2]]
    assert http.delete(f"/v1/batches/{batch.id}/items/1/override").status_code == 204
    assert http.get(f"/v1/batches/{batch.id}/overrides").json() == []
    assert [one.withdrawn for one in batch.overrides(history=True)] == [False, True]


def test_who_decides_may_be_named_and_is_the_keys_holder_otherwise(batch: Batch, http: httpx.Client) -> None:
    named = http.post(f"/v1/batches/{batch.id}/items/0/override", json={"value": True, "reviewer": "Reviewer B"})
    assert named.json()["reviewer"] == "Reviewer B"


@pytest.mark.parametrize(
    ("index", "value", "told"), [(0, "perhaps", "True or False"), (0, None, ""), (3, True, "no item 3"), (-1, True, "")]
)
def test_what_cannot_be_decided_is_refused_and_nothing_is_written(
    batch: Batch, http: httpx.Client, index: int, value: object, told: str
) -> None:
    answer = http.post(f"/v1/batches/{batch.id}/items/{index}/override", json={"value": value})
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert batch.overrides(history=True) == []


def test_nothing_can_be_withdrawn_that_does_not_stand(batch: Batch, http: httpx.Client) -> None:
    assert http.delete(f"/v1/batches/{batch.id}/items/0/override").status_code == 422
