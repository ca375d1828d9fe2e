"""The application that `celery -A tamis_worker.celery` finds: made when it is asked for, from the settings."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from celery.app.utils import find_app
from celery.bin.celery import celery
from click.testing import CliRunner

from tamis_schemas import ConfigurationError
from tamis_worker import celery as module
from tamis_worker.celery import Worker, _app

SERVERS = {"TAMIS_BROKER_URL": "redis://h/0", "TAMIS_DATABASE_URL": "postgresql+psycopg://h/d"}


@pytest.fixture(autouse=True)
def _made_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("FLOWER_ADDRESS", "")  # put back afterwards
    monkeypatch.delenv("FLOWER_ADDRESS")
    monkeypatch.chdir(tmp_path)
    _app.cache_clear()
    yield
    _app.cache_clear()


@pytest.mark.parametrize("name", ["tamis_worker.celery", "tamis_worker.celery:app"])
def test_it_is_found_under_both_names_with_the_key_prefix(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for variable, value in SERVERS.items():
        monkeypatch.setenv(variable, value)
    app = find_app(name)
    assert app is module.app
    assert app.conf.broker_transport_options["global_keyprefix"] == "tamis:"
    assert app.Worker is Worker


def test_without_servers_it_is_an_error_and_on_the_command_line_one_without_a_traceback() -> None:
    with pytest.raises(ConfigurationError, match="TAMIS_BROKER_URL"):
        _ = module.app
    result = CliRunner().invoke(celery, ["-A", "tamis_worker.celery", "status"])
    assert result.exit_code == 1
    assert "TAMIS_BROKER_URL" in result.output
    assert "Traceback" not in result.output
