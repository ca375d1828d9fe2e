"""One stack at a time runs from a folder."""

import os
from pathlib import Path

import pytest

from tamis_cli.embedded.stack import HomeLock
from tamis_schemas import ConfigurationError


def test_a_second_lock_is_refused_naming_the_process_that_has_it(tmp_path: Path) -> None:
    first = HomeLock(tmp_path)
    first.acquire()
    with pytest.raises(ConfigurationError, match=rf"process {os.getpid()}\b"):
        HomeLock(tmp_path).acquire()
    first.release()


def test_a_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    first, second = HomeLock(tmp_path), HomeLock(tmp_path)
    first.acquire()
    first.release()
    second.acquire()
    second.release()


def test_a_lock_file_without_a_process_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("12345")
    lock = HomeLock(tmp_path)
    lock.acquire()
    assert (tmp_path / "lock").read_text() == str(os.getpid())
    lock.release()
