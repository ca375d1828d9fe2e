"""A real review, screened from the command line: the Donners and the radiation-oncology records."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from llm_double import Double
from stage import WorkerProcess, tamis
from stage.shared_data import DATA, needs_real_records

SCREENING = DATA / "screening"
StartWorker = Callable[..., WorkerProcess]


def criteria_of(review: str, folder: Path) -> Path:
    """The review's own criteria as the YAML that a team would write."""
    text = json.loads((SCREENING / review / "criteria.json").read_text("utf-8"))["text"]
    path = folder / "criteria.yaml"
    criteria = {"research_question": "Which records meet the review's criteria?", "inclusion_criteria": [text]}
    path.write_text(yaml.safe_dump(criteria, allow_unicode=True), "utf-8")
    return path


@pytest.mark.night
@needs_real_records
def test_521_real_records_are_screened_in_order_with_one_summary(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.2)
    for _ in range(2):
        start_worker()
    records = SCREENING / "cdss_ro" / "records.csv"
    criteria = criteria_of("cdss_ro", tmp_path)
    every_record = ("--no-initial-filter", "--keep-duplicates")
    done = tamis("screen", str(records), "--criteria", str(criteria), *every_record, env=environment, cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    assert "521/521" in done.out
    assert "pass rate" in done.out
    batch = done.out.split("batch ")[1].split(":")[0]

    status = json.loads(tamis("status", batch, "--json", env=environment, cwd=tmp_path).out)
    parts = ("excluded_by_filter", "decided", "failed", "cancelled", "pending", "running")
    assert status["n_items"] == 521 == sum(status[part] for part in parts)
    assert status["decided"] == 521
    assert status["state"] == "completed"

    written = tamis("results", batch, env=environment, cwd=tmp_path)
    rows = list(csv.DictReader(io.StringIO(written.out, newline="")))
    with records.open(encoding="utf-8", newline="") as stream:
        assert [row["item_id"] for row in rows] == [record["id"] for record in csv.DictReader(stream)]
    assert {row["value"] for row in rows} <= {"include", "exclude", "uncertain"}
    assert double.count() == 521
    shown = {line.split(": ")[0] for call in double.calls() for line in call.messages[1]["content"].splitlines()}
    assert {"title", "abstract"} <= shown
    assert not {"id", "label", "_label", "_line"} & shown  # a label would tell the model the answer


@pytest.mark.night
@needs_real_records
def test_copies_and_what_tier_1_rejects_are_told_and_never_asked_about(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, double: Double
) -> None:
    start_worker()
    records = SCREENING / "cdss_ro" / "records.csv"
    criteria = criteria_of("cdss_ro", tmp_path)
    done = tamis("screen", str(records), "--criteria", str(criteria), env=environment, cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    assert "1 of 521 records removed as copies of another record (--keep-duplicates asks about them too)" in done.err
    assert "14 of 521 rejected by the initial filter: protocol 6" in done.err
    assert "506 records of 521 from records.csv" in done.out
    assert "excluded by filter 15" in done.out
    assert double.count() == 506


def test_bytes_that_are_not_of_the_encoding_are_reported(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker
) -> None:
    start_worker()
    mixed = 'id,title\n1,"Für die Praxis"\n'.encode() + b'2,"Ca\xf1as and pi\xf1as"\n'
    (tmp_path / "mixed.csv").write_bytes(mixed)
    done = tamis("filter", "mixed.csv", "--criteria", "Is it?", env=environment, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "2 bytes are not utf-8 and were read as cp1252: line 3" in done.err


def test_results_go_to_a_file_in_either_format(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker
) -> None:
    start_worker()
    items = tmp_path / "items.jsonl"
    items.write_text('{"id": "a", "title": "=SUM(A1)"}\n{"id": "b", "title": "B"}\n', "utf-8")
    detached = tamis("filter", str(items), "--criteria", "Is it?", "--detach", env=environment, cwd=tmp_path)
    assert detached.code == 0
    batch = detached.out.strip()
    watched = tamis("status", batch[:8], "--watch", env=environment, cwd=tmp_path)
    assert watched.code == 0, watched.err
    assert "2/2" in watched.out
    for name in ("out.csv", "out.jsonl"):
        assert tamis("results", batch, "-o", name, env=environment, cwd=tmp_path).code == 0
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["title"] for row in csv.DictReader(stream)] == ["'=SUM(A1)", "B"]
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert [line["item"]["title"] for line in lines] == ["=SUM(A1)", "B"]
    assert all(isinstance(line["result"]["value"], bool) for line in lines)
    listed = tamis("batches", env=environment, cwd=tmp_path)
    assert batch[:8] in listed.out
    assert "items.jsonl" in listed.out


def test_failed_items_end_with_exit_code_1(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker
) -> None:
    start_worker()
    items = tmp_path / "items.jsonl"
    items.write_text('{"id": "a", "title": "A"}\n{"id": "nothing-else"}\n', "utf-8")
    done = tamis("filter", str(items), "--criteria", "Is it?", env=environment, cwd=tmp_path)
    assert done.code == 1, done.err
    assert "no_content" in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["screen", "missing.ris", "--criteria", "good.yaml"], "missing.ris: "),
        (["screen", "empty.csv", "--criteria", "good.yaml"], "empty.csv: "),
        (["screen", "good.csv", "--criteria", "bad.yaml"], "bad.yaml:2: field 'inclusion_criterai'"),
        (["screen", "broken.jsonl", "--criteria", "good.yaml", "--strict"], "broken.jsonl:2: "),
        (["status", "zzz"], "'zzz' is no batch id"),
        (["status", "00000000", "--watch", "--json"], "cannot be combined"),
        (["results", "00000000"], "there is no batch '00000000'"),
    ],
)
def test_wrong_use_is_one_clear_line_and_exit_code_2(
    tmp_path: Path, environment: dict[str, str], arguments: list[str], said: str
) -> None:
    (tmp_path / "good.yaml").write_text("research_question: Does it?\ninclusion_criteria: [humans]\n", "utf-8")
    (tmp_path / "bad.yaml").write_text("research_question: Does it?\ninclusion_criterai: [humans]\n", "utf-8")
    (tmp_path / "good.csv").write_text("id,title\n1,A\n", "utf-8")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "broken.jsonl").write_text('{"id": 1, "title": "a"}\n{"id": 2,\n', "utf-8")
    done = tamis(*arguments, env=environment, cwd=tmp_path)
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert said in done.err
    assert "no batches yet" in tamis("batches", env=environment, cwd=tmp_path).out


