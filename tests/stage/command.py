"""The `tamis` command, run as a process."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from nursery import shared

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
    environment = {**os.environ, "COLUMNS": "160", **env}
    with TemporaryFile() as out, TemporaryFile() as err:
        if shared().serves(environment):
            child = shared().start("tamis_cli", arguments, env=environment, cwd=cwd, stdout=out, stderr=err)
            try:
                code = child.wait(within)
            finally:
                child.kill()
        else:
            code = subprocess.run(
                [sys.executable, "-m", "tamis_cli", *arguments],
                env=environment,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=within,
                check=False,
            ).returncode
        return Finished(code, text_of(out), text_of(err))


def text_of(written: IO[bytes]) -> str:
    """All that a process has written into a file, with lines that end as ours do."""
    written.seek(0)
    return written.read().decode().replace("\r\n", "\n")
