"""The programs and statements that documents show, run as they stand there: README.md, docs/screening.md,
docs/webhooks.md, docs/evidence.md, docs/how-to/enqueue-from-a-service.md and
docs/how-to/retry-failed-items.md; and docs/tutorial.md, followed command by command.
"""

import asyncio
import csv
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from llm_double import Scripted
from stage import House
from stage.command import Finished, tamis
from stage.documents import Block, blocks
from tamis_review import InitialFilter
from tamis_review.filter import patterns
from tamis_schemas import Filter, PaperData, SearchCriteria

ENDS_WITHIN = 120.0  # s
SECRET = "whsec_" + "c2VjcmV0IG9mIGEgdGVzdA=="
PAPER = {"title": "A simulation study of home exercise", "abstract": "We simulated adults.", "year": 2020}
BEFORE = """
from tamis_producer import InclusionEvaluator
from tamis_schemas import PaperData, SearchCriteria
criteria = SearchCriteria(research_question="Does it help?", inclusion_criteria=["Adults"])
paper = PaperData(title="Home exercise", abstract="Adults were randomised.")
papers = [paper, paper]
"""
AFTER = "print(decision.status, [decided_paper == paper for decided_paper, _ in decided])\n"


Run = Callable[..., str]
TUTORIAL = [block for block in blocks() if block.document == "docs/tutorial.md"]
# Installing, and what runs until it is stopped: .ci/run and tests/acceptance/test_stack.py run these.
NOT_HERE = {("demo",), ("up",), ("--version",)}


def programs(document: str) -> list[Block]:
    found = [block for block in blocks() if block.document == document and block.language == "python"]
    assert found, document
    return found


@pytest.fixture
def run(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a program as it stands there, against the servers of the house; what it printed."""
    for name, value in house.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def run(program: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["program.py", *arguments])
        capsys.readouterr()
        exec(compile(program, "program.py", "exec"), {"__name__": "__main__"})  # noqa: S102 - the document's own words
        return capsys.readouterr().out

    return run


def alone(house: House, program: str, folder: Path) -> str:
    """The same in a process of its own, of a program that leaves a client open."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=os.environ | house.environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_program_of_the_readme(run: Run) -> None:
    (program,) = programs("README.md")
    assert "n_items=1" in run(program.text)


def test_a_service_enqueues_collects_and_asks(house: House, run: Run, tmp_path: Path) -> None:
    enqueue, collect, ask = programs("docs/how-to/enqueue-from-a-service.md")
    assert [enqueue.title, collect.title, ask.title] == ["enqueue.py", "collect.py", "ask.py"]
    batch = run(enqueue.text).strip()
    assert run(enqueue.text).strip() == batch  # one idempotency key makes one batch
    decided = [line.split() for line in run(collect.text, batch).splitlines()]
    assert [line[0] for line in decided] == ["a1", "a2"]
    assert {line[1] for line in decided} <= {"True", "False"}
    assert alone(house, ask.text, tmp_path).split()[0] in {"True", "False"}


def test_a_program_retries_what_failed(house: House, run: Run) -> None:
    house.double.script(answers=[Scripted("wheat", {"nothing": "of use"})])
    items = [{"id": "r1", "title": "Melanoma"}, {"id": "r2", "title": "Winter wheat"}]
    batch = house.client.submit(Filter(criteria="Is this about retries?"), items)
    assert batch.wait(timeout=ENDS_WITHIN).failed == 1
    (program,) = programs("docs/how-to/retry-failed-items.md")
    said = run(program.text, batch.id).splitlines()
    assert said[0] == "1 items are asked about again"
    assert said[1].split()[:2] == ["r2", "invalid"]
    house.fresh()


def test_the_initial_filter_is_used_and_extended_from_python() -> None:
    use, extend, _ = programs("docs/screening.md")
    criteria = SearchCriteria(research_question="Does it help?", inclusion_criteria=["Adults"])

    names: dict[str, Any] = {name: list(getattr(patterns, name)) for name in _lists(extend)}
    assert len(names) == 3
    lengths = {name: len(there) for name, there in names.items()}
    exec(compile(extend.text, extend.place, "exec"), names)  # noqa: S102 - the document's own words
    assert {name: len(names[name]) - length for name, length in lengths.items()} == dict.fromkeys(lengths, 1)
    used = {"InitialFilter": InitialFilter, "criteria": criteria, "paper": PAPER, "papers": [PaperData(**PAPER)]}
    exec(compile(use.text, use.place, "exec"), used)  # noqa: S102
    assert not used["result"].passed
    assert used["batch"].pass_rate == 0


def _lists(block: Block) -> list[str]:
    return [line.split(".append(")[0] for line in block.text.splitlines()]


def test_papers_are_evaluated_from_python(run: Run) -> None:
    *_, program = programs("docs/screening.md")
    *_, last = run(BEFORE + program.text + AFTER).splitlines()
    assert last.endswith("[True, True]")


def test_a_receiver_verifies_a_webhook() -> None:
    (program,) = programs("docs/webhooks.md")
    (body,) = [block.text for block in blocks() if block.document == "docs/webhooks.md" and block.language == "json"]
    now = datetime.now(UTC)
    signed = Webhook(SECRET).sign("msg_1", now, body)
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signed}
    kept: dict[str, Any] = {}
    names: dict[str, Any] = {"remember": kept.__setitem__}
    exec(compile(program.text.replace("whsec_...", SECRET), program.place, "exec"), names)  # noqa: S102
    names["received"](body.encode(), headers)
    assert kept == {"msg_1": json.loads(body)}
    with pytest.raises(Exception, match="signature"):
        names["received"](body.replace("spring", "autumn").encode(), headers)


