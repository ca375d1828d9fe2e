"""The programs and statements that documents show, run as they stand there: README.md, docs/screening.md,
docs/webhooks.md, docs/evidence.md, docs/operations.md, docs/how-to/enqueue-from-a-service.md and
docs/how-to/retry-failed-items.md.
"""

import asyncio
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from standardwebhooks import Webhook

from llm_double import Scripted
from stage import House
from stage.documents import Block, blocks
from tamis_producer import InitialFilter
from tamis_producer.screening import patterns
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


def programs(document: str) -> list[Block]:
    found = [block for block in blocks() if block.document == document and block.language == "python"]
    assert found, document
    return found


def run(house: House, program: str, folder: Path, *arguments: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        env=os.environ | house.environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_program_of_the_readme(house: House, tmp_path: Path) -> None:
    (program,) = programs("README.md")
    assert "n_items=1" in run(house, program.text, tmp_path)


def test_a_service_enqueues_collects_and_asks(house: House, tmp_path: Path) -> None:
    enqueue, collect, ask = programs("docs/how-to/enqueue-from-a-service.md")
    assert [enqueue.title, collect.title, ask.title] == ["enqueue.py", "collect.py", "ask.py"]
    batch = run(house, enqueue.text, tmp_path).strip()
    assert run(house, enqueue.text, tmp_path).strip() == batch  # one idempotency key makes one batch
    decided = [line.split() for line in run(house, collect.text, tmp_path, batch).splitlines()]
    assert [line[0] for line in decided] == ["a1", "a2"]
    assert {line[1] for line in decided} <= {"True", "False"}
    assert run(house, ask.text, tmp_path).split()[0] in {"True", "False"}


def test_a_program_retries_what_failed(house: House, tmp_path: Path) -> None:
    house.double.script(answers=[Scripted("wheat", {"nothing": "of use"})])
    items = [{"id": "r1", "title": "Melanoma"}, {"id": "r2", "title": "Winter wheat"}]
    batch = house.client.submit(Filter(criteria="Is this about retries?"), items)
    assert batch.wait(timeout=ENDS_WITHIN).failed == 1
    (program,) = programs("docs/how-to/retry-failed-items.md")
    said = run(house, program.text, tmp_path, batch.id).splitlines()
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


def test_papers_are_evaluated_from_python(house: House, tmp_path: Path) -> None:
    *_, program = programs("docs/screening.md")
    *_, last = run(house, BEFORE + program.text + AFTER, tmp_path).splitlines()
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


def test_the_statement_about_transcripts_is_one_of_the_ledger(house: House) -> None:
    (statement,) = [block for block in blocks() if block.document == "docs/operations.md" and block.language == "sql"]
    with house.client.engine.connect() as connection:
        assert len(connection.execute(text(statement.text)).one()) == 3
