"""Whether files of the source changed, by git."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def changed(paths: tuple[str, ...], root: Path = ROOT) -> bool:
    """Return True if one of the paths differs from the commit before the last one, or if git cannot say."""
    compared = subprocess.run(
        ["git", "diff", "--quiet", "HEAD~1", "--", *paths],  # noqa: S607
        cwd=root,
        capture_output=True,
        check=False,
    )
    return compared.returncode != 0
