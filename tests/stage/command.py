"""The `tamis` command, run as a process."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FINISHED_WITHIN = 180.0  # s


def python_path(*first: Path | str) -> str:
    """PYTHONPATH for a process: these folders, and then what this process has there."""
    return os.pathsep.join([*map(str, first), *filter(None, [os.environ.get("PYTHONPATH")])])


@dataclass(frozen=True)
class Finished:
    """What a command did."""

    code: int
    out: str
    err: str


def tamis(*arguments: str, env: Mapping[str, str], cwd: Path, within: float = FINISHED_WITHIN) -> Finished:
    """Run `tamis` with these arguments to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "tamis_worker", *arguments],
        env={**os.environ, "COLUMNS": "160", **env},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=within,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)
