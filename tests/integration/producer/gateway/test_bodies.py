"""Bodies of new batches: read as they come, in any order, and refused with the place of what is wrong."""

import errno
import io
import json
import tempfile
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from stage import abstracts
from stage.gateway import signed_in
from tamis_producer import Client
from tamis_producer.gateway import submission_body
from tamis_producer.gateway.api_keys import Scope

FILTER = {"operation": "filter", "criteria": "Is this about oncology?"}
JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}
ITEM = {"id": "1", "n": 12345678901234567890123, "x": [0.1, -0.0, 1e22], "t": "\U0001f3c3 \u2028"}


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "A pipeline", Scope.SUBMIT, Scope.READ) as http:
        yield http


def test_members_come_in_any_order_and_items_are_kept_as_they_are(http: httpx.Client, client: Client) -> None:
    bodies: list[dict[str, Any]] = [
        {"operation": FILTER, "label": "a", "items": [ITEM, *abstracts(30)]},
        {"items": [ITEM, *abstracts(30)], "label": "a", "operation": FILTER},
        {"label": "a", "items": [ITEM, *abstracts(30)], "operation": FILTER},
    ]
    found = set()
    for body in bodies:
        answer = http.post("/v1/batches", json=body, headers={"Idempotency-Key": "one content"})
        assert answer.status_code == 201, answer.text
        found.add(answer.json()["batch"]["id"])
    lines = [{"operation": FILTER, "label": "a"}, ITEM, *abstracts(30)]
    text = b"\xef\xbb\xbf" + "\r\n\n".join(map(json.dumps, lines)).encode()
    headers = NDJSON | {"Idempotency-Key": "one content"}
    found.add(
        http.post("/v1/batches", content=text.removeprefix(b"\xef\xbb\xbf"), headers=headers).json()["batch"]["id"]
    )
    assert len(found) == 1
    (batch_id,) = found
    assert repr(next(client.batch(batch_id).results()).item) == repr(json.loads(json.dumps(ITEM)))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "the body is not JSON: Expecting value (char 0)"),
        (b"[]", "the body: Input should be a JSON object"),
        (b'{"operation": 1', "the body is not JSON: Expecting ','"),
        (b"{}", "operation: Field required"),
        (b'{"operation": OP}', "items: Field required"),
        (b'{"operation": OP, "items": {}}', "items: Input should be a valid list"),
        (b'{"items": [{"id": "1"}], "operation": OP, "items": [{"id": "2"}]}', "items: given twice"),
        (b'{"items": [{"id": "1"}, 2], "operation": OP}', "items.1: Input should be a valid dictionary"),
        (b'{"items": [{"id": "1"}, {"id": ]}', "items.1 is not JSON: Expecting value (char 31)"),
        (b'{"items": [{"id": "1", "x": NaN}], "operation": OP}', "No. 1 (index 0) (id '1')"),
        (rb'{"items": [{"id": "1", "x": "\ud800"}], "operation": OP}', "No. 1 (index 0) (id '1')"),
        (b'{"items": [], "operation": OP}', "items: there are none"),
        (b'{"items": [{"id": "1"}], "operation": OP, "color": 1}', "color: Extra inputs are not permitted"),
        (b'{"items": [{"id": "' + b"x" * 9_000_000 + b'"}], "operation": OP}', "items.0 is longer than"),
    ],
    ids=range(14),
)
def test_what_is_wrong_in_an_object_is_told_with_its_place(
    http: httpx.Client, client: Client, body: bytes, told: str
) -> None:
    answer = http.post("/v1/batches", content=body.replace(b"OP", json.dumps(FILTER).encode()), headers=JSON)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"].startswith(told)
    assert client.batches() == []


@pytest.mark.parametrize("kind", [JSON, NDJSON], ids=["json", "ndjson"])
def test_an_item_of_too_many_values_is_refused_unread(http: httpx.Client, client: Client, kind: dict[str, str]) -> None:
    operation, item = json.dumps(FILTER), '{"id": "1", "x": [' + "{}," * 100_000
    lines = f'{{"operation": {operation}}}\n{item}'
    body = lines if kind is NDJSON else f'{{"operation": {operation}, "items": [{item}'
    answer = http.post("/v1/batches", content=body.encode(), headers=kind)
    assert answer.status_code == 413, answer.text
    assert "more than 100,000 JSON values" in answer.json()["detail"]
    assert client.batches() == []


def test_items_are_counted_as_they_are_read(client: Client) -> None:
    few = Client(client.settings.model_copy(update={"max_items": 10}))
    items = json.dumps(abstracts(11))[:-1].encode()  # the list does not even end
    with few, signed_in(few, "A pipeline", Scope.SUBMIT) as http:
        answer = http.post("/v1/batches", content=b'{"items": ' + items, headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("items: more than 10, ")


def test_a_full_disk_of_the_gateway_is_named_with_its_folder(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.BytesIO):
        def write(self, part: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(submission_body, "SpooledTemporaryFile", lambda _: Full())
    answer = http.post("/v1/batches", json={"operation": FILTER, "items": abstracts(1)})
    assert answer.status_code == 507
    assert answer.json()["type"] == "urn:tamis:problem:no-room"
    assert tempfile.gettempdir() in answer.json()["detail"]