def test_without_servers_the_message_says_how_to_get_them(tmp_path: Path) -> None:
    done = tamis("batches", env={}, cwd=tmp_path)
    assert done.code == 2
    assert "tamis up" in done.err


def test_one_server_without_the_other_is_named(tmp_path: Path) -> None:
    done = tamis("batches", env={"TAMIS_BROKER_URL": "redis://127.0.0.1:1/0"}, cwd=tmp_path)
    assert done.code == 2
    assert "TAMIS_DATABASE_URL is not set" in done.err


def test_a_worker_without_a_model_says_which_setting_is_missing(tmp_path: Path, environment: dict[str, str]) -> None:
    env = {name: value for name, value in environment.items() if name != "TAMIS_MODEL"}
    done = tamis("worker", env=env, cwd=tmp_path)
    assert done.code == 2
    assert "TAMIS_MODEL is not set" in done.err


def test_ctrl_c_detaches_and_the_batch_goes_on(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, double: Double
) -> None:
    double.script(latency=0.3)
    start_worker(concurrency="4")
    items = tmp_path / "items.jsonl"
    items.write_text("".join(f'{{"id": "{n}", "title": "T{n}"}}\n' for n in range(40)), "utf-8")
    command = [sys.executable, "-m", "tamis_cli", "filter", str(items), "--criteria", "Is it?"]
    with subprocess.Popen(
        command, env={**os.environ, **environment}, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as screening:
        double.wait(calls=4, in_flight=4, bound=40)
        screening.send_signal(signal.SIGINT)
        said, _ = screening.communicate(timeout=30)
    assert screening.returncode == 130
    assert "the batch continues" in said
    watch_on = said.split("tamis status ")[1].split(" ")[0]
    done = tamis("status", watch_on, "--watch", env=environment, cwd=tmp_path)
    assert done.code == 0
    assert "40/40" in done.out


def test_a_wrong_key_pauses_the_batch_says_what_to_do_and_shows_no_key(
    tmp_path: Path, environment: dict[str, str], start_worker: StartWorker, double: Double
) -> None:
    double.script(api_key="another-key")
    worker = start_worker()
    items = tmp_path / "items.jsonl"
    items.write_text('{"id": "a", "title": "A"}\n', "utf-8")
    done = tamis("filter", str(items), "--criteria", "Is it?", env=environment, cwd=tmp_path)
    assert done.code == 1
    assert "paused: authentication" in done.out
    assert "is TAMIS_LLM_API_KEY a key of this endpoint?" in done.err
    assert "tamis resume" in done.err
    written = tamis("results", done.out.split("batch ")[1].split(":")[0], env=environment, cwd=tmp_path)
    assert environment["TAMIS_LLM_API_KEY"] not in done.out + done.err + written.out + worker.text()
