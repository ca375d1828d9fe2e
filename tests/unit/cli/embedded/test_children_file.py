"""The record of what a supervisor has started."""

import os
from pathlib import Path

import psutil
import pytest

from tamis_cli.embedded.process import ChildRecord, ChildrenFile

ME = os.getpid()
MY_START = psutil.Process(ME).create_time()


def record(pid: int, create_time: float) -> ChildRecord:
    return ChildRecord(name="part", pid=pid, create_time=create_time, stop_signal=15)


def test_a_process_is_recognised_by_pid_and_start_time() -> None:
    found = record(ME, MY_START).find()
    assert found is not None
    assert found.pid == ME


@pytest.mark.parametrize("off", [-3600.0, -2.0, 2.0, 3600.0])
def test_another_process_with_the_same_pid_is_left_alone(off: float) -> None:
    assert record(ME, MY_START + off).find() is None


def test_a_pid_that_nobody_has_is_nobody() -> None:
    assert record(2**22 + 1, MY_START).find() is None


def test_the_file_holds_what_runs_and_forgets_what_ended(tmp_path: Path) -> None:
    path = tmp_path / "children.json"
    children = ChildrenFile(path)
    children.add("me", ME, 15)
    children.add("parent", os.getppid(), 2)
    assert '"me"' in path.read_text()
    children.remove(ME)
    assert '"me"' not in path.read_text()
    assert '"parent"' in path.read_text()


@pytest.mark.parametrize("content", [None, "", "{", '[{"pid": "x"}]', "[]"])
def test_without_a_readable_file_nothing_is_ended(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "children.json"
    if content is not None:
        path.write_text(content)
    assert ChildrenFile(path).end_survivors() == []
    assert not path.exists()


def test_a_recorded_pid_that_was_given_to_another_process_is_not_ended(tmp_path: Path) -> None:
    path = tmp_path / "children.json"
    # This very process under an older start time: were it signalled, this test would not return.
    path.write_text(f"[{record(ME, MY_START - 100).model_dump_json()}]")
    assert ChildrenFile(path).end_survivors() == []
