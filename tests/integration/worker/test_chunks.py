"""Items with chunks through a worker: extractions, metrics, the question about recall, and how they are read back."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from llm_double import Double, Fault, Kind, Scripted
from stage import House, WorkerProcess, abstracts
from stage.command import tamis
from tamis_producer import Client
from tamis_producer.results.results_file import write_csv
from tamis_schemas import (
    Extract,
    ExtractFields,
    ExtractionDetail,
    InvalidParameters,
    ItemResult,
)

SIZE = Extract(instruction="How many were enrolled?", output_type="number")
FIELDS = ExtractFields(
    schema={"type": "object", "properties": {"size": {"type": "integer"}, "drug": {"type": "string"}}},
    instructions="The study.",
)
ASKED_OF_RECALL = "You are a retrieval evaluator."


def item(n: int, chunks: int = 4) -> dict[str, Any]:
    texts = [
        f"Record {n} enrolled {100 + n + k} adults in site {k}, and gave them aspirin daily." for k in range(chunks)
    ]
    return {
        "id": f"rec-{n}",
        "title": f"Trial {n}",
        "chunks": [
            {"chunk_id": f"{n}-{k}", "text": words, "score": 0.8, "page": k, "retrieval_method": "both"}
            for k, words in enumerate(texts)
        ],
    }


def extraction(n: int, k: int, value: Any) -> dict[str, Any]:
    words = f"Record {n} enrolled {100 + n + k} adults in site {k}"
    return {"chunk_number": k + 1, "evidence": words, "value": value, "confidence": 0.9}


def answer(n: int, *ks: int) -> Scripted:
    extractions = [extraction(n, k, 100 + n + k) for k in ks]
    said = {"reasoning": "r", "extractions": extractions, "value": 100 + n, "confidence": 0.9}
    return Scripted(f"title: Trial {n}\n", said)


def told(row: ItemResult) -> dict[str, Any]:
    return {one.label: one.value if one.reason is None else one.reason for one in row.evaluations}


def test_what_the_double_answers_of_itself_is_read_and_rated(house: House) -> None:
    client = house.fresh().client
    for operation in (SIZE, FIELDS):
        batch = client.submit(operation, [item(n) for n in range(8)])
        assert batch.wait(timeout=60).decided == 8
        for row in batch.results():
            assert row.evaluations[0].label == "context_relevance"
            # 0.4 x 4/4 + 0.5 x 0.8 + 0.1 x 4/5
            assert row.evaluations[0].value == pytest.approx(0.88)
            detail = ExtractionDetail.model_validate(row.detail)
            found = [one for field in detail.fields.values() for one in field.extractions]
            assert all(one.quote is not None and one.quote.found for one in found)
        assert {one.label for row in batch.results() for one in row.evaluations} >= {"semantic_validation"}


@pytest.mark.spec("4.3", "4.18", "4.20", "4.29")
def test_metrics_are_kept_with_the_result_and_reckoned_up_in_the_summary(house: House) -> None:
    client, double = house.client, house.fresh().double
    recalled = Scripted(ASKED_OF_RECALL, {"missing": ["one site"], "score": 0.75})
    double.script(answers=[recalled, answer(0, 0, 1, 2), answer(1, 0), answer(2, 0, 1, 2, 3)])
    batch = client.submit(SIZE, [item(0), item(1), item(2), {"id": "none", "title": "Without any"}])
    assert batch.wait(timeout=60).decided == 4
    rows = list(batch.results())
    assert told(rows[0]) == {
        "context_relevance": pytest.approx(0.88),
        "recall_warning": "the limits and the total of the search are missing",
        "context_precision": 1.0,
        "context_recall_heuristic": 0.75,  # 3 of 4
        "context_recall_llm": "not asked: the heuristic is not below the threshold, and no limit was hit",
        "aggregated_confidence": 0.5,  # 100, 101, 102: 1/3, conflicting, LOW
        "semantic_validation": "pass",
        "multi_source_agreement": 0.333,
        "agreement_pattern": "conflicting",
    }
    assert told(rows[1])["context_recall_llm"] == 0.75  # 1 of 4 is under 0.7: it was asked
    assert told(rows[2])["context_recall_heuristic"] == 1.0
    assert rows[3].evaluations == []
    assert double.count() == 5  # four items, and one question about recall
    assert [row.provenance.calls for row in rows if row.provenance is not None] == [1, 2, 1, 1]
    summary = batch.summary()
    assert summary is not None
    share = summary.recall_escalations
    assert share is not None
    assert (share.count, share.total) == (1, 3)
    heuristic = summary.evaluations["context_recall_heuristic"]
    assert (heuristic.n, heuristic.mean, heuristic.minimum) == (3, pytest.approx(2 / 3), 0.25)  # (.75 + .25 + 1) / 3
    assert summary.evaluations["semantic_validation"].categories == {"pass": 3}
    agreement = summary.evaluations["multi_source_agreement"]
    assert (agreement.n, agreement.without) == (2, {"fewer than two sources": 1})
    assert summary.evaluations["context_recall_llm"].n == 1


def test_a_question_about_recall_that_fails_leaves_the_result(house: House) -> None:
    client, double = house.client, house.fresh().double
    double.script(answers=[answer(1, 0)], faults=[Fault(Kind.REFUSAL, contains=ASKED_OF_RECALL)])
    batch = client.submit(SIZE, [item(1)])
    assert batch.wait(timeout=60).decided == 1
    row = next(batch.results())
    assert row.value == 101
    assert told(row)["context_recall_llm"] == "the question was not answered: refused"
    assert row.provenance is not None
    assert row.provenance.calls == double.count() >= 2  # what it cost is the item's
    summary = batch.summary()
    assert summary is not None
    assert summary.recall_escalations is not None
    assert summary.recall_escalations.count == 1


def test_a_failed_item_has_no_metrics_and_gets_them_in_the_round_that_decides_it(house: House) -> None:
    client, double = house.client, house.fresh().double
    double.script(faults=[Fault(Kind.REFUSAL)])
    batch = client.submit(SIZE, [item(1), item(2)])
    assert batch.wait(timeout=60).failed == 2
    with client.engine.connect() as connection:
        count = text("SELECT count(*) FROM evaluations WHERE batch_id = :id")
        assert connection.execute(count, {"id": batch.id}).scalar_one() == 0
    double.script(faults=[], answers=[answer(1, 0, 1, 2), answer(2, 0, 1, 2)])
    batch.retry()
    assert batch.wait(timeout=60).decided == 2
    assert [told(row)["context_recall_heuristic"] for row in batch.results()] == [0.75, 0.75]


def test_of_fields_the_metrics_come_in_the_order_of_the_schema(house: House) -> None:
    client, double = house.client, house.fresh().double
    of_drug = extraction(1, 0, "aspirin") | {"evidence": "gave them aspirin daily"}
    said = {
        "reasoning": "r",
        "extractions": {"size": [extraction(1, k, 101 + k) for k in range(3)], "drug": [of_drug]},
        "fields": {"size": 101, "drug": "aspirin"},
        "confidence": 0.9,
    }
    recalled = {"fields": {"drug": {"missing": [], "score": 1.0}}}
    double.script(answers=[Scripted(ASKED_OF_RECALL, recalled), Scripted("title: Trial 1\n", said)])
    batch = client.submit(FIELDS, [item(1)])
    assert batch.wait(timeout=60).decided == 1
    row = next(batch.results())
    assert list(dict.fromkeys(one.field for one in row.evaluations)) == [None, "size", "drug"]
    stream = io.StringIO()
    write_csv([row], stream)
    (cells,) = csv.DictReader(io.StringIO(stream.getvalue()))
    assert "context_relevance 0.88" in cells["evaluations"]
    assert "drug: context_recall_llm 1; " in cells["evaluations"]
    assert "size: multi_source_agreement 0.333" in cells["evaluations"]


def test_without_chunks_nothing_is_written_and_nothing_is_said(house: House) -> None:
    client = house.fresh().client
    batch = client.submit(SIZE, abstracts(3))
    assert batch.wait(timeout=60).decided == 3
    summary = batch.summary()
    assert summary is not None
    assert (summary.evaluations, summary.recall_escalations) == ({}, None)
    assert [row.evaluations for row in batch.results()] == [[], [], []]


@pytest.mark.spec("4.20")
def test_status_and_results_show_the_metrics(house: House, tmp_path: Path) -> None:
    client, double = house.client, house.fresh().double
    double.script(answers=[Scripted(ASKED_OF_RECALL, {"missing": [], "score": 1.0}), answer(1, 0)])
    batch = client.submit(SIZE, [item(1)])
    batch.wait(timeout=60)
    shown = tamis("status", batch.id, env=house.environment, cwd=tmp_path).out
    assert "context_recall_heuristic: mean 0.25, least 0.25 (1 value)" in " ".join(shown.split())
    assert "a model was asked about the recall of 1 of 1 items" in " ".join(shown.split())
    written = tamis("results", batch.id, "--format", "jsonl", env=house.environment, cwd=tmp_path).out
    (row,) = [json.loads(line) for line in written.splitlines()]
    assert {"label": "semantic_validation", "metric_type": "categorical", "value": "pass"}.items() <= next(
        one for one in row["evaluations"] if one["label"] == "semantic_validation"
    ).items()


def test_chunks_that_are_none_are_refused_before_anything_is_written(house: House) -> None:
    with pytest.raises(InvalidParameters, match=r"No. 2 \(index 1\) \(id 'rec-2'\): chunks\.0\.text: missing or blank"):
        house.client.submit(SIZE, [item(1), {"id": "rec-2", "chunks": [{"text": ""}]}])


@pytest.mark.spec("4.19")
def test_the_threshold_of_a_worker_decides_whether_a_model_is_asked(
    client: Client, double: Double, start_worker: Callable[..., WorkerProcess]
) -> None:
    double.script(answers=[Scripted(ASKED_OF_RECALL, {"missing": [], "score": 1.0}), answer(1, 0, 1), answer(2, 0)])
    start_worker(recall_threshold="0.4")
    batch = client.submit(SIZE, [item(1), item(2)])
    assert batch.wait(timeout=60).decided == 2
    said = [told(row) for row in batch.results()]
    assert [one["context_recall_heuristic"] for one in said] == [0.5, 0.25]
    assert str(said[0]["context_recall_llm"]).startswith("not asked")
    assert said[1]["context_recall_llm"] == 1.0
