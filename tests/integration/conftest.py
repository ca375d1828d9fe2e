"""Commands and requests over a ledger that a test filled itself: no worker and no LLM are needed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from stage import Finished, tamis
from stage.gateway import signed_in
from tamis_producer import Client
from tamis_producer.gateway.api_keys import Scope


@pytest.fixture
def run(client: Client, tmp_path: Path) -> Callable[..., Finished]:
    """Runs `tamis` with these arguments in the test's folder; keywords are environment variables."""
    environment = {"TAMIS_BROKER_URL": client.settings.broker, "TAMIS_DATABASE_URL": client.settings.database}

    def ran(*arguments: str, **more: str) -> Finished:
        return tamis(*arguments, env=environment | more, cwd=tmp_path)

    return ran


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    """A reviewer, whose key reads and decides."""
    with signed_in(client, "Reviewer A", Scope.READ, Scope.DECIDE) as http:
        yield http
