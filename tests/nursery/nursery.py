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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Self

READY_WITHIN = 120.0  # s; usual is 0.1
VARIABLE = "NURSERY_OF_THE_RUN"  # where the one listens that all processes of a run share
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
    """A process that has imported what Tamis needs, as it is asked by the process that started it or by another."""

    def __init__(self, address: Path) -> None:
        self._address = address
        self._early: dict[str, str] = json.loads(_early_file(address).read_text("utf-8"))

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Self]:
        """One that imports when it is first asked. It ends with the block; what it has forked goes on."""
        here = str(Path(__file__).resolve().parents[1])
        paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
        with tempfile.TemporaryDirectory(prefix="tamis-nursery-") as folder:
            address = Path(folder) / "nursery"
            _early_file(address).write_text(json.dumps(_early(os.environ)), "utf-8")
            process = subprocess.Popen(
                [sys.executable, "-m", "nursery", str(address), str(os.getpid())],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                stdin=subprocess.DEVNULL,
            )
            try:
                deadline = time.monotonic() + READY_WITHIN
                while not address.exists():
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError("the nursery did not start")
                    time.sleep(0.01)
                yield cls(address)
            finally:
                process.kill()
                process.wait()

    @property
    def address(self) -> Path:
        """Where it listens."""
        return self._address

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
        network: str | None = None,
    ) -> Child:
        """`python -m module arguments`; None: nothing comes from its standard input.

        `network`: the name of a network namespace; None: that of the nursery.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(str(self._address))
        asked = {"module": module, "arguments": [*arguments], "env": {**env}, "cwd": str(cwd), "network": network}
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


@contextmanager
def one_for_all() -> Iterator[None]:
    """Let the processes that this one starts share a nursery. It costs nothing until one of them asks it."""
    with Nursery.running() as nursery:
        os.environ[VARIABLE] = str(nursery.address)
        try:
            yield
        finally:
            del os.environ[VARIABLE]


@functools.cache
def shared() -> Nursery:
    """The one of the run, or of this process, from its first use to its end."""
    address = os.environ.get(VARIABLE)
    if address is not None:
        return Nursery(Path(address))
    exits = ExitStack()
    atexit.register(exits.close)
    return exits.enter_context(Nursery.running())


def _early(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(READ_EARLY)}


def _early_file(address: Path) -> Path:
    """What of its environment a nursery read early, for whoever asks it from another process."""
    return address.with_name("early.json")
