"""A number of workers that is kept up while some of them are killed."""

from collections.abc import Mapping
from pathlib import Path

from .worker_process import WorkerProcess


class Crew:
    """`size` workers; whoever is killed is replaced, as a supervisor would. Stopped by kill at the end."""

    def __init__(self, folder: Path, environment: Mapping[str, str], size: int) -> None:
        self._folder = folder
        self._environment = environment
        self._started = 0
        self.workers: list[WorkerProcess] = []
        for _ in range(size):
            self.add()

    def add(self) -> WorkerProcess:
        """One worker more, once it consumes."""
        worker = WorkerProcess(self._folder, f"crew-{self._started}", self._environment)
        self._started += 1
        self.workers.append(worker)
        return worker

    def kill_oldest(self) -> None:
        """kill -9 of the one that has worked longest, and another in its place."""
        self.workers.pop(0).kill()
        self.add()

    def stop_oldest(self) -> None:
        """Another one, and then SIGTERM for the one that has worked longest: a deploy."""
        self.add()
        assert self.workers.pop(0).stop() == 0

    def end(self) -> None:
        """kill -9 of all."""
        for worker in self.workers:
            worker.kill()
        self.workers.clear()
