"""`tamis flower`: Flower alone, for servers that are named, behind a password that comes as a file."""

import base64
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from stage import tamis, wait_until
from tamis_producer import ProducerSettings
from tamis_worker.embedded.http_check import answers
from tamis_worker.embedded.ports import free_port

PASSWORD = "a-password-of-the-test"
STARTED_WITHIN = 60.0  # s
STOPPED_WITHIN = 20.0  # s


def files(folder: Path, settings: ProducerSettings) -> dict[str, str]:
    """The environment that compose would give it."""
    texts = {"broker_url": settings.broker, "database_url": settings.database, "flower_password": PASSWORD}
    named = {}
    for name, text in texts.items():
        (folder / name).write_text(f"{text}\n", "utf-8")
        named[f"TAMIS_{name.upper()}_FILE"] = str(folder / name)
    return named | {"TAMIS_HOME": str(folder / "home")}


@pytest.fixture
def port(settings: ProducerSettings, tmp_path: Path) -> Iterator[int]:
    port = free_port(None)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tamis_worker", "flower", "--port", str(port)],
            env={**os.environ, **files(tmp_path, settings)},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(lambda: answers(port, "/healthcheck"), within=STARTED_WITHIN, what="Flower answers")
        yield port
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOPPED_WITHIN) == 0
    finally:
        process.kill()
        process.wait(STOPPED_WITHIN)


def status(port: int, path: str, *, password: str | None = None) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    if password is not None:
        request.add_header("Authorization", f"Basic {base64.b64encode(f'tamis:{password}'.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_flower_asks_for_the_password_of_the_file_and_keeps_its_history_at_home(port: int, tmp_path: Path) -> None:
    assert status(port, "/tasks") == 401
    assert status(port, "/tasks", password="another-password") == 401
    assert status(port, "/tasks", password=PASSWORD) == 200
    assert (tmp_path / "home" / "flower.cookie").exists()
    assert PASSWORD not in (tmp_path / "log").read_text("utf-8", "replace")


def test_it_does_not_listen_for_other_machines_without_a_password(settings: ProducerSettings, tmp_path: Path) -> None:
    environment = files(tmp_path, settings) | {"TAMIS_FLOWER_ADDRESS": "0.0.0.0"}  # noqa: S104 - refused
    del environment["TAMIS_FLOWER_PASSWORD_FILE"]
    done = tamis("flower", env=environment, cwd=tmp_path)
    assert done.code == 2
    assert "set TAMIS_FLOWER_PASSWORD too" in " ".join(done.err.split())


def test_without_servers_it_says_what_is_missing(tmp_path: Path) -> None:
    done = tamis("flower", env={"TAMIS_HOME": str(tmp_path)}, cwd=tmp_path)
    assert done.code == 2
    assert "tamis up" in done.err
