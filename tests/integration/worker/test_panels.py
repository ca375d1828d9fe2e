"""Panels with a real worker: each model's word, one decision, one bill, and what a model that fails costs."""

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from llm_double import Double, Fault, Kind, Scripted
from stage import House, abstracts, tamis
from stage.documents import blocks
from stage.gateway import signed_in
from tamis_producer.gateway.api_keys import Scope
from tamis_review import evaluate, measure_panel, next_records, override, write_report_file
from tamis_schemas import (
    BatchPaused,
    ErrorKind,
    Filter,
    InvalidParameters,
    InvalidRequest,
    ItemResult,
    Panel,
    PauseKind,
    Score,
)

MODELS = ("small", "middle", "large")
ONCOLOGY = Filter(criteria="Is this about oncology?")


def panel(policy: str, *models: str) -> Panel:
    return Panel.model_validate({"models": models or MODELS, "policy": policy})


def said(value: bool, confidence: float = 0.9) -> dict[str, object]:
    return {"reasoning": f"{value}", "value": value, "confidence": confidence}


def script(double: Double, votes: dict[str, str]) -> None:
    """By model one letter a record, `+` for yes, `-` for no, `?` for a weak no."""
    answers = {"+": said(True), "-": said(False), "?": said(False, 0.5)}
    double.script(
        answers=[
            Scripted(f"record number {n}.", answers[letter], model=model)
            for model, letters in votes.items()
            for n, letter in enumerate(letters)
        ]
    )


def asked(double: Double) -> Counter[str]:
    return Counter(call.model for call in double.calls())


def values(rows: list[ItemResult]) -> str:
    return "".join({True: "+", False: "-", None: "!"}[row.value] for row in rows)


def test_every_model_is_asked_and_one_result_keeps_each_word_with_its_bill(house: House) -> None:
    client, double = house.client, house.fresh().double
    script(double, {"small": "+-+-", "middle": "--+-", "large": "--++"})
    batch = client.submit(ONCOLOGY, abstracts(4), panel=panel("majority"))
    assert batch.wait(timeout=60).decided == 4
    rows = list(batch.results())
    assert values(rows) == "--+-"
    assert asked(double) == dict.fromkeys(MODELS, 4)
    assert batch.status().model == "small, middle, large"

    first = rows[0]
    assert first.panel is not None
    assert first.panel.words == "small: include 0.90; middle: exclude 0.90; large: exclude 0.90"
    assert first.panel.score == pytest.approx(1.1 / 3)  # (0.9 + 0.1 + 0.1) / 3
    assert first.result is not None
    assert first.result.confidence == pytest.approx(1 - 1.1 / 3)
    assert first.panel.disagreement == pytest.approx(2 / 3)
    assert first.detail is None
    bills = [one.usage.total_tokens for one in first.panel.verdicts]
    assert all(bills)
    assert first.provenance is not None
    assert (first.provenance.calls, first.provenance.usage.total_tokens) == (3, sum(bills))
    assert first.provenance.model == "small-double, middle-double, large-double"

    # The same models under another policy: the cache has every word already. And one of them alone.
    again = client.submit(ONCOLOGY, abstracts(4), panel=panel("any"))
    again.wait(timeout=60)
    assert values(list(again.results())) == "+-++"
    client.submit(ONCOLOGY, abstracts(4), model="large").wait(timeout=60)
    assert double.count() == 12


