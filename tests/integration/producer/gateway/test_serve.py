"""`tamis serve` and `tamis keys` as processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2 as httpx
import pytest

from stage import tamis, wait_until
from tamis_producer import Client
from tamis_worker.embedded.ports import free_port

START_WITHIN = 30.0  # s


def is_healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_until_it_is_told_to_stop(
    client: Client, environment: dict[str, str], tmp_path: Path, signal_: signal.Signals
) -> None:
    port = free_port()
    command = [sys.executable, "-m", "tamis_worker", "serve", "--port", str(port)]
    given = {**os.environ, **environment}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=given, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as process:
        wait_until(lambda: is_healthy(f"http://127.0.0.1:{port}"), within=START_WITHIN, what="the gateway answers")
        process.send_signal(signal_)
        said, errors = process.communicate(timeout=START_WITHIN)
    assert (process.returncode, errors) == (0, "")
    assert f"the gateway listens at http://127.0.0.1:{port}" in said


def test_a_key_is_made_listed_and_revoked(client: Client, environment: dict[str, str], tmp_path: Path) -> None:
    made = tamis("keys", "create", "Reviewer 1", "--scope", "decide", env=environment, cwd=tmp_path)
    key = made.out.strip()
    assert key.startswith("tamis_")
    listed = tamis("keys", "list", env=environment, cwd=tmp_path)
    assert "Reviewer 1" in listed.out
    assert key.split("_", 2)[2] not in listed.out
    revoked = tamis("keys", "revoke", key.split("_")[1], env=environment, cwd=tmp_path)
    assert "opens nothing any more" in revoked.out
    again = tamis("keys", "revoke", key.split("_")[1], env=environment, cwd=tmp_path)
    assert again.code == 2
    assert "tamis keys list" in again.err
