"""Commands over a ledger that a test filled itself: no worker and no LLM are needed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stage import Finished, tamis
from tamis_producer import Client


@pytest.fixture
def run(client: Client, tmp_path: Path) -> Callable[..., Finished]:
    """Runs `tamis` with these arguments in the test's folder; keywords are environment variables."""
    environment = {"TAMIS_BROKER_URL": client.settings.broker, "TAMIS_DATABASE_URL": client.settings.database}

    def ran(*arguments: str, **more: str) -> Finished:
        return tamis(*arguments, env=environment | more, cwd=tmp_path)

    return ran
