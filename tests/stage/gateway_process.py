"""`tamis serve` in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import httpx2 as httpx

from nursery import Child, shared
from tamis_cli.embedded.ports import free_port

from .command import Finished, text_of
from .plain_http import NO_TLS
from .waiting import wait_until

START_WITHIN = 30.0  # s
STOP_WITHIN = 30.0  # s


@dataclass(frozen=True)
class GatewayProcess:
    """A gateway that answers, until it is stopped."""

    url: str
    process: subprocess.Popen[bytes] | Child
    _streams: tuple[IO[bytes], IO[bytes]]

    def finished(self, within: float = STOP_WITHIN) -> Finished:
        """What it did, once it has ended by itself."""
        code = self.process.wait(within)
        out, err = map(text_of, self._streams)
        return Finished(code, out, err)


@contextmanager
def serving(
    environment: Mapping[str, str], folder: Path, *, port: int | None = None, alone: bool = False
) -> Iterator[GatewayProcess]:
    """A gateway on a free port where none is given.

    `alone`: by an interpreter that has nothing but the gateway in it, for whoever looks at its memory.
    """
    port = port or free_port()
    url, command = f"http://127.0.0.1:{port}", ["serve", "--port", str(port)]
    given = {**os.environ, **environment}
    with TemporaryFile() as out, TemporaryFile() as err:
        if not alone and shared().serves(given):
            process: subprocess.Popen[bytes] | Child = shared().start(
                "tamis_cli", command, env=given, cwd=folder, stdout=out, stderr=err
            )
        else:
            process = subprocess.Popen(
                [sys.executable, "-m", "tamis_cli", *command], env=given, cwd=folder, stdout=out, stderr=err
            )
        try:
            wait_until(
                lambda: process.poll() is not None or is_healthy(url), within=START_WITHIN, what="the gateway answers"
            )
            assert process.poll() is None, text_of(err)
            yield GatewayProcess(url, process, (out, err))
        finally:
            process.kill()
            process.wait()


def is_healthy(url: str) -> bool:
    """Whether a gateway answers there."""
    try:
        return httpx.get(f"{url}/healthz", verify=NO_TLS).status_code == 200
    except httpx.TransportError:
        return False
