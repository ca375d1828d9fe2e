"""Labels and notes on records: put on, found again, taken off, and written by every export."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import delete
from sqlalchemy.exc import DBAPIError

from stage import Finished
from stage.gateway import signed_in
from stage.screened import decided, written_batch
from tamis_producer import Batch, Client
from tamis_producer.gateway.api_keys import Scope
from tamis_review import count_labels, labelled_places, read_records, remark
from tamis_schemas import InclusionDecision, InvalidParameters
from tamis_schemas.ledger import remarks

Run = Callable[..., Finished]
SAID = InclusionDecision.model_validate({"status": "include", "confidence": 0.8, "rationale": "because"})
WHO = ("--reviewer", "Reviewer A")


@pytest.fixture
def batch(client: Client) -> Batch:
    return written_batch(client, [decided({"id": f"r{n}", "title": f"Title {n}"}, SAID) for n in range(4)])


def labels(batch: Batch) -> list[tuple[str, ...]]:
    return [row.labels for row in batch.results()]


def test_a_label_stands_from_its_last_putting_on_and_stands_once(batch: Batch) -> None:
    assert remark(batch, [0, 2], labels=["to  discuss", "pilot"], reviewer="Reviewer A") == 4
    assert remark(batch, [0, 1], labels=["to discuss"], reviewer="Reviewer B") == 1
    assert labels(batch) == [("to discuss", "pilot"), ("to discuss",), ("to discuss", "pilot"), ()]
    assert remark(batch, [0, 3], labels=["to discuss"], reviewer="Reviewer B", remove=True) == 1
    assert count_labels(batch) == {"to discuss": 2, "pilot": 2}
    assert list(labelled_places(batch, "to discuss")) == [1, 2]
    remark(batch, [0], labels=["to discuss"], notes=["see page 3"], reviewer="Reviewer B")
    (row,) = batch.results([0])
    assert row.labels == ("pilot", "to discuss")
    assert row.notes == ("Reviewer B: see page 3",)
    assert row.override is None


@pytest.mark.parametrize(
    ("index", "label", "reviewer", "wrong"),
    [
        (4, "x", "A", "the batch has no record No\\. 5 \\(index 4\\)"),
        (0, "  ", "A", "the label is empty"),
        (0, "x" * 101, "A", "the label has 101 characters; the maximum is 100"),
        (0, "a\0b", "A", "contains a character that the ledger cannot store"),
        (0, "x", " ", "who decided"),
    ],
)
def test_what_cannot_be_put_on_is_refused_and_nothing_is_written(
    batch: Batch, index: int, label: str, reviewer: str, wrong: str
) -> None:
    with pytest.raises(InvalidParameters, match=wrong):
        remark(batch, [1, index], labels=["good", label], reviewer=reviewer)
    assert not count_labels(batch)


def test_nobody_changes_what_was_put_on(batch: Batch, client: Client) -> None:
    remark(batch, [0], labels=["pilot"], reviewer="Reviewer A")
    with client.engine.begin() as connection, pytest.raises(DBAPIError, match="are added to, never changed"):
        connection.execute(delete(remarks))


def test_the_command_line_puts_labels_on_and_finds_and_exports_records_by_them(
    run: Run, batch: Batch, tmp_path: Path
) -> None:
    put = run("label", batch.id, "to discuss", "r1", "4", *WHO)
    assert (put.code, put.out) == (0, "to discuss: added to 2 records; now on 2.\n")
    assert run("note", batch.id, "r3", "the same cohort as r0?", *WHO).out == "Reviewer A: the same cohort as r0?\n"
    assert run("labels", batch.id).out.split() == ["label", "records", "to", "discuss", "2"]
    rows = list(csv.DictReader(io.StringIO(run("results", batch.id, "--label", "to discuss").out)))
    assert [(row["index"], row["labels"], row["notes"]) for row in rows] == [
        ("1", "to discuss", ""),
        ("3", "to discuss", "Reviewer A: the same cohort as r0?"),
    ]
    unknown = run("results", batch.id, "--label", "later")
    assert unknown.code == 2
    assert "has the label 'later'; existing labels: to discuss" in unknown.err
    for form in ("ris", "csv"):
        exported = run("export", batch.id, "-o", str(tmp_path / form), "--format", form, "--label", "to discuss")
        assert exported.code == 0, exported.err
        back = read_records(tmp_path / form)
        assert [record["title"] for record in back] == ["Title 1", "Title 3"]
        assert [record["_tamis_labels"] for record in back] == ["to discuss", "to discuss"]
        assert back[1]["_tamis_notes"] == "Reviewer A: the same cohort as r0?"
    taken = run("label", batch.id, "to discuss", "r1", "--remove", *WHO)
    assert taken.out == "to discuss: removed from 1 record; now on 1.\n"
    assert run("label", batch.id, "x", "r1").code == 2


def test_over_http_labels_are_put_on_counted_and_filtered_by(batch: Batch, client: Client) -> None:
    path = f"/v1/batches/{batch.id}"
    with signed_in(client, "Reviewer A", Scope.READ, Scope.DECIDE) as http:
        before = http.get(f"{path}/results").headers["etag"]
        put = http.post(f"{path}/items/2/remarks", json={"labels": ["to discuss"], "notes": ["see page 3"]})
        assert (put.status_code, put.json()) == (201, {"changed": 2})
        assert http.get(f"{path}/results", headers={"If-None-Match": before}).status_code == 200
        assert http.get(f"{path}/labels").json()["items"] == [{"label": "to discuss", "n": 1}]
        for asked in ({"label": "to discuss"}, {"label": "to discuss", "limit": 5}):
            (row,) = http.get(f"{path}/results", params=asked).json()["items"]
            assert row["index"] == 2
            assert [(one["kind"], one["text"], one["reviewer"]) for one in row["remarks"]] == [
                ("label", "to discuss", "Reviewer A"),
                ("note", "see page 3", "Reviewer A"),
            ]
        assert http.get(f"{path}/results", params={"label": "later"}).json()["items"] == []
