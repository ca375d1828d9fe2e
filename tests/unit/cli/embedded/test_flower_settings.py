"""Flower is never reachable from another machine without a password that somebody chose."""

import subprocess
import sys
from pathlib import Path

import pytest

from tamis_cli.embedded.programs import Flower
from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import WorkerSettings, is_loopback

EVERYWHERE = "0.0.0.0"  # noqa: S104 - refused, that is the point


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        (EVERYWHERE, False),
        ("", False),
        ("::", False),
        ("10.0.0.7", False),
        ("flower.example", False),
    ],
)
def test_loopback_is_what_only_this_machine_can_reach(address: str, *, loopback: bool) -> None:
    assert is_loopback(address) is loopback


@pytest.mark.parametrize("address", [EVERYWHERE, "::", "10.0.0.7", "flower.example"])
def test_another_address_needs_a_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str) -> None:
    monkeypatch.setenv("TAMIS_FLOWER_ADDRESS", address)
    with pytest.raises(ConfigurationError, match="set TAMIS_FLOWER_PASSWORD too"):
        WorkerSettings.load()
    with pytest.raises(ConfigurationError, match="Flower needs your own TAMIS_FLOWER_PASSWORD"):
        Flower(tmp_path, {}, address=address)
    monkeypatch.setenv("TAMIS_FLOWER_PASSWORD", "a-long-password")
    assert WorkerSettings.load().flower_address == address


@pytest.mark.parametrize(
    "password", ["short", "with,comma,in,it", "with:colon:in:it", "with space in it", "ümläute-sind-es"]
)
def test_a_password_that_flower_would_misread_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    monkeypatch.setenv("TAMIS_FLOWER_PASSWORD", password)
    with pytest.raises(ConfigurationError, match="at least 12 characters") as raised:
        WorkerSettings.load()
    assert password not in str(raised.value)


def test_the_password_is_in_the_environment_of_flower_and_nowhere_on_its_command_line(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    flower = Flower(tmp_path, {"FLOWER_UNAUTHENTICATED_API": "true"}, usual_port=None, password="a-long-password")
    command = flower.prepare()
    assert not any("a-long-password" in word for word in command.argv)
    assert command.env is not None
    assert command.env["FLOWER_BASIC_AUTH"] == "tamis:a-long-password"
    assert "FLOWER_UNAUTHENTICATED_API" not in command.env
    assert not (tmp_path / "flower.password").exists()


def test_flower_started_by_hand_without_a_password_does_not_start(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import tamis_cli.embedded.flower_app"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "set FLOWER_BASIC_AUTH to user:password" in done.stderr
