"""The `celery` command with Tamis's application, run as a process."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .waiting import wait_until

APP = "tamis_worker.celery"
READY = " is ready: "
READY_WITHIN = 40.0  # s
STOP_WITHIN = 40.0  # s


def celery(
    *arguments: str, env: Mapping[str, str], cwd: Path, app: str = APP, within: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """Run `celery -A tamis_worker.celery` with these arguments to its end."""
    return subprocess.run(
        [sys.executable, "-m", "celery", "-A", app, *arguments],
        env={**os.environ, **env, "NO_COLOR": "1", "COLUMNS": "160"},
        cwd=cwd,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=within,
        check=False,
    )


class CeleryWorker:
    """`celery -A tamis_worker.celery worker`, waited for until it consumes; killed at the end of its context."""

    def __init__(self, folder: Path, env: Mapping[str, str], *options: str) -> None:
        self.log = folder / "celery-worker.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", APP, "worker", *options],
                env={**os.environ, **env},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(
            lambda: READY in self.text() or self.process.poll() is not None,
            within=READY_WITHIN,
            what=f"the worker is ready: {self.text()[-2000:]}",
        )
        assert self.process.poll() is None, self.text()[-4000:]

    def text(self) -> str:
        """Its log so far."""
        return self.log.read_text("utf-8", "replace")

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_WITHIN)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait(STOP_WITHIN)
