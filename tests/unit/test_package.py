"""What is built from a checkout: a wheel and an sdist that know their commit, and a version that tells it."""

import os
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from hatchling.build import build_sdist, build_wheel

import tamis_schemas.release
from tamis_schemas.release import commit, described, revisions

pytestmark = pytest.mark.built_from("pyproject.toml", "hatch_build.py", "schemas/tamis_schemas/release.py")

ROOT = Path(__file__).parents[2]
COMMIT_FILE = "tamis_schemas/commit.txt"


@pytest.fixture(scope="module")
def head() -> str:
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout: an unpacked sdist")
    return subprocess.run(
        ["git", "rev-parse", "HEAD"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tarfile.TarFile]:
    folder = tmp_path_factory.mktemp("sdist")
    with chdir(ROOT):
        name = build_sdist(os.fspath(folder))
    with tarfile.open(folder / name) as archive:
        yield archive


def test_the_version_tells_commit_and_revision_of_the_ledger(head: str) -> None:
    assert commit() == head
    assert described().endswith(f"(commit {head[:9]}, ledger revision {revisions()[-1]})")


def test_where_no_commit_is_known_the_version_tells_the_rest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tamis_schemas.release, "PACKAGE", tmp_path / "site-packages" / "tamis_schemas")
    assert commit() is None
    assert described().endswith(f"(ledger revision {revisions()[-1]})")


def test_an_sdist_holds_tests_examples_and_docs_and_what_is_built_from_it_knows_the_commit(
    head: str, sdist: tarfile.TarFile, tmp_path: Path
) -> None:
    names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"tests/conftest.py", "docs/settings.md", "examples/pipeline_service/main.py", "README.md"} <= names
    sdist.extractall(tmp_path, filter="data")
    with chdir(tmp_path / sdist.getnames()[0].partition("/")[0]):
        name = build_wheel(os.fspath(tmp_path))
    with zipfile.ZipFile(tmp_path / name) as wheel:
        assert wheel.read(COMMIT_FILE).decode().strip() == head


def test_a_wheel_from_a_checkout_knows_its_commit_and_its_build_leaves_no_temporary_file(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(temporary))
    with chdir(ROOT):
        name = build_wheel(os.fspath(tmp_path))
    with zipfile.ZipFile(tmp_path / name) as wheel:
        assert wheel.read(COMMIT_FILE).decode().strip() == head
    assert list(temporary.iterdir()) == []
