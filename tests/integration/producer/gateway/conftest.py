"""Who asks the gateway, where a test names nobody else."""

from collections.abc import Iterator

import httpx2 as httpx
import pytest

from stage.gateway import signed_in
from tamis_producer import Client
from tamis_producer.gateway.api_keys import Scope


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    """A reviewer, whose key reads and decides."""
    with signed_in(client, "Reviewer A", Scope.READ, Scope.DECIDE) as http:
        yield http
