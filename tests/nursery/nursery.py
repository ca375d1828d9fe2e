"""The side of the tests: asks the nursery for a process, and holds it as `subprocess.Popen` would be held."""

import array
import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

READY_WITHIN = 120.0  # s; usual are 3
# What an interpreter reads at its start, and what a library may read when it is loaded.
READ_EARLY = ("PYTHON", "LD_", "OTEL_PROPAGATORS", "OTEL_PYTHON_", "OPENAI_", "MALLOC", "COVERAGE")


class Child:
    """A process that the nursery forked."""

    def __init__(self, pid: int, connection: socket.socket, argv: Sequence[str]) -> None:
        self.pid = pid
        self.args = [*argv]
        self.returncode: int | None = None
        self._connection = connection
        self.stdin: IO[str] | None = None  # where there is a pipe to it
        self.stdout: IO[str] | None = None

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code. Raises `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            self._connection.settimeout(timeout or 1e-9 if timeout is not None else None)
            try:
                told = self._connection.recv(16)
            except (TimeoutError, BlockingIOError) as error:
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from error
            self._connection.close()
            self.returncode = int(told)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """To the process, if it still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9."""
        self.send_signal(signal.SIGKILL)


class Nursery:
    """A process that has imported what Tamis needs; ends with this one."""

    def __init__(self, folder: Path) -> None:
        self._address = folder / "nursery"
        here = str(Path(__file__).resolve().parents[1])
        paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._early = _early(os.environ)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "nursery", str(self._address), str(os.getpid())],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + READY_WITHIN
        while not self._address.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the nursery did not start")
            time.sleep(0.01)

    def serves(self, env: Mapping[str, str]) -> bool:
        """Whether a process with this environment would be the same one if it were forked."""
        return _early(env) == self._early

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stdout: IO[bytes],
        stderr: IO[bytes],
        stdin: IO[bytes] | None = None,
    ) -> Child:
        """`python -m module arguments`; None: nothing comes from its standard input."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(str(self._address))
        asked = {"module": module, "arguments": [*arguments], "env": {**env}, "cwd": str(cwd)}
        body = json.dumps(asked).encode()
        with Path(os.devnull).open("rb") as nothing:
            streams = array.array("i", [one.fileno() for one in (stdin or nothing, stdout, stderr)])
            connection.sendmsg([len(body).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        connection.sendall(body)
        pid = int.from_bytes(connection.recv(8), "big")
        return Child(pid, connection, [module, *arguments])

    def start_piped(self, module: str, arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> Child:
        """The same, with pipes to its standard input and from its output; its errors go where ours do."""
        (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
        with open(theirs_in, "rb") as stdin, open(theirs_out, "wb") as stdout, open(2, "wb", closefd=False) as stderr:  # noqa: PTH123
            child = self.start(module, arguments, env=env, cwd=cwd, stdout=stdout, stderr=stderr, stdin=stdin)
        child.stdin, child.stdout = open(ours_in, "w"), open(ours_out)  # noqa: PTH123, SIM115
        return child

    def close(self) -> None:
        """End it; what it has forked goes on."""
        self._process.kill()
        self._process.wait()


@functools.cache
def shared() -> Nursery:
    """The one of this process, from its first use to its end."""
    folder = tempfile.TemporaryDirectory(prefix="tamis-nursery-")
    nursery = Nursery(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(nursery.close)
    return nursery


def _early(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(READ_EARLY)}