def test_the_evidence_judge_is_called_in_both_forms() -> None:
    from tamis_worker.operations import evidence_judge

    call, _ = programs("docs/evidence.md")

    class Client:
        def call_json(self, system_prompt: str, user_prompt: str, *, temperature: float) -> object:
            return {"evidence_type": "appropriate", "confidence": 0.9, "reasoning": "It says so."}

    functions = ("evaluate_evidence_quality", "evaluate_evidence_quality_async")
    names: dict[str, Any] = {name: getattr(evidence_judge, name) for name in functions}
    names |= {"classification": {"value": "x", "reasoning": "r"}, "text": "t", "guidelines": "g", "client": Client()}
    first, second = call.text.splitlines()
    exec(compile(f"{first}\nasync def both():\n    {second}\n    return evaluation", call.place, "exec"), names)  # noqa: S102
    assert asyncio.run(names["both"]()) == names["evaluation"]


def test_every_command_of_the_tutorial_does_what_the_page_says(house: House, tmp_path: Path) -> None:
    for block in TUTORIAL:
        if block.title:
            (tmp_path / block.title).write_text(block.text)
    commands = [
        words for block in TUTORIAL if block.language == "sh" for words in block.commands if words[0] == "tamis"
    ]
    batch = "ID"
    done: dict[str, Finished] = {}
    for _, *words in commands:
        if tuple(words[:1]) in NOT_HERE:
            continue
        ended = tamis(*(batch if word == "ID" else word for word in words), env=house.environment, cwd=tmp_path)
        done[shlex.join(words)] = ended
        nothing_failed = words[0] == "retry" and "no failed item" in ended.err
        assert ended.code == 0 or nothing_failed, (words, ended)
        if words[0] == "screen" and "--dry-run" not in words:
            (found,) = house.client.batches(limit=1)
            batch = found.id[:8]
            assert batch in ended.out + ended.err
    assert len(done) == len(commands) - len(NOT_HERE)
    screened = next(ended for words, ended in done.items() if words.endswith("criteria.yaml") and "screen" in words)
    assert "1 of 6 records removed as copies" in " ".join((screened.out + screened.err).split())
    with (tmp_path / "decisions.csv").open() as file:
        decided = {row["item_id"]: row for row in csv.DictReader(file)}
    assert set(decided) == {f"t{number}" for number in range(1, 7)}
    flow = (tmp_path / "flow.svg").read_text()
    assert "<svg" in flow
    assert "Records identified" in flow
    assert "Reviewer A" in (tmp_path / "report.html").read_text()
    with (tmp_path / "decided.csv").open() as file:
        (mine,) = [row for row in csv.DictReader(file) if row["id"] == "t5"]
    assert mine["tamis_decision"] == "include"
