"""The services of specs 1 and 2 over HTTP: one request, one batch, its results in the answer."""

from collections.abc import Callable, Iterator

import httpx2 as httpx
import pytest
from sqlalchemy import text

from llm_double import Double, Fault, Kind
from stage import WorkerProcess, abstracts
from stage.gateway import signed_in
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope

StartWorker = Callable[..., WorkerProcess]


@pytest.fixture
def http(client: Client, start_worker: StartWorker) -> Iterator[httpx.Client]:
    start_worker(concurrency="50")
    with signed_in(client, "A web page", Scope.SUBMIT, largest_body=1_000_000) as http:
        yield http


@pytest.mark.spec("1.59")
def test_items_are_filtered_and_scored(http: httpx.Client) -> None:
    body = {"items": abstracts(50), "criteria": "Is this about oncology?"}
    filtered = http.post("/api/tablizer/filter", json=body).json()["results"]
    assert [one["item_id"] for one in filtered] == [str(item["id"]) for item in body["items"]]  # type: ignore[index]
    assert all(isinstance(one["value"], bool) and one["reasoning"] for one in filtered)
    scored = http.post("/api/tablizer/filter", json={**body, "output_type": "number"}).json()["results"]
    assert all(0 <= one["value"] <= 1 for one in scored)


@pytest.mark.spec("1.60")
def test_texts_are_extracted_and_what_fails_is_an_error_in_its_place(http: httpx.Client, double: Double) -> None:
    double.script(faults=[Fault(Kind.BAD_REQUEST, contains="number 2.")])
    answer = http.post("/api/tablizer/extract", json={"items": abstracts(5), "prompt": "The population"})
    values = [(one["value"], one["error"]) for one in answer.json()["results"]]
    assert [error is None for _, error in values] == [True, True, False, True, True]
    assert values[2][0] is None
    assert any(isinstance(value, str) for value, _ in values)


def test_what_cannot_go_on_is_told_and_holds_nothing(http: httpx.Client, client: Client) -> None:
    # A budget, and a model of the workers' own without a known price: they pause it before its first call.
    body = {"items": abstracts(2), "criteria": "Is this about oncology?", "max_cost": 1}
    told = http.post("/api/tablizer/filter", json=body).json()["results"]
    assert all("so no budget can be kept" in one["error"] for one in told)
    asked = {"instruct": "What is a sieve?", "resp_format": "One sentence.", "eval_crit": "Correct.", "max_cost": 1}
    answer = http.post("/api/lab/generate-answer", json=asked)
    assert (answer.status_code, "so no budget can be kept" in answer.json()["detail"]) == (409, True)
    with client.engine.connect() as connection:
        assert connection.execute(text("SELECT DISTINCT state FROM batches")).scalars().all() == ["cancelled"]


@pytest.mark.spec("2.33")
def test_an_answer_is_generated_with_its_history(http: httpx.Client) -> None:
    body = {"instruct": "What is a sieve?", "resp_format": "One sentence.", "eval_crit": "Correct.", "iter_max": 2}
    answer = http.post("/api/lab/generate-answer", json=body).json()
    assert answer["final_answer"]
    assert len(answer["iterations"]) == answer["total_iterations"] <= 2


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("tablizer/filter", {"items": [], "criteria": "x"}, "items"),
        ("tablizer/filter", {"items": [{"id": 1}], "criteria": "x", "output_type": "text"}, "output_type"),
        ("tablizer/extract", {"items": [{"id": 1}]}, "prompt"),
        ("lab/generate-answer", {"instruct": "x", "resp_format": "x", "eval_crit": "x", "iter_max": 11}, "iter_max"),
    ],
)
def test_a_request_that_is_wrong_names_the_field(
    http: httpx.Client, path: str, body: dict[str, object], told: str
) -> None:
    answer = http.post(f"/api/{path}", json=body)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]


@pytest.mark.spec("2.33")
@pytest.mark.parametrize("path", ["tablizer/filter", "tablizer/extract", "lab/generate-answer"])
def test_each_asks_for_a_key_that_may_submit(client: Client, http: httpx.Client, path: str) -> None:
    key = api_keys.create(client.engine, "A reader", [Scope.READ])
    answer = http.post(f"/api/{path}", json={}, headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 403
    assert http.post(f"/api/{path}", json={}, headers={"Authorization": ""}).status_code == 401
