"""Which release this is: its version, the commit it was built from, and the revision of the ledger that it writes.

Nothing of this needs what carries migrations out, or git in an installation that was built.
"""

import subprocess
from importlib.metadata import version
from pathlib import Path

NAME = "tamis"
PACKAGE = Path(__file__).parent
MIGRATIONS = PACKAGE / "ledger" / "migrations"
SHORT_COMMIT = 9  # characters


def described() -> str:
    """Return all three in a line, as `tamis --version` prints it."""
    commit_ = commit()
    built_from = "" if commit_ is None else f"commit {commit_[:SHORT_COMMIT]}, "
    return f"{NAME} {version(NAME)} ({built_from}ledger revision {revisions()[-1]})"


def commit() -> str | None:
    """Return the commit; None where it is not known: an archive without one."""
    if (built := PACKAGE / "commit.txt").exists():
        return built.read_text("ascii").strip()
    checkout = PACKAGE.parents[1]
    if not (checkout / ".git").exists():
        return None
    try:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=False)  # noqa: S607
    except OSError:  # no git
        return None
    return asked.stdout.strip() or None


def revisions() -> list[str]:
    """Return all revisions that this release knows, the oldest first; the last one is the one that it writes."""
    return sorted(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("[0-9]*_*.py"))
