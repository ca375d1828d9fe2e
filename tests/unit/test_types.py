"""What users write passes their type checkers: the snippets of the documents, and a batch's values by its operation."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "docs/python.md", "docs/panels.md", "docs/how-to/retry-failed-items.md")

# Of CPU mypy takes fifteen seconds without a cache, and Pyright four: beside the static checks (`make check`, .ci/run).
pytestmark = pytest.mark.night

# `assert_type` fails where a checker knows another type; the last three lines are wrong, and are said to be.
PROGRAM = """
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, assert_type

import polars

from tamis_producer import AIEvaluationService, AsyncClient, Batch, BatchView, Client
from tamis_schemas import (
    Counts, ErrorKind, EvaluationResult, ExtractFields, FieldsResult, Filter, Inclusion, Item, Operation, Panel, Score,
    Steering, Summary,
)


def blocking(client: Client, items: Sequence[Item], inclusion: Inclusion, fields: ExtractFields) -> list[bool | None]:
    for scored in client.submit(Score(criteria="How well?"), polars.DataFrame({"id": [1]})).results():
        assert_type(scored.value, float | None)
    assert_type(client.submit(inclusion, items), Batch[str])
    assert_type(client.submit(fields, items), Batch[dict[str, Any]])
    batch = client.submit(Filter(criteria="Is it?"), items)
    for row in batch.results():
        assert_type(row.value, bool | None)
        assert_type(row.final_value, bool | None)
        assert_type(row.error, str | None)
    return [row.value for row in batch.results()]


async def awaited(client: AsyncClient, operation: Operation, items: list[dict[str, Any]]) -> None:
    batch = await client.submit(Filter(criteria="Is it?"), items)
    async for row in batch.results():
        assert_type(row.value, bool | None)
    unknown: Batch = Client().submit(operation, items)
    summary = unknown.summary()
    assert_type(summary, Summary | None)
    assert_type(await batch.summary(), Summary | None)
    print(summary and summary.pass_rate, await client.batch(unknown.id))


async def single(service: AIEvaluationService, item: Item) -> None:
    assert_type(await service.filter(item, "Is it?"), EvaluationResult)
    assert_type(await service.extract_fields(item, {"type": "object", "properties": {}}, "Read."), FieldsResult)


def managed(client: Client, items: Sequence[Item]) -> int:
    panel = Panel(models=["a", "b"])
    batch = client.submit(Filter(criteria="Is it?"), items, panel=panel, steering=Steering(reasoning_effort="low"))
    assert_type(batch.wait(timeout=3), Counts)
    assert_type(client.batches(limit=3), list[BatchView])
    batch.pause()
    batch.resume(max_cost=Decimal(3))
    return batch.retry([ErrorKind.TIMEOUT], max_cost=Decimal(2))


def wrong(client: Client, items: Sequence[Item]) -> None:
    client.submit("Is it?", items)
    client.submit(Filter(criteria="Is it?"), 3)
    text: Batch[str] = client.submit(Filter(criteria="Is it?"), items)
"""
WRONG = [len(PROGRAM.splitlines()) - before for before in (2, 1, 0)]


def written(folder: Path) -> dict[str, list[int]]:
    """The programs, each in a file of its own; which lines of them are wrong."""
    wrong = {"program.py": WRONG}
    (folder / "program.py").write_text(PROGRAM, "utf-8")
    for document in DOCUMENTS:
        for number, block in enumerate(
            re.findall(r"```python[^\n]*\n(.*?)```", (ROOT / document).read_text("utf-8"), re.S)
        ):
            name = f"{Path(document).stem.lower()}_{number}.py"
            (folder / name).write_text(block, "utf-8")
            wrong[name] = []
    assert len(wrong) >= 5
    return wrong


def complaints(said: list[tuple[str, int, str]], files: dict[str, list[int]]) -> dict[str, list[int]]:
    """The lines of each file that are complained about; shown where a test fails."""
    lines: dict[str, list[int]] = {name: [] for name in files}
    for name, line, message in said:
        print(f"{name}:{line}: {message}")  # noqa: T201
        lines[name].append(line)
    return {name: sorted(set(found)) for name, found in lines.items()}


def test_mypy_in_its_strict_mode_finds_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    files = written(tmp_path)
    options = ["--strict", "--config-file=", "--show-error-codes", f"--cache-dir={ROOT / '.mypy_cache' / 'users'}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *files],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said = [
        (name, int(line), text) for name, line, text in re.findall(r"^(\S+?):(\d+): error: (.*)$", done.stdout, re.M)
    ]
    assert complaints(said, files) == files


def test_pyright_finds_the_same(tmp_path: Path) -> None:
    files = written(tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--level=error", f"--pythonpath={sys.executable}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said = [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
        for one in json.loads(done.stdout)["generalDiagnostics"]
    ]
    assert complaints(said, files) == files
