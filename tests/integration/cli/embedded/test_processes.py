"""Supervised children: how they start, end, and never stay behind."""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import psutil
import pytest

from tamis_cli.embedded.part import Part
from tamis_cli.embedded.process import ChildrenFile, Command, Process, server_environment
from tamis_cli.embedded.watch import Watch
from tamis_schemas import OperationFailed

# Ends on the signal that it is told to heed; says so once it does.
WAITER = """
import signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN if "stubborn" in sys.argv else lambda *_: sys.exit(0))
print("waiting", flush=True)
while True:
    signal.pause()
"""


class Waiter(Part):
    """A part that does nothing, well."""

    start_within: ClassVar[float] = 20.0

    def __init__(self, folder: Path, *words: str, stop_within: float = 10.0) -> None:
        super().__init__("waiter", folder / "log" / "waiter.log", children=ChildrenFile(folder / "children.json"))
        self._command = replace(self.command(sys.executable, "-c", WAITER, *words), stop_within=stop_within)

    def prepare(self) -> Command:
        return self._command

    def healthy(self) -> bool:
        return "waiting" in self.process.tail()


def test_a_child_is_recorded_while_it_runs(tmp_path: Path) -> None:
    record = tmp_path / "children.json"
    with Waiter(tmp_path) as waiter:
        assert [(one["name"], one["pid"]) for one in json.loads(record.read_text())] == [("waiter", waiter.process.pid)]
    assert json.loads(record.read_text()) == []


def test_a_child_is_in_a_session_of_its_own_so_that_ctrl_c_does_not_reach_it(tmp_path: Path) -> None:
    with Waiter(tmp_path) as waiter:
        assert os.getsid(waiter.process.pid) == waiter.process.pid


def test_a_child_that_heeds_its_signal_is_not_killed(tmp_path: Path) -> None:
    waiter = Waiter(tmp_path)
    waiter.start()
    assert waiter.stop()
    assert waiter.process.returncode == 0


def test_a_child_that_does_not_stop_in_time_is_killed(tmp_path: Path) -> None:
    waiter = Waiter(tmp_path, "stubborn", stop_within=0.2)
    waiter.start()
    assert not waiter.stop()
    assert waiter.process.returncode == -signal.SIGKILL


def test_a_hurried_stop_waits_for_nobody(tmp_path: Path) -> None:
    hurry = threading.Event()
    hurry.set()
    waiter = Waiter(tmp_path, "stubborn", stop_within=3600.0)
    waiter.start()
    assert not waiter.stop(hurry)


def test_a_program_that_cannot_be_run_is_an_error_naming_it(tmp_path: Path) -> None:
    waiter = Waiter(tmp_path)
    waiter._command = Command(
        name="waiter", argv=("/nowhere/at-all",), log=tmp_path / "waiter.log", env=server_environment()
    )
    with pytest.raises(OperationFailed, match=r"/nowhere/at-all cannot be run"):
        waiter.start()


def test_a_broken_pipe_ends_a_child_as_it_would_in_a_shell(tmp_path: Path) -> None:
    command = Command(
        name="shell", argv=("/bin/sh", "-c", "kill -PIPE $$; echo still here"), log=tmp_path / "log", env={}
    )
    process = Process(command)
    assert process.wait(10)
    assert process.returncode == -signal.SIGPIPE


SUPERVISOR = """
import sys, threading
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_processes import Waiter
waiter = Waiter(Path(sys.argv[1]), "stubborn")
waiter.start()
print(waiter.process.pid, flush=True)
threading.Event().wait()
"""


@pytest.mark.night
def test_a_killed_supervisor_takes_its_children_along(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, str(tmp_path), str(Path(__file__).parent)], stdout=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stdout is not None
        child = psutil.Process(int(supervisor.stdout.readline()))
        supervisor.kill()
    _, alive = psutil.wait_procs([child], timeout=10)
    assert alive == []


def test_what_a_dead_supervisor_left_running_is_ended_by_the_next(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WAITER, "stubborn"], stdout=subprocess.PIPE) as orphan:
        assert orphan.stdout is not None
        orphan.stdout.readline()
        ChildrenFile(tmp_path / "children.json").add("orphan", orphan.pid, signal.SIGTERM)
        assert ChildrenFile(tmp_path / "children.json").end_survivors(grace=0.2) == ["orphan"]
        assert not psutil.pid_exists(orphan.pid)
    assert not (tmp_path / "children.json").exists()


def test_a_part_that_ends_by_itself_is_started_again_after_a_growing_delay(tmp_path: Path) -> None:
    said: list[str] = []
    with Waiter(tmp_path) as waiter:
        watch = Watch([waiter], said.append)
        first = waiter.process
        now = first.started_at
        watch.look(now)
        assert said == []

        first.kill()
        watch.look(now)  # planned for 0.5 s later
        watch.look(now + 0.4)
        assert waiter.process is first
        watch.look(now + 0.6)
        assert waiter.process is not first
        waiter.wait_until_healthy()
        watch.look(now + 0.7)
        assert said == [
            f"waiter was ended by SIGKILL; it restarts in 0.5 s (log: {first.command.log})",
            "waiter works again",
        ]

        second = waiter.process
        second.kill()
        watch.look(now + 0.8)  # the second end in a row: planned for 1 s later
        watch.look(now + 1.7)
        assert waiter.process is second
        watch.look(now + 1.9)
        assert waiter.process is not second


def test_a_watch_that_has_ended_starts_nothing(tmp_path: Path) -> None:
    with Waiter(tmp_path) as waiter:
        watch = Watch([waiter], lambda line: None)
        watch.start()
        watch.end()
        waiter.process.kill()
        watch.release()
        assert not waiter.process.running


def test_a_long_log_is_put_aside(tmp_path: Path) -> None:
    log = tmp_path / "waiter.log"
    with log.open("wb") as file:
        file.truncate(20_000_001)
    process = Process(Command(name="echo", argv=("/bin/echo", "new"), log=log, env={}))
    assert process.wait(10)
    assert log.read_text() == "new\n"
    assert (tmp_path / "waiter.log.1").stat().st_size == 20_000_001


def test_an_error_quotes_only_what_this_start_has_written(tmp_path: Path) -> None:
    log = tmp_path / "echo.log"
    log.write_text("of last week\n")
    process = Process(Command(name="echo", argv=("/bin/echo", "new"), log=log, env={}))
    assert process.wait(10)
    assert process.tail() == "new"
