"""`tamis serve` in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx

from tamis_worker.embedded.ports import free_port

from .plain_http import NO_TLS
from .waiting import wait_until

START_WITHIN = 30.0  # s


@contextmanager
def serving(
    environment: Mapping[str, str], folder: Path, *, port: int | None = None
) -> "Iterator[tuple[str, subprocess.Popen[str]]]":
    """A gateway that answers: its URL and its process; on a free port where none is given."""
    port = port or free_port()
    command = [sys.executable, "-m", "tamis_worker", "serve", "--port", str(port)]
    given, pipe = {**os.environ, **environment}, subprocess.PIPE
    with subprocess.Popen(command, env=given, cwd=folder, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until(lambda: is_healthy(url), within=START_WITHIN, what="the gateway answers")
            yield url, process
        finally:
            process.kill()


def is_healthy(url: str) -> bool:
    """Whether a gateway answers there."""
    try:
        return httpx.get(f"{url}/healthz", verify=NO_TLS).status_code == 200
    except httpx.TransportError:
        return False
