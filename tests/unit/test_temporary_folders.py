"""Two runs of the tests on one machine leave each other alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tamis_cli.embedded.postgres import allow_passage


def test_a_run_has_a_folder(tmp_path: Path) -> None:
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's Postgres runs as another user")
def test_another_run_leaves_the_way_to_a_postgres_of_this_one_open(tmp_path: Path) -> None:
    allow_passage(tmp_path / "data")
    inner = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{__file__}::test_a_run_has_a_folder"]
    assert subprocess.run(inner, capture_output=True, timeout=120, check=False).returncode == 0
    assert [folder for folder in tmp_path.parents if not folder.stat().st_mode & 0o001] == []
