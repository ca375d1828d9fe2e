"""The table of decisions over HTTP, and what a page shows first."""

import json

import httpx2 as httpx
import pytest

from stage import abstracts
from stage.gateway import gateway
from stage.screened import CRITERIA, decided, failed, kept_out, written_batch
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import Exclusion, Filter, InclusionDecision

ABSTRACT = "🏃 We trained adults at home."
DECISION = {
    "status": "exclude",
    "confidence": 0.7,
    "rationale": "because",
    "exclusion_reason": CRITERIA.exclusion_criteria[0],
    "verdicts": {
        "E1": {
            "verdict": "met",
            "quote": {
                "text": "trained adults",
                "found": True,
                "similarity": 1,
                "field": "abstract",
                "start": 5,
                "end": 19,
            },
        }
    },
}


@pytest.fixture
def batch_id(client: Client) -> str:
    """Three records: excluded with a quote, kept out as a copy, failed."""
    rows = [
        decided({"id": "a", "title": "A", "abstract": ABSTRACT}, InclusionDecision.model_validate(DECISION)),
        kept_out({"id": "b", "title": "A"}, Exclusion(rule="duplicate", reason="the same title", duplicate_of=0)),
        failed({"id": "c", "title": "C"}, "timeout"),
    ]
    return written_batch(client, rows).id


def test_of_more_records_than_a_browser_takes_only_those_that_are_named_are_there(
    http: httpx.Client, batch_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis_review.report.table.MOST_ROWS", 2)
    table = http.get(f"/v1/batches/{batch_id}/records").json()
    assert (table["left_out"], table["rows"], table["operation"]) == (3, [], "inclusion")
    some = http.get(f"/v1/batches/{batch_id}/records", params={"index": [2, 0]}).json()
    assert (some["left_out"], [row["i"] for row in some["rows"]]) == (0, [0, 2])


def test_every_record_is_there_with_its_outcome_reason_verdicts_and_marks(http: httpx.Client, batch_id: str) -> None:
    table = http.get(f"/v1/batches/{batch_id}/records").json()
    assert table["operation"] == "inclusion"
    assert table["facts"]["names"]["passed"] == "include"
    assert table["facts"]["criteria"]["E1"] == {"text": "Animal studies", "excludes": True}
    assert [row["outcome"] for row in table["rows"]] == ["excluded", "duplicate", "failed"]
    first = table["rows"][0]
    assert first["reason"] == "Animal studies"
    assert first["verdicts"] == [["E1", "met", "trained adults", "found", "abstract"]]
    assert first["fields"][-1]["marks"] == [[5, 19, "E1"]]


def test_some_records_are_asked_for_by_their_places(http: httpx.Client, batch_id: str) -> None:
    table = http.get(f"/v1/batches/{batch_id}/records", params={"index": [2, 0]}).json()
    assert [row["i"] for row in table["rows"]] == [0, 2]
    assert http.get(f"/v1/batches/{batch_id}/records", params={"index": 99}).json()["rows"] == []
    assert http.get(f"/v1/batches/{batch_id}/records", params={"index": -1}).status_code == 422
    assert http.get(f"/v1/batches/{batch_id}/records", params={"index": 2**31}).status_code == 422


def test_what_a_human_decides_is_in_the_record_at_once(http: httpx.Client, batch_id: str) -> None:
    assert http.post(f"/v1/batches/{batch_id}/items/0/override", json={"value": "include"}).status_code == 201
    (row,) = http.get(f"/v1/batches/{batch_id}/records", params={"index": 0}).json()["rows"]
    assert (row["outcome"], row["system"], row["human"]["by"]) == ("passed", "excluded", "Reviewer A")


def test_the_table_of_a_batch_that_is_not_there_is_a_problem(http: httpx.Client) -> None:
    assert http.get("/v1/batches/00000000/records").status_code == 404


def test_more_records_than_one_piece_holds_are_one_object(http: httpx.Client, client: Client) -> None:
    batch = client.submit(Filter(criteria="Is this about oncology?"), abstracts(450))
    rows = http.get(f"/v1/batches/{batch.id}/records").json()["rows"]
    assert [row["i"] for row in rows] == list(range(450))
    assert {row["outcome"] for row in rows} == {"open"}


def test_a_key_s_holder_learns_what_it_allows(http: httpx.Client) -> None:
    about = http.get("/v1/about").json()
    assert (about["key"]["label"], sorted(about["key"]["scopes"])) == ("Reviewer A", ["decide", "read"])
    assert about["flower_url"] is None  # nobody named one, and no embedded stack runs
    assert "sha256" not in json.dumps(about)


def test_flower_is_named_without_its_password(client: Client) -> None:
    key = api_keys.create(client.engine, "Reviewer A", [Scope.READ])
    url = "http://tamis:s3cret-of-flower@flower.example:5555/flower"
    told = Client(client.settings.model_copy(update={"flower_url": url}))
    with told, gateway(told) as base:
        about = httpx.get(f"{base}/v1/about", headers={"Authorization": f"Bearer {key}"}).json()
    assert about["flower_url"] == "http://flower.example:5555/flower"


def test_the_latest_batches_are_told_at_every_change(http: httpx.Client, client: Client, batch_id: str) -> None:
    with http.stream("GET", "/v1/events") as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        told = (json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: "))
        (first,) = next(told)
        assert (first["batch"]["id"], first["finished"], first["paid"]) == (
            batch_id,
            True,
            "$0.00, 2 items without a known price",
        )
        other = client.submit(Filter(criteria="Is this about oncology?"), abstracts(3))
        assert [one["batch"]["id"] for one in next(told)] == [other.id, batch_id]
        other.pause()
        assert next(one for one, *_ in told if one["batch"]["state"] == "paused")["batch"]["id"] == other.id


@pytest.mark.parametrize("path", ["/v1/about", "/v1/events"])
def test_what_a_page_shows_first_asks_for_a_key_that_may_read(client: Client, http: httpx.Client, path: str) -> None:
    key = api_keys.create(client.engine, "Not a reader", [Scope.SUBMIT])
    assert http.get(path, headers={"Authorization": f"Bearer {key}"}).status_code == 403
    assert http.get(path, headers={"Authorization": ""}).status_code == 401
