"""One stack at a time runs from a folder, and one account runs its server."""

import fcntl
import os
import pwd
import subprocess
from pathlib import Path

import pytest

from tamis_cli.embedded import postgres
from tamis_cli.embedded.stack import lock_home
from tamis_schemas import ConfigurationError


def test_a_second_lock_is_refused_naming_the_process_that_has_it(tmp_path: Path) -> None:
    with lock_home(tmp_path), pytest.raises(ConfigurationError, match=rf"process {os.getpid()}\b"):
        lock_home(tmp_path)


def test_a_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    lock_home(tmp_path).close()
    lock_home(tmp_path).close()


def test_a_lock_file_without_a_process_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("12345")
    with lock_home(tmp_path):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_processes_that_start_at_once_create_one_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = tmp_path / "passwd"
    accounts.touch()

    def account(name: str) -> str:
        if not accounts.read_text():
            raise KeyError(name)
        return accounts.read_text()

    def create(*_: object, **__: object) -> None:
        with accounts.open("a") as file, pytest.raises(BlockingIOError):  # another process waits now
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        accounts.write_text(accounts.read_text() + "an account")

    monkeypatch.setattr(postgres, "ACCOUNTS", accounts)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwnam", account)
    monkeypatch.setattr(subprocess, "run", create)
    assert [postgres.server_account() for _ in range(2)] == ["an account", "an account"]
