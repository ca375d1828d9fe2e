"""A running `tamis up`."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tamis_producer.config.stack_file import StackFile

from .proven_dialect import prove_dialect
from .waiting import wait_until

UP_WITHIN = 180.0  # s; the first time a model may be fetched
DOWN_WITHIN = 60.0  # s


@dataclass(frozen=True)
class RunningStack:
    """The process of `tamis up`, its folder, where it listens, and what it said up to now."""

    process: "subprocess.Popen[bytes]"
    folder: Path
    stack: StackFile
    log: Path

    def children(self) -> list[psutil.Process]:
        """Every process that it started, and that those started."""
        return psutil.Process(self.process.pid).children(recursive=True)


@contextmanager
def on_one_core() -> Iterator[None]:
    """What is started meanwhile computes on one core.

    The small model then has one thread. Several wait for each other at each step, and burn their cores where others
    want them, too: beside other tests that was four fifths of what a question to it took.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(cores)[os.getpid() % len(cores)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextmanager
def running_stack(folder: Path, *options: str, **env: str) -> Iterator[RunningStack]:
    """`tamis up` with the given options in a folder, where it is up; SIGTERM at the end, and kill -9 after a minute.

    Of the environment it sees nothing that names an LLM but what is given here.
    """
    usual = {name: value for name, value in os.environ.items() if not name.startswith(("TAMIS_LLM", "OPENAI_"))}
    log = folder / "up.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "tamis_cli", "up", *options],
            cwd=folder,
            env=usual | env,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
    try:
        wait_until(
            lambda: StackFile.read(folder / ".tamis") is not None or process.poll() is not None,
            within=UP_WITHIN,
            what="the stack is up",
        )
        stack = StackFile.read(folder / ".tamis")
        assert stack is not None, log.read_text("utf-8")
        prove_dialect(env | {"TAMIS_DATABASE_URL": stack.database_url})
        yield RunningStack(process, folder, stack, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(DOWN_WITHIN)
        finally:
            process.kill()
            process.wait()
