"""Redis with a replica, and Sentinels that watch both."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tamis_cli.embedded.part import Part
from tamis_cli.embedded.ports import HOST, free_port
from tamis_cli.embedded.process import Command
from tamis_cli.embedded.valkey import Valkey

from .waiting import wait_until

SERVICE = "mymaster"
PASSWORD = "of-the-sentinels"
DOWN_AFTER = 500  # ms


class Sentinel(Part):
    """A Sentinel that watches a primary, from its start on."""

    title = "Redis Sentinel"

    def __init__(self, folder: Path, primary: Valkey, *, quorum: int) -> None:
        super().__init__(folder.name, folder / "sentinel.log")
        self._folder, self._primary, self._quorum = folder, primary, quorum

    def prepare(self) -> Command:
        self._folder.mkdir()
        self._port = free_port()
        configuration = self._folder / "sentinel.conf"
        primary = self._primary
        configuration.write_text(
            f"port {self._port}\nbind {HOST}\ndir {json.dumps(str(self._folder))}\nrequirepass {PASSWORD}\n"
            f"sentinel monitor {SERVICE} {HOST} {primary.port} {self._quorum}\n"
            f"sentinel auth-pass {SERVICE} {primary.password}\n"
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER}\n"
            f"sentinel failover-timeout {SERVICE} 3000\n"
        )
        return self.command(str(primary.program.path), str(configuration), "--sentinel")

    def connect(self) -> "redis.Redis":
        return redis.Redis(host=HOST, port=self.port, password=PASSWORD, retry=Retry(NoBackoff(), 0))

    def healthy(self) -> bool:
        try:
            with self.connect() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def knows(self, others: int) -> bool:
        """Whether it has met the replica and so many other Sentinels."""
        with self.connect() as client:
            state = client.sentinel_masters()[SERVICE]  # before 8, `sentinel_master` fails
        return (state["num-slaves"], state["num-other-sentinels"]) == (1, others)


@contextmanager
def replica_of(primary: Valkey, folder: Path) -> Iterator[Valkey]:
    """A server that has all data of `primary`, with the same password."""
    folder.mkdir()
    (folder / "password").write_text(primary.password)
    with Valkey(folder) as replica:
        for server in (primary, replica):  # the primary will be a replica one day
            with redis.Redis.from_url(server.url) as client:
                client.config_set("masterauth", primary.password)
                client.config_set("repl-diskless-sync-delay", 0)
        with redis.Redis.from_url(replica.url) as client:
            client.replicaof(HOST, primary.port)
            wait_until(lambda: client.info("replication")["master_link_status"] == "up", within=20, what="it follows")
        yield replica


@contextmanager
def sentinels_of(primary: Valkey, folder: Path, *, number: int = 3) -> Iterator[list[Sentinel]]:
    """Sentinels that know each other and the one replica of `primary`."""
    with ExitStack() as running:
        sentinels = [
            running.enter_context(Sentinel(folder / f"sentinel-{place}", primary, quorum=number // 2 + 1))
            for place in range(number)
        ]
        wait_until(
            lambda: all(sentinel.knows(number - 1) for sentinel in sentinels), within=20, what="they know each other"
        )
        yield sentinels


def sentinel_url(primary: Valkey, sentinels: Sequence[Sentinel], *, service: str = SERVICE) -> str:
    """The URL of the service, in database 0."""
    hosts = ",".join(f"{HOST}:{sentinel.port}" for sentinel in sentinels)
    return f"sentinel://:{primary.password}@{hosts}/0?master_name={service}&sentinel_password={PASSWORD}"
