"""An export over HTTP: every record in the format that it came in, with what was decided about it."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from stage.gateway import signed_in
from stage.screened import Ledgered, decided, failed, written_batch
from tamis_producer import Batch, Client
from tamis_producer.gateway.api_keys import Scope
from tamis_review import decide, read_records
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_schemas import InclusionDecision, Item

RIS = "".join(f"TY  - JOUR\nTI  - Title {n}\nID  - r{n}\nC5  - kept {n}\nER  - \n\n" for n in range(3))


def judged(item: Item, status: str) -> Ledgered:
    decision = {"status": status, "confidence": 0.8, "rationale": "because"}
    return decided(item, InclusionDecision.model_validate(decision))


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    path = tmp_path / "citations.ris"
    path.write_text(RIS, "utf-8")
    return read_records(path)


@pytest.fixture
def batch(client: Client, items: list[Item]) -> Batch:
    rows = [judged(items[0], "include"), judged(items[1], "exclude"), failed(items[2], "timeout")]
    return written_batch(client, rows)


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        yield http


def exported(http: httpx.Client, batch: Batch, tmp_path: Path, **query: str | list[str]) -> list[Item]:
    answer = http.get(f"/v1/batches/{batch.id[:8]}/export", params=query)
    assert answer.status_code == 200, answer.text
    name = answer.headers["content-disposition"].partition('filename="')[2].rstrip('"')
    assert name.startswith(f"decided-{batch.id[:8]}.")
    written = tmp_path / name
    written.write_bytes(answer.content)
    return read_records(written)


def test_records_come_back_as_they_came_with_their_decisions(batch: Batch, http: httpx.Client, tmp_path: Path) -> None:
    decide(batch, [HumanDecision(1, "include", "Reviewer A")])
    records = exported(http, batch, tmp_path)
    assert [one["_tamis_decision"] for one in records] == ["include", "include", "not decided"]
    answer = http.get(f"/v1/batches/{batch.id}/export")
    assert answer.headers["content-type"].startswith("application/x-research-info-systems")
    assert [f"C5  - kept {n}" in answer.text for n in range(3)] == [True] * 3


def test_records_of_some_decisions_are_written_in_another_format(
    batch: Batch, http: httpx.Client, tmp_path: Path
) -> None:
    records = exported(http, batch, tmp_path, format="csv", only=["exclude", "not decided"])
    assert [one["title"] for one in records] == ["Title 1", "Title 2"]
    assert (tmp_path / f"decided-{batch.id[:8]}.csv").exists()


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"only": "uncertain"}, "no record with the decision uncertain"),
        ({"format": "docx"}, "'docx' is not a format for writing"),
        ({"label": "to discuss"}, "no record"),
    ],
)
def test_what_cannot_be_written_is_refused(batch: Batch, http: httpx.Client, query: dict[str, str], told: str) -> None:
    answer = http.get(f"/v1/batches/{batch.id}/export", params=query)
    assert (answer.status_code, told in answer.json()["detail"]) == (422, True), answer.text


def test_records_that_came_from_no_file_need_a_format(client: Client, http: httpx.Client, tmp_path: Path) -> None:
    of = written_batch(client, [judged({"id": "a", "title": "A"}, "include")])
    refused = http.get(f"/v1/batches/{of.id}/export")
    assert (refused.status_code, "choose one of" in refused.json()["detail"]) == (422, True)
    assert [one["title"] for one in exported(http, of, tmp_path, format="jsonl")] == ["A"]


def test_fields_without_a_place_in_the_format_are_in_a_header(batch: Batch, http: httpx.Client) -> None:
    as_nbib = http.get(f"/v1/batches/{batch.id}/export", params={"format": "nbib"})
    assert json.loads(as_nbib.headers["Tamis-Dropped-Fields"]) == {"_ris_C5": 3}
    assert "kept 1" not in as_nbib.text
    assert "Tamis-Dropped-Fields" not in http.get(f"/v1/batches/{batch.id}/export").headers