def test_the_report_and_an_evaluation_say_what_each_model_brought(house: House, tmp_path: Path) -> None:
    client, double = house.client, house.fresh().double
    script(double, {"small": "++--+-", "middle": "++--+-", "large": "-+-+--"})
    batch = client.submit(ONCOLOGY, abstracts(6), panel=panel("any"))
    batch.wait(timeout=60)
    labels = {f"rec-{n}": n in (0, 3) for n in range(6)}
    found = evaluate(batch, labels).panel
    assert found == measure_panel(batch, labels)
    assert found is not None
    assert [one.nothing for one in found.brought] == [True, True, False]
    assert [(one.changed, one.found) for one in found.brought] == [(0, 0), (0, 0), (1, 1)]  # record 3 alone
    assert [(pair.differ, pair.agreement.n) for pair in found.pairs] == [(0, 6), (3, 6), (3, 6)]
    assert [one.index for one in found.differing] == [0, 3, 4]

    assert "disagreement" not in {one.reason for one in next_records(batch, 6).records}
    first = next_records(batch, 4, by="disagreement").records
    assert [one.index for one in first[:3]] == [0, 3, 4]  # as doubtful: 1.9 / 3 and 1.1 / 3
    assert {one.why for one in first[:3]} == {"the models of the panel disagree on it"}
    assert first[3].reason != "disagreement"
    assert measure_panel(batch).labelled == 0
    override(batch, 3, True, reviewer="Reviewer A")
    assert measure_panel(batch).labelled == 1
    figures = write_report_file(batch, tmp_path / "report.html")
    assert figures.batches[0].panel == measure_panel(batch)
    page = re.sub(' data-name="[^"]*"', "", (tmp_path / "report.html").read_text("utf-8"))
    write_report_file(batch, tmp_path / "report.md")
    markdown = (tmp_path / "report.md").read_text("utf-8")
    assert '<th scope="row">small, large</th><td class="number">6</td><td class="number">3</td>' in page
    assert "| small, large | 6 | 3 |" in markdown
    assert "<li>1, rec-0: small include, middle include, large exclude</li>" in page
    for told in (
        "middle changed nothing: without it, all 6 decisions would be the same.",
        "Each record was judged by a panel of 3 models: “small”, “middle”, “large”.",
        "A record was included if any model included it.",
        "A model that failed had no vote and never counted as an exclusion.",
    ):
        assert told in page
        assert told in markdown
    alone = client.submit(ONCOLOGY, abstracts(1), model="small")
    with pytest.raises(InvalidRequest, match="asks one model"):
        measure_panel(alone)
    alone.wait(timeout=60)
    with pytest.raises(InvalidRequest, match="only the models of a panel can disagree"):
        next_records(alone, by="disagreement")


def test_where_a_model_fails_the_others_are_kept_and_a_retry_asks_it_alone(house: House) -> None:
    client, double = house.client, house.fresh().double
    script(double, {"small": "+-", "middle": "--", "large": "--"})
    double.script(faults=[Fault(Kind.REFUSAL, model="large")])
    batch = client.submit(ONCOLOGY, abstracts(2), panel=panel("any"))
    counts = batch.wait(timeout=60)
    assert (counts.decided, counts.failed) == (1, 1)  # the first is included whatever `large` had said
    included, failed = batch.results()
    assert (included.value, included.panel and included.panel.words) == (
        True,
        "small: include 0.90; middle: exclude 0.90; large: refused",
    )
    assert (failed.value, failed.error_kind) == (None, ErrorKind.REFUSED)
    assert failed.panel is not None
    assert failed.panel.words == "small: exclude 0.90; middle: exclude 0.90; large: refused"
    assert failed.error is not None
    assert failed.error.startswith("large: ")

    before = asked(double)
    double.script(faults=[])
    batch.retry()
    assert batch.wait(timeout=60).decided == 2
    assert values(list(batch.results())) == "+-"
    assert asked(double) - before == {"large": 1}


def test_a_model_that_the_endpoint_does_not_know_pauses_the_batch_by_its_name(house: House) -> None:
    client, double = house.client, house.fresh().double
    script(double, {"small": "++", "large": "++"})
    double.script(faults=[Fault(Kind.UNAUTHORIZED, model="large", message="Who are you?")])
    refused = client.submit(ONCOLOGY, abstracts(1), panel=panel("majority", "small", "large"), use_cache=False)
    with pytest.raises(BatchPaused, match=r"large: .*Who are you"):
        refused.wait(timeout=60)
    refused.cancel()
    house.fresh()
    script(double, {"small": "++", "large": "++"})
    double.script(models=("small",))
    batch = client.submit(ONCOLOGY, abstracts(2), panel=panel("majority", "small", "large"))
    with pytest.raises(BatchPaused, match="large") as caught:
        batch.wait(timeout=60)
    assert caught.value.pause.kind is PauseKind.MODEL_NOT_FOUND
    double.script(models=())
    batch.resume()
    assert batch.wait(timeout=60).decided == 2
    assert sum(call.status == 200 for call in double.calls()) == 4  # what `small` said is not paid for again


