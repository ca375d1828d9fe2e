"""Submitting while the broker is away: the ledger has the batch, and nobody waits for the broker."""

import asyncio
import gc
import logging
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from uuid import UUID

import pytest
import redis
from kombu import pools
from sqlalchemy import text

from stage.tcp_proxy import TcpProxy, through
from tamis_producer import AsyncClient, Client, ProducerSettings
from tamis_producer.client import session
from tamis_schemas import Filter
from tamis_schemas.batches import wire

IS_IT = Filter(criteria="Is this about oncology?")
ITEMS = [{"id": "r1", "title": "One"}]
NOWHERE = "redis://127.0.0.1:1/0"
AT_MOST = 3.0  # s for what takes less than one: a busy machine fails no test, and waiting as before took 4 to 15


@pytest.fixture(autouse=True)
def _nothing_left_of_the_broker() -> Iterator[None]:
    """kombu keeps connections that were given up in cycles, whose sockets may be collected before them."""
    yield
    pools.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@contextmanager
def refusing() -> Iterator[str]:
    """No one listens."""
    yield "redis://127.0.0.1:1/0"


@contextmanager
def silent() -> Iterator[str]:
    """Connections are taken, and nothing is ever answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


@contextmanager
def dropping() -> Iterator[str]:
    """A full queue of connections: the packets of another one are dropped, as a firewall drops them."""
    with ExitStack() as sockets:
        server = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            one = sockets.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(server.getsockname())
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


@contextmanager
def silent_rabbit() -> Iterator[str]:
    """The same of RabbitMQ."""
    with silent() as url:
        yield url.replace("redis://", "amqp://").replace("/0", "//")


def submit(settings: ProducerSettings) -> list[str]:
    with Client(settings) as client:
        return [client.submit(IS_IT, ITEMS).id for _ in range(2)]


def submit_asynchronously(settings: ProducerSettings) -> list[str]:
    async def submitted() -> list[str]:
        async with AsyncClient(settings) as client:
            return [(await client.submit(IS_IT, ITEMS)).id for _ in range(2)]

    return asyncio.run(submitted())


@pytest.mark.parametrize("way", [submit, pytest.param(submit_asynchronously, marks=pytest.mark.night)])
@pytest.mark.parametrize("away", [refusing, silent, pytest.param(dropping, marks=pytest.mark.night), silent_rabbit])
def test_a_batch_is_submitted_at_once_and_the_broker_is_asked_once(
    away: Callable[[], object],
    way: Callable[[ProducerSettings], list[str]],
    database_url: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with away() as url, caplog.at_level(logging.WARNING):  # type: ignore[attr-defined]
        settings = ProducerSettings(broker_url=url, result_backend_url=NOWHERE, database_url=database_url)
        began = time.monotonic()
        batches = way(settings)
        assert time.monotonic() - began < AT_MOST
        with Client(settings) as client:
            assert {view.id for view in client.batches()} == set(batches)
            with client.engine.connect() as connection:  # a sweep finds waiting shards at once
                assert connection.execute(text("SELECT DISTINCT state FROM shards")).scalars().all() == ["waiting"]
    said = [record.getMessage() for record in caplog.records if "workers will dispatch it" in record.getMessage()]
    assert len(said) == 2
    assert "does not answer" in said[0]
    assert "did not answer a moment ago" in said[1]


def test_a_broker_that_falls_silent_is_noticed_and_used_again_when_it_is_back(
    database_url: str, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TcpProxy(through(broker_url)) as proxy:
        settings = ProducerSettings(broker_url=proxy.url(broker_url), database_url=database_url)
        with Client(settings) as client, redis.Redis.from_url(broker_url) as broker:
            client.submit(IS_IT, ITEMS)
            assert waiting(broker) == 1
            proxy.hold()
            began = time.monotonic()
            late = client.submit(IS_IT, ITEMS)
            assert time.monotonic() - began < AT_MOST
            assert late.status().counts.pending == 1
            proxy.cut()
            proxy.let_go()
            client.dispatch(UUID(late.id))
            assert waiting(broker) == 1  # it was away a moment ago: it is not asked yet
            monkeypatch.setattr(session, "LASTS", 0.0)
            client._absence.begins()
            client.dispatch(UUID(late.id))
            assert waiting(broker) == 2


def waiting(broker: "redis.Redis[bytes]") -> int:
    return sum(int(broker.llen(f"{wire.KEY_PREFIX}{queue}")) for queue in wire.ITEM_QUEUES)
