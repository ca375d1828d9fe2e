"""Clients leave a Redis that is not the primary any more, and reach the server that now has its address."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from stage import TcpProxy, through
from stage.fault_house import frozen
from stage.sentinels import replica_of
from tamis_cli.embedded.ports import HOST
from tamis_cli.embedded.valkey import Valkey
from tamis_producer.config.redis_clients import connect, connect_on_loop, cut


@dataclass(frozen=True)
class Address:
    """A proxy before a server, and a replica that can take its place."""

    url: str
    old: Valkey
    new: Valkey
    proxy: TcpProxy

    def switch(self) -> None:
        """Change the roles, and move the address; open connections stay with the old server."""
        with redis.Redis.from_url(self.old.url) as old, redis.Redis.from_url(self.new.url) as new:
            new.replicaof("NO", "ONE")
            old.replicaof(HOST, self.new.port)
        self.proxy.move(through(self.new.url))


@pytest.fixture
def address(tmp_path: Path) -> Iterator[Address]:
    with (
        Valkey(tmp_path / "old") as old,
        replica_of(old, tmp_path / "new") as new,
        TcpProxy(through(old.url)) as proxy,
    ):
        yield Address(proxy.url(old.url), old, new, proxy)


def test_a_client_reaches_the_new_primary_after_one_refused_write(address: Address) -> None:
    with connect(address.url) as client:
        client.set("before", "1")
        address.switch()
        with pytest.raises(redis.ConnectionError, match="not the primary"):
            client.set("after", "1")
        client.set("after", "1")
        assert client.info("replication")["role"] == "master"


async def test_a_client_on_a_loop_reaches_the_new_primary_after_one_refused_script(address: Address) -> None:
    async with connect_on_loop(address.url) as client:
        script = client.register_script("return redis.call('SET', KEYS[1], '1')")
        await script(keys=["before"])
        address.switch()
        with pytest.raises(redis.ConnectionError, match="not the primary"):
            await script(keys=["after"])
        await script(keys=["after"])
        assert (await client.info("replication"))["role"] == "master"


def test_a_client_that_waits_for_a_silent_server_is_freed_when_connections_are_cut(address: Address) -> None:
    with connect(address.url) as client:
        client.ping()
        with frozen(address.old):
            address.proxy.move(through(address.new.url))
            client.connection_pool._available_connections[0].send_command("PING")
            cut()
            with pytest.raises(redis.ConnectionError):
                client.connection_pool._available_connections[0].read_response()
            assert client.ping()
