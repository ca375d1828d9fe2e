"""A build runs when its files changed."""

import subprocess
from pathlib import Path

from stage.changed_files import changed


def git(repository: Path, *arguments: str) -> None:
    named = ("-c", "user.name=Tamis", "-c", "user.email=tamis@example.org")
    subprocess.run(["git", *named, *arguments], cwd=repository, check=True, capture_output=True)  # noqa: S607


def test_uncommitted_changes_and_those_of_the_last_commit_count_and_earlier_ones_do_not(tmp_path: Path) -> None:
    git(tmp_path, "init")
    for name in ("earlier", "last", "now"):
        (tmp_path / name).write_text("1", "utf-8")
        if name != "now":
            git(tmp_path, "add", name)
            git(tmp_path, "commit", "--message", name)
    git(tmp_path, "add", "--intent-to-add", "now")
    assert [changed((name,), tmp_path) for name in ("earlier", "last", "now")] == [False, True, True]


def test_without_git_everything_counts_as_changed(tmp_path: Path) -> None:
    assert changed(("any",), tmp_path)
