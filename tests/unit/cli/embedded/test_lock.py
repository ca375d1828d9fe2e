"""One stack at a time runs from a folder."""

import os
from pathlib import Path

import pytest

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
