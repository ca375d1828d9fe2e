"""A real worker in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .waiting import wait_until

READY_WITHIN = 40.0  # s
STOP_WITHIN = 40.0  # s


class WorkerProcess:
    """`tamis worker`, started with the given environment and waited for until it consumes."""

    def __init__(self, folder: Path, name: str, env: Mapping[str, str]) -> None:
        self.log = folder / f"{name}.log"
        ready = folder / f"{name}.ready"
        self.alive_file = folder / f"{name}.alive"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tamis_worker", "worker"),
                    *("--ready-file", str(ready), "--alive-file", str(self.alive_file)),
                ],
                env={**os.environ, **env},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(
            lambda: ready.exists() or self.process.poll() is not None,
            within=READY_WITHIN,
            what=f"worker {name} is ready; its log: {self.text()[-2000:]}",
        )
        assert self.process.poll() is None, f"worker {name} ended at its start: {self.text()[-3000:]}"

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
            self.process.kill()
            self.process.wait(STOP_WITHIN)
            raise
