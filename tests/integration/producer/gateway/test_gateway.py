"""The gateway's frame, over HTTP: keys, problems, bounds, health."""

from collections.abc import Iterator

import httpx2 as httpx
import pytest
from sqlalchemy import text

from stage import abstracts
from stage.gateway import gateway
from stage.plain_http import http_client
from tamis_producer import Client, ProducerSettings
from tamis_producer.gateway import api_keys, frame
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import Filter

OVERRIDES = "/v1/batches/00000000/overrides"


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with gateway(client) as base, http_client(base) as http:
        yield http


def bearer(client: Client, *scopes: Scope) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_keys.create(client.engine, 'Reviewer 1', scopes)}"}


def test_without_a_key_nothing_is_shown(http: httpx.Client) -> None:
    answer = http.get(OVERRIDES)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("given", ["Bearer tamis_0_x", "Bearer", "Basic dGFtaXM6eA==", "tamis"])
def test_what_is_no_key_opens_nothing(http: httpx.Client, given: str) -> None:
    assert http.get(OVERRIDES, headers={"Authorization": given}).status_code == 401


def test_a_key_without_the_scope_is_refused_by_name(client: Client, http: httpx.Client) -> None:
    answer = http.get(OVERRIDES, headers=bearer(client, Scope.DECIDE))
    assert answer.status_code == 403
    assert "lacks the scope 'read'" in answer.json()["detail"]


def test_an_error_is_a_problem_with_type_title_status_and_detail(client: Client, http: httpx.Client) -> None:
    answer = http.get(OVERRIDES, headers=bearer(client, Scope.READ))
    assert answer.status_code == 404
    assert answer.json() == {
        "type": "urn:tamis:problem:unknown",
        "title": "Not found",
        "status": 404,
        "detail": "there is no batch '00000000': `GET /v1/batches` lists them",
    }


def test_a_request_that_cannot_be_read_names_the_place(client: Client, http: httpx.Client) -> None:
    body = {"value": "include", "why": "?"}
    answer = http.post("/v1/batches/00000000/items/x/override", json=body, headers=bearer(client, Scope.DECIDE))
    assert answer.status_code == 422
    pointers = [error["pointer"] for error in answer.json()["errors"]]
    assert pointers == ["/path/index", "/body/why"]


def test_a_request_that_is_too_large_is_not_read(client: Client, http: httpx.Client) -> None:
    body = {"value": "include", "note": "x" * 20_000}
    answer = http.post("/v1/batches/00000000/items/0/override", json=body, headers=bearer(client, Scope.DECIDE))
    assert answer.status_code == 413
    assert "at most 10,000 bytes" in answer.json()["detail"]


def test_a_request_of_too_many_values_is_not_parsed(
    client: Client, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame, "MOST_VALUES", 100)
    body = {"criteria": "Is it?", "items": [{}] * 100}
    answer = http.post("/api/tablizer/filter", json=body, headers=bearer(client, Scope.SUBMIT))
    assert answer.status_code == 413
    assert "more than 100 JSON values" in answer.json()["detail"]


def test_a_request_of_unknown_length_is_not_read(client: Client, http: httpx.Client) -> None:
    answer = http.post(
        "/v1/batches/00000000/items/0/override", content=iter([b"{}"]), headers=bearer(client, Scope.DECIDE)
    )
    assert answer.status_code == 411


def test_what_is_not_there_is_a_problem_too(http: httpx.Client) -> None:
    answer = http.get("/nothing")
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:tamis:problem:not-found"


def test_a_fault_of_ours_is_a_problem_that_tells_nothing_of_what_was_inside(client: Client, http: httpx.Client) -> None:
    headers = bearer(client, Scope.READ)
    with client.engine.begin() as connection:  # as a later release might have written it
        connection.execute(text("""UPDATE api_keys SET scopes = '["a-scope-of-tomorrow"]'"""))
    answer = http.get(OVERRIDES, headers=headers)
    assert answer.status_code == 500
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["type"] == "urn:tamis:problem:internal"
    assert "tomorrow" not in answer.text


def test_every_answer_is_what_it_says_and_is_not_kept(client: Client, http: httpx.Client) -> None:
    for answer in (http.get("/healthz"), http.get(OVERRIDES), http.post("/v1/batches", json={})):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"


def test_it_is_healthy_and_ready(http: httpx.Client) -> None:
    assert http.get("/healthz").json() == {"status": "ok"}
    assert http.get("/readyz").json() == {"status": "ok"}


def test_without_the_ledger_it_is_healthy_and_not_ready(client: Client) -> None:
    nowhere = "postgresql+psycopg://user:a-long-password@127.0.0.1:1/tamis"
    settings = ProducerSettings(broker_url="redis://127.0.0.1:1/0", database_url=nowhere)
    with Client(settings) as cut_off, gateway(cut_off) as base, http_client(base) as http:
        assert http.get("/healthz").status_code == 200
        answer = http.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    assert "a-long-password" not in answer.text


def test_prometheus_is_told_of_requests_by_route_and_of_batches_by_state(client: Client, http: httpx.Client) -> None:
    batch = client.submit(Filter(criteria="Is this about oncology?"), abstracts(1))
    headers = bearer(client, Scope.READ)
    for path in (f"/v1/batches/{batch.id}", f"/v1/batches/{batch.id[:8]}", "/v1/batches/00000000", "/no/such/path"):
        http.get(path, headers=headers)
    http.request("BREW", "/healthz")
    answer = http.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    figures = answer.text.splitlines()
    assert 'tamis_http_requests_total{method="GET",route="/v1/batches/{batch_id}",status="200"} 2.0' in figures
    assert 'tamis_http_requests_total{method="GET",route="/v1/batches/{batch_id}",status="404"} 1.0' in figures
    assert 'tamis_http_requests_total{method="GET",route="other",status="404"} 1.0' in figures
    assert 'tamis_http_requests_total{method="other",route="/healthz",status="405"} 1.0' in figures
    assert 'tamis_http_request_seconds_count{method="GET",route="/v1/batches/{batch_id}"} 3.0' in figures
    assert "tamis_http_open_requests 1.0" in figures  # this one
    assert {line for line in figures if line.startswith("tamis_batches{")} >= {
        'tamis_batches{state="running"} 1.0',
        'tamis_batches{state="completed"} 0.0',
    }


def test_without_the_ledger_the_figures_of_requests_are_there_all_the_same() -> None:
    nowhere = "postgresql+psycopg://user:a-long-password@127.0.0.1:1/tamis"
    settings = ProducerSettings(broker_url="redis://127.0.0.1:1/0", database_url=nowhere)
    with Client(settings) as cut_off, gateway(cut_off) as base, http_client(base) as http:
        answer = http.get("/metrics")
    assert answer.status_code == 200
    assert "tamis_http_open_requests 1.0" in answer.text
    assert "tamis_batches{" not in answer.text


def test_the_description_names_every_route_and_how_keys_are_given(http: httpx.Client) -> None:
    described = http.get("/openapi.json").json()
    assert "/v1/batches/{batch_id}/items/{index}/override" in described["paths"]
    assert described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
