"""Labels over HTTP: a sample to label, and what a batch's decisions are worth by a person's labels."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from stage.gateway import signed_in
from stage.screened import decided, written_batch
from tamis_producer import Batch, Client
from tamis_producer.gateway.api_keys import Scope
from tamis_review import calibrate, draw_pilot, evaluate, set_screening_mode
from tamis_schemas import Extract, InclusionDecision, ScreeningMode

N = 120
ROWS = [
    decided(
        {"id": f"r{n}", "title": f"Title {n}", "abstract": f"Abstract {n}"},
        InclusionDecision.model_validate(
            {"status": "include" if n % 2 else "exclude", "confidence": 0.6 + n / 400, "rationale": ""}
        ),
    )
    for n in range(N)
]
LABELS = "id,include\n" + "".join(f"r{n},{int(n % 2 or n == 0)}\n" for n in range(N))


@pytest.fixture
def batch(client: Client) -> Batch:
    return written_batch(client, ROWS)


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        yield http


def sent(http: httpx.Client, path: str, labels: str = LABELS, **terms: object) -> httpx.Response:
    files = {"file": ("labels.csv", labels.encode(), "text/csv")}
    return http.post(path, data={"terms": json.dumps(terms)}, files=files)


def test_a_pilot_is_drawn_without_what_was_decided(batch: Batch, http: httpx.Client) -> None:
    answer = http.post(f"/v1/batches/{batch.id[:8]}/pilots", json={"n": 10, "seed": 3})
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert (told["batch_id"], told["seed"], told["population"]) == (batch.id, 3, N)
    places = list(draw_pilot(batch, 10, seed=3).places)
    assert [one["index"] for one in told["records"]] == places
    first = {"index": places[0], "id": f"r{places[0]}", "title": f"Title {places[0]}", "abstract": None}
    assert told["records"][0] == first | {"abstract": f"Abstract {places[0]}"}


def test_a_pilot_without_a_seed_says_which_one_drew_it(batch: Batch, http: httpx.Client) -> None:
    told = http.post(f"/v1/batches/{batch.id}/pilots", json={"n": 10}).json()
    again = http.post(f"/v1/batches/{batch.id}/pilots", json={"n": 10, "seed": told["seed"]}).json()
    assert told == again


def test_a_pilots_table_is_filled_in_and_gives_a_threshold(batch: Batch, http: httpx.Client, tmp_path: Path) -> None:
    answer = http.post(f"/v1/batches/{batch.id}/pilots", params={"form": "csv"}, json={"n": N, "seed": 3})
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"), newline="")))
    assert (len(rows), list(rows[0])) == (N, ["seed", "index", "id", "title", "abstract", "include", "note", "number"])
    for row in rows:
        row["include"] = "yes" if int(row["index"]) % 2 else "no"
    filled = io.StringIO(newline="")
    writer = csv.DictWriter(filled, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    told = sent(http, f"/v1/batches/{batch.id}/calibration", filled.getvalue(), recall=0.9, delta=0.1).json()
    (tmp_path / "pilot.csv").write_text(filled.getvalue(), "utf-8")
    found = calibrate(batch, tmp_path / "pilot.csv", 0.9, 0.1)
    assert (told["refusal"], told["labels"], told["finished"]) == (None, "labels.csv", True)
    assert told["threshold"] == found.calibration.threshold.model_dump(mode="json")
    lines = {row["name"]: row["values"][0] for row in told["words"]["rows"]}
    assert lines["threshold"] == str(found.calibration.threshold.value)
    assert lines["below"] == f"{told['below']} of the batch's {N} records"
    assert told["words"]["holds"].startswith("Every record of the batch has a label")
    assert (told["of"], told["below"]) == (N, len(told["below_ids"]))
    table = sent(http, f"/v1/batches/{batch.id}/calibration?form=csv", filled.getvalue(), recall=0.9, delta=0.1)
    kept = list(csv.DictReader(io.StringIO(table.text, newline="")))
    assert [one["id"] for one in kept if one["kept"] == "false"] == told["below_ids"]


def test_too_few_labels_give_no_threshold_and_say_why(batch: Batch, http: httpx.Client) -> None:
    path, few = f"/v1/batches/{batch.id}/calibration", "id,include\nr1,1\nr2,0\n"
    told = sent(http, path, few)
    assert (told.status_code, told.json()["threshold"]["value"], told.json()["below_ids"]) == (200, None, [])
    assert told.json()["refusal"]
    assert (told.json()["words"]["rows"], told.json()["words"]["holds"]) == ([], None)
    table = sent(http, f"{path}?form=csv", few)
    assert (table.status_code, table.json()["detail"]) == (422, told.json()["refusal"])


def test_an_evaluation_gives_the_clients_figures_and_their_words(
    batch: Batch, http: httpx.Client, tmp_path: Path
) -> None:
    answer = sent(http, f"/v1/batches/{batch.id}/evaluation")
    assert answer.status_code == 200, answer.text
    told = answer.json()
    labels = tmp_path / "labels.csv"
    labels.write_text(LABELS, "utf-8")
    words = told.pop("words")
    named = {"batch_id": batch.id, "finished": True, "labels": "labels.csv"}
    assert told == evaluate(batch, labels).model_dump(mode="json") | named
    assert [one["item_id"] for one in told["lost"]] == ["r0"]
    assert words["rates"][0]["name"] == "sensitivity"
    assert words["rates"][0]["values"][0].startswith("60 of 61 = 98.4%")


@pytest.mark.parametrize(("form", "begins"), [("html", "<!doctype html"), ("svg", "<svg")])
def test_an_evaluation_is_a_page_or_a_drawing_that_runs_nothing(
    batch: Batch, http: httpx.Client, form: str, begins: str
) -> None:
    answer = sent(http, f"/v1/batches/{batch.id}/evaluation?form={form}")
    assert answer.status_code == 200, answer.text
    assert answer.text.lower().lstrip().startswith(begins)
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "allow-scripts" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize("what", ["evaluation", "calibration"])
def test_a_file_without_labels_is_refused_under_its_own_name(batch: Batch, http: httpx.Client, what: str) -> None:
    answer = sent(http, f"/v1/batches/{batch.id}/{what}", "id,vote\nr1,1\n")
    assert (answer.status_code, "labels.csv" in answer.json()["detail"]) == (422, True), answer.text
    assert "tamis-files-" not in answer.text
    assert sent(http, f"/v1/batches/{batch.id}/{what}", "id,vote\nr1,1\nr2,0\n", column="vote").status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [("pilots", {"n": 0}), ("pilots", {"n": "5"}), ("pilots", {"seed": -1}), ("pilots", {"more": 1})],
)
def test_a_pilot_that_cannot_be_drawn_is_refused(
    batch: Batch, http: httpx.Client, path: str, body: dict[str, object]
) -> None:
    assert http.post(f"/v1/batches/{batch.id}/{path}", json=body).status_code == 422


def test_an_operation_that_decides_nothing_has_neither_pilot_nor_evaluation(client: Client, http: httpx.Client) -> None:
    of = written_batch(client, [], operation=Extract(instruction="The year")).id
    assert http.post(f"/v1/batches/{of}/pilots", json={}).status_code == 422
    assert sent(http, f"/v1/batches/{of}/evaluation").status_code == 422


def test_while_people_read_blind_decisions_are_not_measured_and_a_pilot_is_drawn(
    batch: Batch, http: httpx.Client
) -> None:
    set_screening_mode(batch, ScreeningMode.MODEL_SECOND, set_by="Lead")
    for what in ("evaluation", "calibration"):
        assert sent(http, f"/v1/batches/{batch.id}/{what}").status_code == 403
    assert http.post(f"/v1/batches/{batch.id}/pilots", json={"n": 5}).status_code == 200
