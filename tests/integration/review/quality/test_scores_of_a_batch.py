"""The score of each record is the same wherever it is read: in figures, in thresholds and in the reading order."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from stage import Finished
from stage.screened import Ledgered, decided, failed, kept_out, written_batch
from tamis_producer import Client
from tamis_producer.ledger import read_operation
from tamis_review.order.candidates import stream_candidates
from tamis_review.quality.gold_labels import GoldLabels
from tamis_review.quality.judged import Stand
from tamis_review.quality.matching import match
from tamis_schemas import Exclusion, InclusionDecision

LABELS = "id,label\nr0,1\nr1,0\nr2,1\n"


def said(status: str, confidence: float) -> InclusionDecision:
    return InclusionDecision.model_validate({"status": status, "confidence": confidence, "rationale": "because"})


def rows(**of_each: tuple[Any, Any, Any]) -> list[Ledgered]:
    """Three decided records, an uncertain one, a failed one and one that a rule excludes."""
    told = [{name: values[n] for name, values in of_each.items()} for n in range(3)]
    return [
        decided({"id": "r0", "title": "a"}, said("include", 0.7), **told[0]),
        decided({"id": "r1", "title": "b"}, said("exclude", 0.9), **told[1]),
        decided({"id": "r2", "title": "c"}, said("exclude", 0.9), **told[2]),
        decided({"id": "r3", "title": "d"}, said("uncertain", 0.5)),
        failed({"id": "r4", "title": "e"}, "timeout"),
        kept_out({"id": "r5", "title": "f"}, Exclusion(rule="title_pattern", reason="in rats")),
    ]


@pytest.mark.parametrize(
    ("of_each", "scale", "scores"),
    [
        ({}, "confidence", [0.7, 0.1, 0.1]),
        ({"probability": (0.9, 0.02, 0.4)}, "probability", [0.9, 0.02, 0.4]),
        ({"relevance": (80, 5, 35)}, "relevance", [0.8, 0.05, 0.35]),
        ({"probability": (0.9, 0.02, 0.4), "relevance": (1, 2, 3)}, "probability", [0.9, 0.02, 0.4]),
        ({"probability": (0.9, None, 0.4)}, "confidence", [0.7, 0.1, 0.1]),
        ({"probability": (0.9, None, 0.4), "relevance": (80, 5, 35)}, "relevance", [0.8, 0.05, 0.35]),
    ],
)
def test_figures_and_reading_order_have_one_score(
    client: Client, of_each: dict[str, tuple[Any, Any, Any]], scale: str, scores: list[float]
) -> None:
    batch = written_batch(client, rows(**of_each))
    with client.engine.connect() as connection:
        ordered = list(stream_candidates(connection, UUID(batch.id)))
    matched = match(batch.results(), GoldLabels.of({"r0": True}))
    everything = sorted((*matched.records, *matched.others), key=lambda one: one.index)
    assert matched.score.scale == scale
    assert [one.score for one in ordered] == [one.score for one in everything] == [*scores, None, None, None]
    assert everything[3].stand is Stand.REFERRED


def test_people_are_told_what_the_score_is(client: Client, run: Callable[..., Finished], tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(LABELS)
    batch = written_batch(client, rows(probability=(0.9, 0.02, 0.4)))
    plain = run("evaluate", batch.id, "--labels", "labels.csv", "-o", "gold.html")
    assert plain.code == 0, plain.err
    assert "the score for inclusion is the probability from the answers' tokens" in " ".join(plain.out.split())
    assert "Reliability of the probability" in (tmp_path / "gold.html").read_text("utf-8")
    found = json.loads(run("evaluate", batch.id, "--labels", "labels.csv", "--json").out)
    # 0.1 for the include at 0.9, 0.02 for the exclude at 0.02, 0.6 for the include at 0.4, of three
    assert found["probability"]["ece"]["value"] == pytest.approx(0.72 / 3)
    assert found["score"] == {"scale": "probability", "decided": 3, "with_probability": 3, "with_relevance": 0}
    assert found["calibration"]["reason"].startswith("calibration needs 20 includes")


@pytest.mark.parametrize("command", ["screen", "filter"])
def test_a_grade_is_asked_for_on_the_command_line_alone(
    client: Client, run: Callable[..., Finished], tmp_path: Path, command: str
) -> None:
    (tmp_path / "records.csv").write_text("id,title\n1,Adults after a hip replacement\n")
    (tmp_path / "criteria.yaml").write_text("research_question: Hips?\ninclusion_criteria: [Adults]\n")
    asked = "Is it about hips?" if command == "filter" else "criteria.yaml"
    graded = []
    for more in ([], ["--graded"]):
        done = run(command, "records.csv", "--criteria", asked, "--detach", "--json", "--model", "double-1", *more)
        assert done.code == 0, done.err
        with client.engine.connect() as connection:
            graded.append(read_operation(connection, UUID(json.loads(done.out)["id"])))
    assert [one.model_dump().get("graded", False) for one in graded] == [False, True]
