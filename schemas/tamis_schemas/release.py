"""The present release: its version, the commit of its build, and the ledger revision that it writes.

This module does not import the migration code. In a built installation, it needs no git.
"""

import subprocess
from importlib.metadata import version
from pathlib import Path

NAME = "tamis"
PACKAGE = Path(__file__).parent
MIGRATIONS = PACKAGE / "ledger" / "migrations"
SHORT_COMMIT = 9  # characters


def described() -> str:
    """Return version, commit and revision in a line, for `tamis --version`."""
    commit_ = commit()
    built_from = "" if commit_ is None else f"commit {commit_[:SHORT_COMMIT]}, "
    return f"{NAME} {version(NAME)} ({built_from}ledger revision {revisions()[-1]})"


def commit() -> str | None:
    """Return the commit of this release; None if unknown, for example in an archive of the source."""
    if (built := PACKAGE / "commit.txt").exists():
        return built.read_text("ascii").strip()
    checkout = PACKAGE.parents[1]
    if not (checkout / ".git").exists():
        return None
    try:
        git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=False)  # noqa: S607
    except OSError:  # no git
        return None
    return git.stdout.strip() or None


def revisions() -> list[str]:
    """Return all revisions of the ledger's tables that this release knows, oldest first.

    The release creates tables of the last revision.
    """
    return sorted(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("[0-9]*_*.py"))
