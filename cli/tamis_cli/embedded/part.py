"""A part of the stack: a process with a check of its health."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import ClassVar, NoReturn, Self

from tamis_schemas import OperationFailed

from .ports import HOST, free_port
from .process import ChildrenFile, Command, Process, how_it_ended, server_environment

WITHIN = 2.0  # seconds


def get(port: int, path: str, *, host: str = HOST, most: int = 0) -> bytes | None:
    """Return the first `most` bytes of the response to a GET of `path`; None without a response of status 200."""
    # An error means that no server listens yet, or that the server is still starting.
    with suppress(OSError, HTTPException), closing(HTTPConnection(host, port, timeout=WITHIN)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.read(most) if answer.status == 200 else None
    return None


def answers(port: int, path: str, *, host: str = HOST) -> bool:
    """Return whether a GET of `path` gets status 200."""
    return get(port, path, host=host) is not None


FIRST_LOOK = 0.02  # seconds; the interval between two checks doubles up to LAST_LOOK
LAST_LOOK = 0.3


class Part(ABC):
    """A supervised process that can be started, stopped and restarted. `process` is the running child.

    `start_within`: the longest time in seconds from the start until the part is healthy. `title`: the part's name for
    people.
    """

    start_within: ClassVar[float] = 60.0
    title: ClassVar[str]

    def __init__(
        self,
        name: str,
        log: Path,
        environment: Mapping[str, str] | None = None,
        children: ChildrenFile | None = None,
    ) -> None:
        """Prepare the part, without starting its process.

        `log`: the file for the process's output. `environment`: all its environment variables; None: those of
        `server_environment()`. `children`: the file that lists the supervisor's children.
        """
        self.name = name
        self._log = log
        self._environment = server_environment() if environment is None else environment
        self._children = children
        self._process: Process | None = None
        self._port: int | None = None

    @property
    def port(self) -> int:
        """Return the part's port. Raise `RuntimeError` if the part has no port, or was never started."""
        if self._port is None:
            raise RuntimeError(f"{self.name} was not started: it has no port yet")
        return self._port

    @property
    def process(self) -> Process:
        """Return the child process. Raise `RuntimeError` if the part was never started."""
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._process

    @property
    def launched(self) -> bool:
        """Return whether the part's process was ever started."""
        return self._process is not None

    @abstractmethod
    def prepare(self) -> Command:
        """Write the files that the part needs, and return the command to run."""

    def command(self, *argv: str) -> Command:
        """Return the command that runs `argv` (a program, then its arguments) with the part's log and environment."""
        return Command(name=self.name, argv=argv, log=self._log, env=self._environment)

    @abstractmethod
    def healthy(self) -> bool:
        """Return whether the part works. An implementation must not wait long."""

    def launch(self) -> None:
        """Start the process, without waiting until it works."""
        self._process = Process(self.prepare(), self._children)

    def wait_until_healthy(self) -> None:
        """Wait until the part works.

        Raises:
            OperationFailed: the part ended or was too slow; the message quotes the last lines of its log.
        """
        deadline = time.monotonic() + self.start_within
        pause = FIRST_LOOK
        while not self.healthy():
            if self.process.wait(pause):
                self._fail(f"ended with status {self.process.returncode} before it was ready")
            if time.monotonic() > deadline:
                self.process.kill()
                self._fail(f"was not ready within {self.start_within:.0f} s")
            pause = min(2 * pause, LAST_LOOK)

    def start(self) -> None:
        """Start the part and wait until it works. Raise `OperationFailed` if it does not."""
        self.launch()
        self.wait_until_healthy()

    def stop(self, hurry: threading.Event | None = None) -> bool:
        """Stop the part, if it runs. Return False if it had to be killed: it was too slow, or `hurry` was set."""
        return self._process is None or self._process.stop(hurry)

    def how_it_ended(self) -> str:
        """Return how the process ended, in words to print after the part's name."""
        return how_it_ended(self.process.returncode or 0)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _fail(self, what: str) -> NoReturn:
        log = self.process.command.log
        raise OperationFailed(
            f"{self.name} {what}. The end of {log}:\n{self.process.tail() or '(nothing was written)'}"
        )


class WebPart(Part):
    """A part that answers HTTP, on 127.0.0.1 by default. It keeps its port across restarts."""

    health_path: ClassVar[str]
    host: str = HOST
    usual_port: int | None = None  # used if it is free; None: any free port

    def choose_port(self) -> int:
        """Return the part's port. The first call chooses it: `usual_port` if it is free, else any free port."""
        self._port = self._port or free_port(self.usual_port)
        return self._port

    def healthy(self) -> bool:
        return self._port is not None and answers(self._port, self.health_path, host=self.host)