def test_a_panel_is_submitted_over_http_and_what_makes_none_is_refused_with_the_reason(house: House) -> None:
    script(house.fresh().double, {"small": "+", "large": "-"})
    asked_of = {"models": ["small", "large"], "policy": "any"}
    question = {"operation": "filter", "criteria": "Is this about oncology?"}

    def body(panel: object, **more: object) -> dict[str, object]:
        return {"operation": {**question, "panel": panel}, "items": abstracts(1), **more}

    with signed_in(house.client, "A pipeline", *Scope) as http:
        made = http.post("/v1/batches", json=body(asked_of))
        assert made.status_code == 201, made.text
        batch = house.client.batch(made.json()["batch"]["id"])
        assert made.json()["batch"]["model"] == "small, large"
        batch.wait(timeout=60)
        (row,) = http.get(f"/v1/batches/{batch.id}/results").json()["items"]
        assert [(one["model"], one["status"]) for one in row["panel"]["verdicts"]] == [
            ("small", "include"),
            ("large", "exclude"),
        ]
        refused = http.post("/v1/batches", json=body({**asked_of, "models": ["small", "small"]}))
        assert refused.status_code == 422
        assert "'small' is named twice" in refused.text
        assert "cannot be combined with a panel" in http.post("/v1/batches", json=body(asked_of, model="small")).text


@pytest.mark.night
def test_a_panel_on_the_command_line_from_the_question_to_what_each_model_brought(house: House, tmp_path: Path) -> None:
    script(house.fresh().double, {"small": "+-?-", "large": "--+-"})
    with (tmp_path / "records.csv").open("w", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["id", "title", "abstract", "label"])
        writer.writeheader()
        writer.writerows({**one, "label": int(n == 2)} for n, one in enumerate(abstracts(4)))

    def run(*words: str) -> str:
        done = tamis(*words, env=house.environment, cwd=tmp_path)
        assert done.code == 0, done.out + done.err
        return done.out

    asked_of = ("--panel", "small,large", "--policy", "any")
    batch: str = json.loads(run("filter", "records.csv", "--criteria", ONCOLOGY.criteria, *asked_of, "--json"))["id"]
    assert "small, large" in run("status", batch)
    rows = list(csv.DictReader(io.StringIO(run("results", batch), newline="")))
    assert [row["value"] for row in rows] == ["true", "false", "true", "false"]
    assert [row["small"] for row in rows] == ["include", "exclude", "exclude", "exclude"]
    assert [row["large"] for row in rows] == ["exclude", "exclude", "include", "exclude"]
    assert rows[2]["large: confidence"] == "0.9"
    assert rows[2]["panel"] == "small: exclude 0.50; large: include 0.90"
    told = run("explain", batch, "rec-2")
    assert "policy of the panel: any; small: exclude 0.50; large: include 0.90" in told
    assert "0.7, the models' mean support for the decision: score for inclusion (0.5 + 0.9) / 2 = 0.7" in told
    told = " ".join(run("evaluate", batch, "--labels", "records.csv").split())
    assert "Without it, the panel would lose 1 of people's includes" in told


def test_the_program_of_the_document_runs(
    house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    double = house.fresh().double
    double.script(answers=[Scripted("trial", said(True))])
    for name, value in house.environment.items():
        monkeypatch.setenv(name, value)
    (program,) = (one for one in blocks() if (one.document, one.language) == ("docs/panels.md", "python"))
    exec(compile(program.text, "program.py", "exec"), {"__name__": "__main__"})  # noqa: S102 - the document's own words
    told = capsys.readouterr().out
    assert "0 True gpt-5-mini: include 0.90; deepseek-flash: include 0.90 0.0" in told
    assert "deepseek-flash 0 True" in told  # it changed nothing


def test_a_panel_beside_a_model_or_for_a_score_is_refused(house: House) -> None:
    with pytest.raises(InvalidParameters, match="'large' cannot be combined with a panel"):
        house.client.submit(ONCOLOGY, abstracts(1), model="large", panel=panel("any"))
    with pytest.raises(InvalidParameters, match="Score cannot have one"):
        house.client.submit(Score(criteria="How good?"), abstracts(1), panel=panel("any"))
