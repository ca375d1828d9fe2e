"""A worker process of the stack."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tamis_worker.liveness.watchdog import EXIT_STALLED, AliveFile

from .orphans import ChildrenFile
from .part import Part
from .process import Command

STOP_WITHIN = 30.0  # seconds for calls in flight to come back


class Worker(Part):
    """`python -m tamis_cli worker`; it does its work once it has made its ready file."""

    start_within: ClassVar[float] = 60.0
    title: ClassVar[str] = "a worker"

    def __init__(
        self,
        number: int,
        home: Path,
        environment: Mapping[str, str],
        children: ChildrenFile | None = None,
        *,
        stop_within: float = STOP_WITHIN,
    ) -> None:
        super().__init__(f"worker-{number}", children)
        self._ready = home / "ready" / self.name
        self._alive = home / "alive" / self.name
        self._log = home / "log" / f"{self.name}.log"
        self._environment = environment
        self._stop_within = stop_within

    def prepare(self) -> Command:
        self._ready.parent.mkdir(parents=True, exist_ok=True)
        self._alive.parent.mkdir(parents=True, exist_ok=True)
        for file in (self._ready, self._alive):
            file.unlink(missing_ok=True)
        return Command(
            name=self.name,
            argv=(
                *(sys.executable, "-m", "tamis_cli", "worker"),
                *("--ready-file", str(self._ready), "--alive-file", str(self._alive)),
            ),
            log=self._log,
            env=self._environment,
            stop_within=self._stop_within,
        )

    def how_it_ended(self) -> str:
        alive = AliveFile.read(self._alive) if self.process.returncode == EXIT_STALLED else None
        return (alive.stalled if alive else None) or super().how_it_ended()

    def healthy(self) -> bool:
        return self._ready.exists()
