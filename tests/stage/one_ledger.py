"""One ledger and one gateway for all tests of a module, each of which writes batches of its own.

A module takes them with `client, base = one_ledger.client, one_ledger.base`. To make both takes a third of the CPU of a
short test, and where the gateway's address stays, the browser keeps what it has read of the page.
"""

from collections.abc import Iterator

import pytest

from tamis_cli.embedded.valkey import Valkey
from tamis_producer import Client, ProducerSettings

from .gateway import gateway


@pytest.fixture(scope="module")
def client(module_database_url: str, valkey: Valkey) -> Iterator[Client]:
    with Client(ProducerSettings(broker_url=valkey.url, database_url=module_database_url)) as running:
        yield running


@pytest.fixture(scope="module")
def base(client: Client) -> Iterator[str]:
    """The gateway's address."""
    with gateway(client) as url:
        yield url
