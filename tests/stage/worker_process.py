"""A real worker in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from nursery import Child, shared

from .proven_dialect import prove_dialect
from .waiting import wait_until

READY_WITHIN = 40.0  # s
STOP_WITHIN = 40.0  # s
STACKS_WITHIN = 2.0  # s


class WorkerProcess:
    """`tamis worker`, started with the given environment and waited for until it consumes.

    `network`: the network namespace in which it runs. `finds_out`: how the model wants to be asked is left to the
    worker, which makes one call at a time until it knows.
    """

    def __init__(
        self, folder: Path, name: str, env: Mapping[str, str], *, network: str | None = None, finds_out: bool = False
    ) -> None:
        if not finds_out:
            prove_dialect({**os.environ, **env})
        self.log = folder / f"{name}.log"
        ready = folder / f"{name}.ready"
        self.alive_file = folder / f"{name}.alive"
        command = ["worker", "--ready-file", str(ready), "--alive-file", str(self.alive_file)]
        environment = {**os.environ, **env}
        with self.log.open("ab") as log:
            if network is not None or shared().serves(environment):
                self.process: Popen[bytes] | Child = shared().start(
                    "tamis_cli", command, env=environment, cwd=folder, stdout=log, stderr=log, network=network
                )
            else:
                self.process = Popen(
                    [sys.executable, "-m", "tamis_cli", *command],
                    env=environment,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
        wait_until(
            lambda: ready.exists() or self.process.poll() is not None,
            within=READY_WITHIN,
            what=f"worker {name} is ready; its log: {self.tail()}",
        )
        self.check()

    def text(self) -> str:
        """Its log so far."""
        return self.log.read_text("utf-8", "replace")

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait(STOP_WITHIN)

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGUSR1)  # Celery says where its threads stand
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(STACKS_WITHIN)
            self.kill()
            raise AssertionError(f"the worker did not stop in {STOP_WITHIN:g} s; its log: {self.tail()}") from None

    def check(self) -> None:
        """Fail the test where it is not the process any more that it was at its start."""
        ended = self.process.poll()
        assert ended is None, f"the worker ended with exit code {ended}; its log: {self.tail()}"

    def tail(self) -> str:
        """The end of its log."""
        return self.text()[-6_000:]
