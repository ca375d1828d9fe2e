"""A supervised child process: started, watched, stopped within a time limit, and never left behind.

`children.json` lists the children, so that the next supervisor can end any survivors. On Linux, the kernel usually ends
the children of a killed supervisor (see launch.py).
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from tamis_schemas import ConfigurationError
from tamis_schemas.shared_library import missing_library
from tamis_worker.liveness.watchdog import EXIT_STALLED

from . import launch

SLICE = 0.05  # seconds between two checks of `hurry`
LOG_LIMIT = 20_000_000  # bytes: at the next start, a longer log is renamed, and replaces the log renamed before
KILL_WITHIN = 10.0  # seconds for the kernel to end a killed process
SAME_START = 1.0  # seconds by which two readings of a start time may differ, if the clock was changed
GRACE = 10.0  # seconds for a left-over process to end after its stop signal


class ChildRecord(BaseModel):
    """The facts about a child process that are needed to recognise it and to end it."""

    model_config = ConfigDict(frozen=True)

    name: str
    pid: int
    create_time: float
    stop_signal: int

    def find(self) -> psutil.Process | None:
        """Return the process if it still runs; None if it has ended, even if another process has its pid now."""
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.create_time) < SAME_START
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        return None


_RECORDS = TypeAdapter(list[ChildRecord])


class ChildrenFile:
    """The list of a supervisor's child processes, written to the file `path` at every change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: dict[int, ChildRecord] = {}
        self._lock = threading.Lock()  # several threads start and stop parts

    def add(self, name: str, pid: int, stop_signal: int) -> None:
        """Record a child that has just started. Skip a child that has ended already."""
        with suppress(psutil.NoSuchProcess), self._lock:
            create_time = psutil.Process(pid).create_time()
            self._records[pid] = ChildRecord(name=name, pid=pid, create_time=create_time, stop_signal=stop_signal)
            self._write()

    def remove(self, pid: int) -> None:
        """Remove the record of a child that has ended."""
        with self._lock:
            if self._records.pop(pid, None) is not None:
                self._write()

    def end_survivors(self, grace: float = GRACE) -> list[str]:
        """End the processes that an earlier supervisor left, remove the file, and return the processes' names.

        Each process first gets its own stop signal. A process that runs `grace` seconds later is killed.
        """
        survivors = {record: process for record in self._read() if (process := record.find())}
        for record, process in survivors.items():
            with suppress(psutil.NoSuchProcess):  # it has ended already
                process.send_signal(record.stop_signal)
        _, stubborn = psutil.wait_procs(list(survivors.values()), timeout=grace)
        for process in stubborn:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(stubborn, timeout=grace)
        self.path.unlink(missing_ok=True)
        return [record.name for record in survivors]

    def _read(self) -> list[ChildRecord]:
        with suppress(FileNotFoundError, ValidationError):  # a damaged file names no process that is safe to end
            return _RECORDS.validate_json(self.path.read_bytes())
        return []

    def _write(self) -> None:
        draft = self.path.with_suffix(".draft")
        draft.write_bytes(_RECORDS.dump_json(list(self._records.values()), indent=2))
        draft.replace(self.path)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A program to run, with its arguments, its log and environment, and the signals that end it."""

    name: str
    argv: tuple[str, ...]  # program by its full path, then arguments
    log: Path  # gets both output streams, appended
    env: Mapping[str, str]
    user: str | None = None  # system user to run as; None: the present user
    stop_signal: signal.Signals = signal.SIGTERM
    stop_within: float = 15.0  # seconds from the stop signal to SIGKILL; the gateway gives its requests 10 s
    death_signal: signal.Signals = signal.SIGKILL  # sent by the kernel when the thread that started it ends (Linux)


class Process:
    """A running child in its own session, so that a terminal's Ctrl-C reaches only the supervisor.

    On Linux, the kernel ends a child when the *thread* that started it ends, so this thread must outlive the child.
    """

    def __init__(self, command: Command, children: ChildrenFile | None = None) -> None:
        self.command = command
        self._children = children
        command.log.parent.mkdir(parents=True, exist_ok=True)
        if command.log.exists() and command.log.stat().st_size > LOG_LIMIT:
            command.log.replace(command.log.with_suffix(command.log.suffix + ".1"))
        self._log_start = command.log.stat().st_size if command.log.exists() else 0
        try:
            with command.log.open("ab") as log:
                self._popen = subprocess.Popen(
                    [*launcher(command.death_signal, command.user), *command.argv],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=dict(command.env),
                    start_new_session=True,
                )
        except OSError as error:
            raise ConfigurationError(f"{command.name} cannot be started: {error}") from error
        self.started_at = time.monotonic()
        self._asked_at: float | None = None
        if children is not None:
            children.add(command.name, self.pid, command.stop_signal)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        return not self.wait(0)

    @property
    def returncode(self) -> int | None:
        """Return the exit status: None while the process runs, minus the signal's number if a signal ended it."""
        return self._popen.returncode

    def wait(self, timeout: float) -> bool:
        """Return True as soon as the process has ended, False if it still runs after `timeout` seconds."""
        try:
            self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        if self._children is not None:
            self._children.remove(self.pid)
        return True

    def ask_to_stop(self) -> None:
        """Send the stop signal without waiting.

        Later calls send nothing, because some servers take a second signal as a forced stop.
        """
        if self._asked_at is None:
            self._asked_at = time.monotonic()
            if not self.wait(0):  # the child is not reaped, so no other process has its pid
                self._popen.send_signal(self.command.stop_signal)

    def stop(self, hurry: threading.Event | None = None) -> bool:
        """Stop the process, and wait for its end. Return False if it had to be killed: too slow, or `hurry` was set."""
        self.ask_to_stop()
        deadline = (self._asked_at or time.monotonic()) + self.command.stop_within
        while not (hurry is not None and hurry.is_set()) and time.monotonic() < deadline:
            if self.wait(SLICE):
                return True
        if self.wait(0):
            return True
        self.kill()
        return False

    def kill(self) -> None:
        """End the process and its process group by SIGKILL, and wait for the end, at most `KILL_WITHIN` seconds."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # gone already; the code below waits for it
        except PermissionError:
            self._popen.kill()  # the process has no session and group of its own yet
        self.wait(KILL_WITHIN)

    def tail(self, lines: int = 12) -> str:
        """Return the last lines (at most `lines`) that the process wrote to its log since its start."""
        with self.command.log.open("rb") as log:
            log.seek(self._log_start)
            text = log.read().decode("utf-8", "replace")
        return "\n".join(text.strip().splitlines()[-lines:])


def launcher(death_signal: signal.Signals = signal.SIGKILL, user: str | None = None) -> tuple[str, ...]:
    """Return the words to put before a command. On Linux, the kernel then ends the command when this process ends.

    `death_signal`: the signal that the kernel sends. `user`: the system user that runs the command; None: the present
    user.
    """
    words = (sys.executable, "-I", "-S", str(Path(launch.__file__)))
    return (*words, str(os.getpid()), str(int(death_signal)), user or "")


def how_it_ended(returncode: int) -> str:
    """Return in words how a process ended. A negative `returncode` is minus the number of a signal."""
    if returncode == EXIT_STALLED:
        return f"made no progress and ended itself with status {EXIT_STALLED}"
    if returncode >= 0:
        return f"ended with status {returncode}"
    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"


def why_not_run(written: str, returncode: int) -> str:
    """Return why a program ended at once: a missing library, else the last line of `written`, else its exit status."""
    lines = written.strip().splitlines()
    return missing_library(written) or (lines[-1] if lines else f"it {how_it_ended(returncode)}")


def server_environment() -> dict[str, str]:
    """Return the environment variables that servers inherit: paths and the time zone, but no keys and no settings."""
    kept = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "TMPDIR", "TZ")
    return {name: os.environ[name] for name in kept if name in os.environ}


def ask_program(*command: str, within: float) -> subprocess.CompletedProcess[str]:
    """Run a program, and return its output and exit status.

    Raise `OSError` if the program cannot be run, and `TimeoutExpired` if it runs for `within` seconds.
    """
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=within,
        env=server_environment(),
        check=False,
    )
