"""Batches over HTTP, with a real worker behind."""

import json
from collections.abc import Callable, Iterator

import httpx2 as httpx
import pytest

from llm_double import Double, Fault, Kind
from stage import WorkerProcess, abstracts
from stage.gateway import gateway, signed_in
from stage.plain_http import http_client
from stage.screened import Place, write_batch, write_review
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import Filter

FILTER = {"operation": "filter", "criteria": "Is this about oncology?"}
NDJSON = {"Content-Type": "application/x-ndjson"}
StartWorker = Callable[..., WorkerProcess]


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "A pipeline", *Scope) as http:
        yield http


def submit(http: httpx.Client, items: int = 20, **terms: object) -> str:
    answer = http.post("/v1/batches", json={"operation": FILTER, "items": abstracts(items), **terms})
    assert answer.status_code == 201, answer.text
    batch_id: str = answer.json()["batch"]["id"]
    assert answer.headers["Location"] == f"/v1/batches/{batch_id}"
    return batch_id


def events(http: httpx.Client, batch_id: str) -> list[tuple[str, dict[str, object]]]:
    """All events of a batch, to its end."""
    told = []
    with http.stream("GET", f"/v1/batches/{batch_id}/events") as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        kind = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                told.append((kind, json.loads(line.removeprefix("data: "))))
    return told


def test_a_batch_is_submitted_followed_and_read(http: httpx.Client, start_worker: StartWorker, double: Double) -> None:
    double.script(latency=0.3)
    start_worker(concurrency="4")
    batch_id = submit(http, label="spring update")
    told = events(http, batch_id)
    assert [kind for kind, _ in told[:-1]] == ["progress"] * (len(told) - 1)
    assert told[-1][0] == "end"
    assert told[-1][1]["finished"] is True
    rows = http.get(f"/v1/batches/{batch_id}/results").json()["items"]
    assert [row["index"] for row in rows] == list(range(20))
    assert {row["status"] for row in rows} == {"decided"}
    assert http.get(f"/v1/batches/{batch_id}/summary").json()["counts"]["decided"] == 20
    listed = http.get("/v1/batches", params={"limit": 1}).json()["items"]
    assert [one["batch"]["label"] for one in listed] == ["spring update"]
    page = http.get(f"/v1/batches/{batch_id}/report")
    assert page.headers["Content-Type"].startswith("text/html")
    assert "sandbox" in page.headers["Content-Security-Policy"]
    assert "PRISMA" in page.text


