"""A review from the command line: stages over one file, one flow for all of them, resumable after any stop."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from llm_double import Double, Quotes
from stage import WorkerProcess, tamis

StartWorker = Callable[..., WorkerProcess]

CRITERIA = """\
research_question: Does exercise at home help?
inclusion_criteria: [adults after a hip replacement, a randomised controlled trial]
exclusion_criteria: [animal studies]
"""
PLAN = """\
title: Exercise at home
records: export.ris
criteria: criteria.yaml
stages:
  - initial_filter
  - inclusion:
      passes: [include, uncertain]
  - extract_fields:
      schema: {type: object, properties: {sample_size: {type: integer}}}
      instructions: Extract the numbers.
  - judge:
      guidelines_file: guidelines.txt
      noun: Abstract
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A plan over 30 records: the 7th is a copy of the 3rd, the 9th a study in mice."""
    titles = [f"Exercise at home after hip replacement in town number {n}: a randomised trial" for n in range(30)]
    titles[6] = titles[2]
    titles[8] = "Case report: an unusual course after hip replacement"
    records = [
        f"TY  - JOUR\nTI  - {title}\nAU  - Alm, K\nPY  - 2020\nAB  - Adults walked at home. Trial {n} had 40 of them.\n"
        f"N1  - note of the team\nER  - \n"
        for n, title in enumerate(titles)
    ]
    (tmp_path / "export.ris").write_text("\n".join(records), "utf-8")
    (tmp_path / "criteria.yaml").write_text(CRITERIA, "utf-8")
    (tmp_path / "guidelines.txt").write_text("Only what the record says counts.", "utf-8")
    (tmp_path / "plan.yaml").write_text(PLAN, "utf-8")
    return tmp_path


def review_in(said: str) -> str:
    return said.split("review ")[1].split(":")[0]


def test_a_review_goes_through_its_stages_to_one_flow_that_adds_up(
    folder: Path, environment: dict[str, str], start_worker: StartWorker, double: Double
) -> None:
    double.script(quotes=Quotes.VERBATIM)
    start_worker()
    done = tamis("review", "run", "plan.yaml", env=environment, cwd=folder)
    assert done.code == 0, done.out + done.err
    assert "1 of 30 records removed as copies" in done.err
    assert "1 of 30 rejected by the initial filter: case_report 1" in done.err
    review = review_in(done.out)
    status = json.loads(tamis("review", "status", review, "--json", env=environment, cwd=folder).out)
    first, fields, judged = status["stages"]
    assert [stage["operation"] for stage in (first, fields, judged)] == ["inclusion", "extract_fields", "judge"]
    assert (first["counts"]["n_items"], first["counts"]["excluded_by_filter"]) == (30, 2)
    assert double.count() == 28 + fields["counts"]["decided"] + judged["counts"]["decided"]

    flow = json.loads(tamis("report", review, "--format", "json", env=environment, cwd=folder).out)["flow"]
    assert sum(source["n"] for source in flow["identified"]) == 30
    assert (flow["duplicates"], flow["ineligible"]) == (1, [{"name": "case_report", "n": 1}])
    assert flow["stages"][0]["entered"] == 28
    assert flow["stages"][1]["entered"] == fields["counts"]["n_items"]

    calls = double.count()
    again = tamis("review", "run", "plan.yaml", env=environment, cwd=folder)
    assert again.code == 0
    assert review_in(again.out) == review  # the same review, and nothing is asked again
    assert double.count() == calls


@pytest.mark.night
def test_the_records_come_back_in_their_format_with_their_decisions(
    folder: Path, environment: dict[str, str], start_worker: StartWorker
) -> None:
    start_worker()
    review = review_in(tamis("review", "run", "plan.yaml", env=environment, cwd=folder).out)
    written = tamis("export", review, "-o", "back.ris", env=environment, cwd=folder)
    assert written.code == 0, written.err
    text = (folder / "back.ris").read_text("utf-8")
    assert text.count("TY  - JOUR") == 30
    assert text.count("N1  - note of the team") == 30
    assert text.count("N1  - Tamis decision: ") == 30
    assert text.count("N1  - Tamis decision: duplicate") == 1
    assert "N1  - Tamis exclusion reason: case_report: " in text
    refused = tamis("export", review, "-o", "back.bib", env=environment, cwd=folder)
    assert refused.code == 2
    assert "--format RIS or --format BibTeX" in refused.err
    excluded = tamis(
        "export", review, "-o", "x.csv", "--format", "csv", "--only", "duplicate", env=environment, cwd=folder
    )
    assert excluded.code == 0, excluded.err
    assert "1 record written" in excluded.err


@pytest.mark.night
def test_a_review_interrupted_and_left_without_workers_goes_on_where_it_stopped(
    folder: Path, environment: dict[str, str], start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.3)
    worker = start_worker(concurrency="4", lease_seconds="2", sweep_interval="1")
    command = [sys.executable, "-m", "tamis_cli", "review", "run", "plan.yaml"]
    with subprocess.Popen(
        command,
        env={**os.environ, **environment},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        double.wait(calls=8, in_flight=4, bound=40)
        running.send_signal(signal.SIGINT)
        said, failed = running.communicate(timeout=30)
    assert running.returncode == 130, failed
    assert "the review continues" in said
    worker.kill()
    start_worker(concurrency="4", lease_seconds="2", sweep_interval="1")
    done = tamis("review", "run", "plan.yaml", env=environment, cwd=folder)
    assert done.code == 0, done.out + done.err
    assert review_in(done.out) == review_in(said)
    status = json.loads(tamis("review", "status", review_in(said), "--json", env=environment, cwd=folder).out)
    assert status["finished_at"] is not None
    assert all(stage["state"] == "completed" for stage in status["stages"])
    asked = sum(stage["counts"]["decided"] for stage in status["stages"])
    assert double.count() <= asked + 4  # calls in flight when the worker was killed


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("records: none.ris\nstages: [{filter: {criteria: x}}]\n", "none.ris: there is no such file"),
        ("records: export.ris\nstages: [inclusion]\n", "plan.yaml:2: field 'stages[1]': needs the review's criteria"),
    ],
)
def test_a_plan_that_cannot_run_is_one_clear_line(
    folder: Path, environment: dict[str, str], plan: str, said: str
) -> None:
    (folder / "plan.yaml").write_text(plan, "utf-8")
    done = tamis("review", "run", "plan.yaml", env=environment, cwd=folder)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert "no reviews yet" in tamis("review", "list", env=environment, cwd=folder).out
