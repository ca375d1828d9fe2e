"""Whoever has results or a report already is told in a line that nothing changed, until something does."""

import gzip
import http.client
import json

import httpx2 as httpx

from stage.gateway import signed_in
from stage.screened import Ledgered, written_batch
from tamis_producer import Client
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import Filter

FORMS = ("results", "results?form=csv", "report", "report?form=md", "report?form=json", "records")


def test_a_tag_holds_until_a_decision_or_an_override(client: Client) -> None:
    filtered = [Ledgered({"id": str(n), "title": f"Title {n}"}, value=n % 2 == 0) for n in range(30)]
    batch_id = written_batch(client, filtered, operation=Filter(criteria="Is it?")).id
    with signed_in(client, "A reader", Scope.READ, Scope.DECIDE) as http_client:
        path = f"/v1/batches/{batch_id}"

        def tags() -> dict[str, str]:
            answers = {form: http_client.get(f"{path}/{form}") for form in FORMS}
            assert {answer.status_code for answer in answers.values()} == {200}
            assert {answer.headers["Cache-Control"] for answer in answers.values()} == {"no-store"}  # by browsers
            return {form: answer.headers["ETag"] for form, answer in answers.items()}

        def asked_again(known: dict[str, str]) -> set[int]:
            return {
                http_client.get(f"{path}/{form}", headers={"If-None-Match": tag}).status_code
                for form, tag in known.items()
            }

        first = tags()
        assert len(set(first.values())) == len(FORMS)
        assert first == tags()
        unchanged = http_client.get(f"{path}/results", headers={"If-None-Match": first["results"]})
        assert (unchanged.status_code, unchanged.content, unchanged.headers["ETag"]) == (304, b"", first["results"])
        assert asked_again(first) == {304}
        by_its_beginning = http_client.get(f"/v1/batches/{batch_id[:8]}/results")
        assert by_its_beginning.headers["ETag"] == first["results"]
        http_client.post(f"{path}/items/1/override", json={"value": True}).raise_for_status()
        second = tags()
        assert asked_again(first) == {200}
        http_client.delete(f"{path}/items/1/override").raise_for_status()
        assert not set(second.values()) & set(tags().values())
        assert "ETag" not in http_client.get("/v1/about").headers
        _compressed(http_client, f"{path}/results")
    with signed_in(client, "A submitter", Scope.SUBMIT) as http_client:  # who may not read learns nothing of tags
        assert http_client.get(f"{path}/results", headers={"If-None-Match": "*"}).status_code == 403


def _compressed(asked: httpx.Client, path: str) -> None:
    """The same text, whether compressed or not, with the same tag."""
    address = http.client.HTTPConnection(asked.base_url.host, asked.base_url.port, timeout=30)
    told = []
    for accept in ("gzip", "identity"):
        headers = {"Authorization": asked.headers["Authorization"], "Accept-Encoding": accept}
        address.request("GET", path, headers=headers)
        answer = address.getresponse()
        told.append((answer.headers["Content-Encoding"], answer.headers["ETag"], answer.read()))
    address.close()
    (packed, tag, body), (plain, same, text) = told
    assert (packed, plain) == ("gzip", None)
    assert tag == same
    assert gzip.decompress(body) == text
    assert len(json.loads(text)["items"]) == 30
    assert len(body) < len(text) / 2
