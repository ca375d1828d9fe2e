"""docs/tutorial.md, followed command by command; only the stack is this test's, and the model a double."""

import csv
import shlex
from pathlib import Path

from stage import House
from stage.command import Finished, tamis
from stage.documents import blocks

TUTORIAL = [block for block in blocks() if block.document == "docs/tutorial.md"]
# Installing, and what runs until it is stopped: .ci/run and tests/acceptance/test_stack.py run these.
NOT_HERE = {("demo",), ("up",), ("--version",)}


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
    assert "1 of 6 records kept out as copies" in " ".join((screened.out + screened.err).split())
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
