"""Secrets in files of their own."""

import stat
from pathlib import Path

from tamis_producer.config.private_file import kept_secret


def test_a_secret_is_made_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "new" / "password"
    assert kept_secret(path) == kept_secret(path)
    assert len(kept_secret(path)) >= 24


def test_two_files_hold_two_secrets(tmp_path: Path) -> None:
    assert kept_secret(tmp_path / "a") != kept_secret(tmp_path / "b")


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    kept_secret(tmp_path / "password")
    assert stat.S_IMODE((tmp_path / "password").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["password"]


def test_a_secret_that_others_may_read_is_taken_back_from_them(tmp_path: Path) -> None:
    secret = kept_secret(tmp_path / "password")
    (tmp_path / "password").chmod(0o644)
    assert kept_secret(tmp_path / "password") == secret
    assert stat.S_IMODE((tmp_path / "password").stat().st_mode) == 0o600
