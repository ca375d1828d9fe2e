"""What there is on this machine for whoever names no LLM: the small model's server, or servers of others."""

import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from llm_double import Double
from stage.listener import Listener
from tamis_cli.embedded.commands import local_endpoints
from tamis_cli.embedded.endpoint import need_server, why_no_server
from tamis_cli.embedded.ports import free_port
from tamis_cli.embedded.stack import Stack
from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import WorkerSettings


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    why_no_server.cache_clear()
    yield
    why_no_server.cache_clear()


@pytest.fixture
def listener() -> Iterator[Listener]:
    server = Listener()
    yield server
    server.stop()


def test_a_package_that_does_not_load_is_no_server_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('libc.musl-x86_64.so.1: no such file')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert why_no_server() == ("the package xllamacpp does not load: ImportError: libc.musl-x86_64.so.1: no such file")


def test_a_package_that_lacks_a_library_names_that_and_does_not_ask_to_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = "libgomp.so.1: cannot open shared object file: No such file or directory"
    (tmp_path / "xllamacpp.py").write_text(f"raise ImportError({missing!r})")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"does not load: the library libgomp\.so\.1 .* libgomp1") as raised:
        need_server()
    assert "tamis[" not in str(raised.value)


def test_a_small_model_that_cannot_be_served_is_refused_before_anything_is_fetched_or_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetched() -> Path:
        raise AssertionError("a model is fetched that nobody can serve")

    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    stack = Stack(WorkerSettings(home=tmp_path / "home"), workers=0, flower=False, llm="local", fetch=fetched)
    with pytest.raises(ConfigurationError, match=r"xllamacpp is not installed.*tamis\[local\].*TAMIS_LLM_BASE_URL"):
        stack.start()
    assert not (tmp_path / "home").exists()


def test_an_endpoint_that_lists_models_is_found_and_told_as_the_settings_that_name_it(kept_double: Double) -> None:
    kept_double.script(models=["qwen3:8b", "other"])
    port = urlsplit(kept_double.base_url).port
    assert port is not None
    found = list(local_endpoints({port: "Ollama", free_port(): "llama-server"}))
    assert found == [f"TAMIS_LLM_BASE_URL=http://127.0.0.1:{port}/v1 TAMIS_MODEL=qwen3:8b (Ollama's usual port)"]


def test_a_server_of_something_else_is_no_endpoint(listener: Listener) -> None:
    port = urlsplit(listener.url).port
    assert port is not None
    assert list(local_endpoints({port: "vLLM"})) == []  # JSON, but no list of models
    listener.points = [(301, "http://127.0.0.1:1/v1/models")]
    assert list(local_endpoints({port: "vLLM"})) == []  # nor is it followed elsewhere
