"""Files over HTTP: a bibliographic file as a batch, a file of criteria as criteria."""

import json
from collections.abc import Iterator

import httpx2 as httpx
import pytest

from stage.gateway import gateway
from tamis_producer import Client, api_keys
from tamis_producer.api_keys import Scope
from tamis_producer.criteria_file import read_criteria
from tamis_producer.example import CITATIONS, CRITERIA

FILE = {"Content-Type": "application/vnd.tamis.file"}
FILTER = {"operation": "filter", "criteria": "Is this about oncology?"}
TABLE = "id,title\n1,Sieves\n2,Screens\n1,Sieves\n"


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    key = api_keys.create(client.engine, "Reviewer A", [Scope.SUBMIT, Scope.READ])
    with (
        gateway(client) as base,
        httpx.Client(base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
    ):
        yield http


def upload(http: httpx.Client, content: bytes | str, /, **terms: object) -> httpx.Response:
    raw = content if isinstance(content, bytes) else content.encode()
    line = json.dumps({"file": "records.csv", "operation": FILTER, **terms}).encode()
    return http.post("/v1/files", content=line + b"\n" + raw, headers=FILE)


def test_the_example_is_screened_with_its_copies_and_rejections_kept_out(http: httpx.Client, client: Client) -> None:
    criteria = read_criteria(CRITERIA).model_dump(mode="json")
    operation = {"operation": "inclusion", "criteria": criteria, "unclear": "refer"}
    answer = upload(http, CITATIONS.read_bytes(), file="citations.ris", operation=operation)
    assert answer.status_code == 201, answer.text
    standing = answer.json()["batch"]
    assert answer.headers["Location"] == f"/v1/batches/{standing['id']}"
    assert (standing["label"], standing["counts"]["n_items"]) == ("citations.ris", 24)
    figures = http.get(f"/v1/batches/{standing['id']}/report", params={"form": "json"}).json()
    assert figures["batches"][0]["source"]["file"] == "citations.ris"
    assert figures["batches"][0]["source"]["initial_filter"] is True
    assert len(list(client.batch(standing["id"]).results())) == 24


def test_copies_are_kept_out_unless_they_are_asked_for(http: httpx.Client) -> None:
    titled = "id,doi,title\n1,10.1000/a,A title of a record\n2,10.1000/a,A title of a record\n"
    kept_out = upload(http, titled).json()["batch"]["counts"]
    assert (kept_out["excluded_by_filter"], kept_out["pending"]) == (1, 1)
    kept = upload(http, titled, keep_duplicates=True).json()["batch"]["counts"]
    assert (kept["excluded_by_filter"], kept["pending"]) == (0, 2)


def test_a_file_comes_in_pieces_of_any_size(http: httpx.Client) -> None:
    line = json.dumps({"file": "records.csv", "operation": FILTER}).encode()
    body = line + b"\n" + TABLE.encode()
    pieces = (body[place : place + 7] for place in range(0, len(body), 7))
    answer = http.post("/v1/files", content=pieces, headers=FILE)
    assert answer.status_code == 201, answer.text
    assert answer.json()["batch"]["counts"]["n_items"] == 3


def test_the_same_attempt_again_is_the_same_batch(http: httpx.Client, client: Client) -> None:
    line = json.dumps({"file": "records.csv", "operation": FILTER})
    headers = {**FILE, "Idempotency-Key": "attempt-1"}
    first, again = (http.post("/v1/files", content=f"{line}\n{TABLE}", headers=headers).json() for _ in range(2))
    assert first["batch"]["id"] == again["batch"]["id"]
    assert len(client.batches()) == 1


@pytest.mark.parametrize(
    ("content", "terms", "told"),
    [
        ("", {}, "there is no file behind line 1"),
        ("%PDF-1.7 ...", {}, "records.csv: this is a PDF"),
        ('{"id": "1"}\n{"id": ', {}, "records.csv:2"),
        (TABLE, {"color": "red"}, "line 1: color: Extra inputs are not permitted"),
        (TABLE, {"file": ""}, "line 1: file"),
        (TABLE, {"file": "a\nb"}, "a name is printable"),
        (TABLE, {"operation": {"operation": "guess"}}, "operation"),
    ],
)
def test_what_is_wrong_is_told_by_the_file_s_own_name_and_nothing_is_written(
    http: httpx.Client, client: Client, content: str, terms: dict[str, object], told: str
) -> None:
    answer = upload(http, content, **terms)
    assert answer.status_code == 422, answer.text
    assert told in answer.json()["detail"]
    assert "tamis-file-" not in answer.text  # the folder in which it was kept meanwhile
    assert client.batches() == []


def test_a_first_line_without_end_is_not_read_to_its_end(http: httpx.Client) -> None:
    answer = http.post("/v1/files", content=b"{" * 1_000_100, headers=FILE)
    assert answer.status_code == 422
    assert "line 1" in answer.json()["detail"]


def test_another_media_type_is_refused(http: httpx.Client) -> None:
    answer = http.post("/v1/files", content=TABLE, headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert answer.status_code == 415


def test_a_file_that_is_too_large_is_refused_while_it_comes(client: Client) -> None:
    key = api_keys.create(client.engine, "Reviewer A", [Scope.SUBMIT])
    small = Client(client.settings.model_copy(update={"max_file_bytes": 1_000}))
    with small, gateway(small) as base, httpx.Client(base_url=base) as http:
        http.headers["Authorization"] = f"Bearer {key}"
        answer = upload(http, "x" * 5_000)
    assert answer.status_code == 413
    assert "TAMIS_MAX_FILE_BYTES" in answer.json()["detail"]


def test_criteria_are_read_as_they_are_from_a_file_with_what_is_doubtful(http: httpx.Client) -> None:
    answer = http.post("/v1/criteria", json={"text": CRITERIA.read_text("utf-8")})
    assert answer.status_code == 200, answer.text
    assert answer.json()["criteria"] == read_criteria(CRITERIA).model_dump(mode="json")
    doubtful = {"research_question": "Q?", "inclusion_criteria": ["Adults", "Adults"]}
    assert http.post("/v1/criteria", json={"text": json.dumps(doubtful)}).json()["doubts"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("research_question: Q?\ninclusion: [a]\n", "criteria:2: field 'inclusion': unknown field"),
        ("- a list", "criteria:1"),
        ("", "criteria: the file is empty"),
        ("research_question: [", "criteria:"),
    ],
)
def test_what_is_wrong_with_criteria_is_told_with_its_line(http: httpx.Client, text: str, told: str) -> None:
    answer = http.post("/v1/criteria", json={"text": text})
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert "tamis-criteria-" not in answer.text


@pytest.mark.parametrize("path", ["/v1/files", "/v1/criteria"])
def test_each_asks_for_a_key_that_may_submit(client: Client, http: httpx.Client, path: str) -> None:
    key = api_keys.create(client.engine, "A reader", [Scope.READ])
    answer = http.post(path, json={"text": ""}, headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 403
    assert http.post(path, json={"text": ""}, headers={"Authorization": ""}).status_code == 401