def test_batches_are_listed_page_by_page_those_of_no_review_alone(http: httpx.Client, client: Client) -> None:
    with client.engine.begin() as connection:  # all of one moment: their ids part them
        review = write_review(connection, "A review", Filter.model_validate(FILTER))
        stages = [write_batch(connection, [], place=Place(review, stage)) for stage in range(2)]
        apart = [write_batch(connection, []) for _ in range(5)]

    def listed(**asked: object) -> list[str]:
        answer = http.get("/v1/batches", params={"review": "none", **asked})  # type: ignore[dict-item]  # query values
        return [one["batch"]["id"] for one in answer.json()["items"]]

    page = http.get("/v1/batches", params={"review": "none", "limit": 2}).json()
    first = [one["batch"]["id"] for one in page["items"]]
    assert page["next"] == first[-1]
    second = listed(limit=2, after=page["next"])
    assert [*first, *second, *listed(limit=2, after=second[-1])] == sorted(map(str, apart), reverse=True)
    assert listed(after=listed()[-1]) == []
    assert http.get("/v1/batches", params={"review": "none", "limit": 5}).json()["next"] is None
    everything = [one["batch"]["id"] for one in http.get("/v1/batches").json()["items"]]
    assert everything == sorted(map(str, [*stages, *apart]), reverse=True)
    with http.stream("GET", "/v1/events", params={"review": "none", "limit": 3}) as stream:
        told = next(json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: "))
        assert [one["batch"]["id"] for one in told] == listed(limit=3)
    assert http.get("/v1/batches", params={"after": "ffffffff"}).status_code == 404
    assert http.get("/v1/batches", params={"review": "some"}).status_code == 422


def test_results_are_a_table_and_a_report_has_five_forms(http: httpx.Client) -> None:
    batch_id = submit(http, items=3)
    table = http.get(f"/v1/batches/{batch_id}/results", params={"form": "csv"})
    assert table.headers["Content-Type"].startswith("text/csv")
    assert [line.split(",")[:2] for line in table.text.splitlines()] == [
        ["index", "item_id"],
        ["0", "rec-0"],
        ["1", "rec-1"],
        ["2", "rec-2"],
    ]
    kinds = {"html": "text/html", "svg": "image/svg+xml", "md": "text/markdown", "json": "application/json"}
    kinds["png"] = "image/png"
    for form, kind in kinds.items():
        report = http.get(f"/v1/batches/{batch_id}/report", params={"form": form})
        assert report.headers["Content-Type"].partition(";")[0] == kind
        assert "sandbox" in report.headers["Content-Security-Policy"]
    assert report.content.startswith(b"\x89PNG")
    assert report.content.endswith(b"IEND\xaeB`\x82")
    assert http.get(f"/v1/batches/{batch_id}/report", params={"form": "json"}).json()["flow"]["identified"][0]["n"] == 3
    assert http.get(f"/v1/batches/{batch_id}/report", params={"form": "pdf"}).status_code == 422


def test_a_stream_of_lines_is_a_batch_too(http: httpx.Client) -> None:
    lines = [{"operation": FILTER, "label": "lines"}, *abstracts(50)]
    body = (json.dumps(line).encode() + b"\n" for line in lines)
    answer = http.post("/v1/batches", content=body, headers=NDJSON)  # in chunks: its length is not said
    assert answer.status_code == 201, answer.text
    assert answer.json()["batch"]["counts"]["n_items"] == 50


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "line 1 is not JSON"),
        (b'{"operation": {"operation": "filter"}}\n{"id": "1"}', "operation.filter.criteria: Field required"),
        (b'{"operation": {"operation": "guess"}}\n{"id": "1"}', "line 1: operation:"),
        (json.dumps({"operation": FILTER}).encode() + b'\n{"id": "1"}\n{"id": ', "line 3 is not JSON"),
        (json.dumps({"operation": FILTER}).encode() + b"\n[1]", "line 2: an item must be a JSON object"),
        (json.dumps({"operation": FILTER, "color": 1}).encode(), "line 1: color: Extra inputs are not permitted"),
        (json.dumps({"operation": FILTER}).encode(), "items: there are none"),
        (b"[" * 100_000, "line 1 is not JSON"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_nothing_is_written(
    http: httpx.Client, client: Client, body: bytes, told: str
) -> None:
    answer = http.post("/v1/batches", content=body, headers=NDJSON)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert client.batches() == []


def test_another_media_type_is_refused(http: httpx.Client) -> None:
    answer = http.post("/v1/batches", content=b"id,title\n", headers={"Content-Type": "text/csv"})
    assert answer.status_code == 415


def test_a_batch_that_is_too_large_is_refused_while_it_comes(client: Client) -> None:
    key = api_keys.create(client.engine, "A pipeline", [Scope.SUBMIT])
    small = Client(client.settings.model_copy(update={"max_file_bytes": 1_000}))
    with small, gateway(small) as base, http_client(base) as http:
        answer = http.post(
            "/v1/batches",
            content=(b"x" * 600 for _ in range(5)),
            headers={**NDJSON, "Authorization": f"Bearer {key}"},
        )
    assert answer.status_code == 413
    assert "TAMIS_MAX_FILE_BYTES" in answer.json()["detail"]


def test_the_same_idempotency_key_gives_the_same_batch_and_other_content_a_conflict(http: httpx.Client) -> None:
    body = {"operation": FILTER, "items": abstracts(3)}
    key = {"Idempotency-Key": "spring-2"}
    first, again = (http.post("/v1/batches", json=body, headers=key).json()["batch"]["id"] for _ in range(2))
    assert first == again
    other = http.post("/v1/batches", json={**body, "items": abstracts(4)}, headers=key)
    assert other.status_code == 409
    assert other.json()["type"] == "urn:tamis:problem:idempotency-conflict"


def test_a_batch_is_accepted_while_the_broker_is_away(client: Client) -> None:
    key = api_keys.create(client.engine, "A pipeline", [Scope.SUBMIT])
    nowhere = client.settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})
    with Client(nowhere) as cut_off, gateway(cut_off) as base, http_client(base) as http:
        body = {"operation": FILTER, "items": abstracts(3)}
        answer = http.post("/v1/batches", json=body, headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 201, answer.text
    assert client.batch(answer.json()["batch"]["id"]).status().counts.pending == 3


def test_a_batch_is_paused_resumed_and_cancelled(http: httpx.Client) -> None:
    batch_id = submit(http)
    assert http.post(f"/v1/batches/{batch_id}/pause").json()["batch"]["state"] == "paused"
    assert http.post(f"/v1/batches/{batch_id}/resume").json()["batch"]["state"] == "running"
    assert http.post(f"/v1/batches/{batch_id}/cancel").json()["batch"]["counts"]["cancelled"] == 20
    refused = http.post(f"/v1/batches/{batch_id}/pause")
    assert refused.status_code == 409
    assert refused.json()["type"] == "urn:tamis:problem:illegal-transition"


def test_failed_items_are_asked_about_again(http: httpx.Client, start_worker: StartWorker, double: Double) -> None:
    double.script(faults=[Fault(Kind.CONTEXT_LENGTH, limit=5)])
    start_worker()
    batch_id = submit(http)
    assert events(http, batch_id)[-1][1]["batch"]["counts"]["failed"] == 5  # type: ignore[index] # JSON
    assert http.post(f"/v1/batches/{batch_id}/retry", json={"kinds": ["timeout"]}).status_code == 422
    assert http.post(f"/v1/batches/{batch_id}/retry").json()["batch"]["round"] == 2
    assert events(http, batch_id)[-1][1]["batch"]["counts"]["failed"] == 0  # type: ignore[index] # JSON


def test_without_a_summary_there_is_a_reason(http: httpx.Client) -> None:
    answer = http.get(f"/v1/batches/{submit(http)}/summary")
    assert answer.status_code == 404
    assert "not completed" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("POST", "", Scope.SUBMIT),
        ("GET", "", Scope.READ),
        *(
            ("GET", f"/x{what}", Scope.READ)
            for what in ("", "/events", "/results", "/summary", "/report", "/records", "/overrides")
        ),
        *(("POST", f"/x/{what}", Scope.CONTROL) for what in ("pause", "resume", "cancel", "retry")),
        ("POST", "/x/items/0/override", Scope.DECIDE),
        ("DELETE", "/x/items/0/override", Scope.DECIDE),
    ],
)
def test_every_route_asks_for_its_scope(
    client: Client, http: httpx.Client, method: str, path: str, scope: Scope
) -> None:
    others = api_keys.create(client.engine, "All but one", set(Scope) - {scope})
    answer = http.request(method, f"/v1/batches{path}", headers={"Authorization": f"Bearer {others}"})
    assert answer.status_code == 403
    assert f"lacks the scope '{scope}'" in answer.json()["detail"]
