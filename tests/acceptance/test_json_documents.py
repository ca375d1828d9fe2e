"""`--json` of commands on a real stack: one document on standard output, everything else on standard error.

Commands are called in this process, which is quick; those that end with an error, in one of their own.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from llm_double import Fault, Kind, Scripted
from stage import Finished, House, abstracts, tamis
from tamis_cli.commands.app import app, load_commands
from tamis_producer import Batch
from tamis_schemas import Filter

CRITERIA = "research_question: Does it?\ninclusion_criteria: [humans]\n"
PLAN = "title: T\nrecords: records.jsonl\nstages:\n  - filter: {criteria: 'Is it?'}\n"

Run = Callable[..., Finished]

load_commands()


@pytest.fixture
def run(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    house.fresh()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "records.jsonl").write_text("\n".join(json.dumps(item) for item in abstracts(4)), "utf-8")
    (tmp_path / "criteria.yaml").write_text(CRITERIA, "utf-8")
    (tmp_path / "plan.yaml").write_text(PLAN, "utf-8")
    (tmp_path / "guidelines.txt").write_text("Only trials count.", "utf-8")

    def called(*arguments: str) -> Finished:
        done = CliRunner().invoke(app, [*arguments, "--json"], env=house.environment, catch_exceptions=False)
        return Finished(done.exit_code, done.stdout, done.stderr)

    return called


@pytest.fixture
def batch(house: House) -> Batch:
    """Finished; one of its four items failed."""
    house.fresh().double.script(faults=[Fault(Kind.REFUSAL, contains="record number 3.")])
    batch = house.client.submit(Filter(criteria="Is this about people?"), abstracts(4), use_cache=False)
    batch.wait(timeout=60)
    return batch


def document(done: Finished, code: int = 0) -> Any:
    assert done.code == code, done.err
    assert done.out.count("\n") == 1, done.out
    return json.loads(done.out)


@pytest.mark.parametrize(
    "arguments",
    [
        ("screen", "records.jsonl", "--criteria", "criteria.yaml"),
        ("filter", "records.jsonl", "--criteria", "Is it?"),
        ("score", "records.jsonl", "--criteria", "Rate it"),
        ("extract", "records.jsonl", "--instruction", "What is it?"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_submits_tells_the_finished_batch_and_its_summary(run: Run, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    told = document(done)
    assert (told["state"], told["n_items"], told["decided"]) == ("completed", 4, 4)
    assert told["summary"]["counts"]["decided"] == 4
    assert told["id"] in done.err  # what people are told meanwhile


def test_a_single_answer_is_in_the_document(run: Run) -> None:
    told = document(
        run("answer", "--instruct", "What?", "--format", "a word", "--criteria", "right", "--threshold", "0")
    )
    assert told["answer"]


def test_detached_the_batch_is_told_at_once_and_a_dry_run_tells_what_it_would_take(run: Run) -> None:
    submitted = ("filter", "records.jsonl", "--criteria", "Is it?")
    assert document(run(*submitted, "--detach"))["n_items"] == 4
    other = ("filter", "records.jsonl", "--criteria", "Is it large?")  # a question without answers in the cache
    told = document(run(*other, "--dry-run"))
    assert (told["dry_run"], told["items"], len(told["samples"])) == (True, 4, 3)
    assert told["samples"][0]["messages"][0]["role"] == "system"


def test_a_judgement_is_told_as_a_batch_of_its_own(run: Run, batch: Batch) -> None:
    judging = ("judge", batch.id, "--guidelines", "guidelines.txt")
    told = document(run(*judging, "--dry-run"))
    assert (told["dry_run"], told["items"]) == (True, 3)
    done = run(*judging)
    told = document(done)
    assert (told["operation"], told["label"], told["decided"]) == ("judge", f"judgement of {batch.id}", 3)
    assert "3 results, 1 without reasoning" in done.err


def test_a_failed_item_is_exit_code_1_with_the_document_all_the_same(run: Run, house: House) -> None:
    house.double.script(faults=[Fault(Kind.REFUSAL, contains="record number 1.")])
    told = document(run("filter", "records.jsonl", "--criteria", "Is it?"), code=1)
    assert (told["decided"], told["failed"]) == (3, 1)


def test_an_error_leaves_standard_output_empty(house: House, tmp_path: Path) -> None:
    done = tamis("status", "00000000", "--json", env=house.environment, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "`tamis batches`" in done.err


def test_every_reading_of_a_batch_is_a_document(run: Run, batch: Batch, tmp_path: Path) -> None:
    assert document(run("status", batch.id))["failed"] == 1
    assert batch.id in [one["id"] for one in document(run("batches", "--limit", "50"))]
    assert document(run("failures", batch.id))["id"] == batch.id
    assert json.loads(run("report", batch.id).out)["id"] == batch.id
    assert document(run("agreement", batch.id))["id"] == batch.id
    assert document(run("stop", batch.id))["batch_id"] == batch.id
    drawn = document(run("stop", batch.id, "--draw", "-o", "sample.csv"))
    assert (drawn["written_to"], drawn["samples"][0]["population"]) == ("sample.csv", 4)
    assert document(run("stop", batch.id, "--close"))["samples"][0]["closed_at"]
    assert document(run("explain", batch.id, "1"))["batch"]["id"] == batch.id
    assert document(run("export", batch.id, "-o", "back.jsonl")) == {
        "batch": batch.id,
        "records": 4,
        "written_to": "back.jsonl",
        "dropped": {},
    }
    lines = run("results", batch.id).out.splitlines()
    assert [json.loads(line)["index"] for line in lines] == [0, 1, 2, 3]
    assert (tmp_path / "back.jsonl").exists()


def test_what_changes_a_batch_tells_how_it_stands_afterwards(
    run: Run, batch: Batch, house: House, tmp_path: Path
) -> None:
    house.double.reset()
    told = document(run("retry", batch.id, "--watch"))
    assert (told["retried"], told["failed"], told["round"]) == (1, 0, 2)
    overridden = document(run("override", batch.id, "1", "include", "--reviewer", "Reviewer A"))
    assert [one["index"] for one in overridden["decisions"]] == [0]
    refused = tamis("pause", batch.id, "--json", env=house.environment, cwd=tmp_path)
    assert (refused.code, refused.out) == (2, "")
    assert f"`tamis status {batch.id}`" in refused.err


def test_what_failed_anywhere_is_retried_without_a_question_where_nobody_sits_at_a_terminal(
    run: Run, batch: Batch, house: House
) -> None:
    house.double.reset()
    each = {one["id"]: one for one in document(run("retry", "--all-failed"))}
    assert each[batch.id] == {"id": batch.id, "retried": 1, "refused": None}
    assert batch.wait(timeout=60).failed == 0
    assert document(run("retry", "--all-failed")) == []


def test_pause_priority_resume_and_cancel_each_tell_the_batch(run: Run, house: House) -> None:
    house.double.script(latency=2.0)
    batch = house.client.submit(Filter(criteria="Is it slow?"), abstracts(40), use_cache=False)
    assert document(run("pause", batch.id))["state"] == "paused"
    assert document(run("priority", batch.id, "high"))["priority"] == "high"
    assert document(run("resume", batch.id))["state"] == "running"
    assert document(run("cancel", batch.id))["state"] == "cancelled"


def test_a_review_is_told_stage_by_stage(run: Run) -> None:
    rehearsed = document(run("review", "run", "plan.yaml", "--dry-run"))
    assert [stage["stage"] for stage in rehearsed["stages"]] == ["filter"]
    told = document(run("review", "run", "plan.yaml"))
    assert (told["state"], len(told["stages"])) == ("completed", 1)
    assert document(run("review", "status", told["id"]))["id"] == told["id"]
    assert told["id"] in [one["id"] for one in document(run("review", "list"))]


def test_audits_are_told_with_their_verdicts(run: Run, house: House) -> None:
    no = {"reasoning": "it is not", "value": False, "confidence": 0.9}
    house.double.script(answers=[Scripted("Seven", no)])
    excluding = house.client.submit(Filter(criteria="Is it 7?"), [{"id": "7", "title": "Seven"}], use_cache=False)
    excluding.wait(timeout=60)
    drawn = document(run("audit", "draw", excluding.id, "--n", "1", "-o", "audit.csv"))
    assert drawn["written_to"] == "audit.csv"
    assert document(run("audit", "show", drawn["id"]))["verdict"]["decided"] == 0
    assert [one["id"] for one in document(run("audit", "list", excluding.id))] == [drawn["id"]]


def test_keys_are_told_once_whole_and_then_without_their_secrets(run: Run) -> None:
    made = document(run("keys", "create", "Reviewer A"))
    assert made["key"].startswith("tamis_")
    (listed,) = [one for one in document(run("keys", "list")) if one["id"] == made["key"].split("_")[1]]
    assert (listed["label"], listed["scopes"]) == ("Reviewer A", ["read"])
    assert made["key"].split("_", 2)[2] not in json.dumps(listed)
    assert document(run("keys", "revoke", listed["id"])) == {"id": listed["id"], "revoked": True}


def test_webhooks_are_told_with_what_became_of_them(run: Run) -> None:
    tried = document(run("webhooks", "test", "https://hooks.example/tamis"), code=1)
    assert (tried["state"], tried["last_said"]) == ("waiting", "not sent: the workers have no TAMIS_WEBHOOK_SECRET")
    assert [one["id"] for one in document(run("webhooks", "list"))] == [tried["id"]]
    assert [one["tries"] for one in document(run("webhooks", "replay", tried["id"]))] == [0]
    made = document(run("keys", "create", "Reviewer A"))["key"].split("_")[1]
    assert document(run("webhooks", "key", made)) == {"id": made, "callback": None}


def test_what_needs_no_batch_is_told_too(run: Run) -> None:
    checked = document(run("criteria", "check", "criteria.yaml"))
    assert [one["label"] for one in checked["labelled"]] == ["I1"]
    assert document(run("initial-filter", "records.jsonl", "--criteria", "criteria.yaml"))["records"] == 4
    assert document(run("duplicates", "records.jsonl"))["records"] == 4
    assert document(run("migrate"))["revision"]
    assert len(document(run("workers"))) == 1
    assert {"workers", "open_batches"} == set(document(run("status")))
