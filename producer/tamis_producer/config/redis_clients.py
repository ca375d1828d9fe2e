"""Clients of Redis servers: one server, one address that moves to another server, or a primary named by Sentinels.

After a failover, the old primary may still answer, as a replica. So if a server refuses a write because it is not the
primary (any more), the connection is closed, as if the server had closed it. The next connection reaches the new
primary: at the same address, or at the address that the Sentinels name. Redis-py itself closes connections only with
Sentinels, and only for one of several errors of replicas. `transport.failover_transport` closes Celery's connections.
"""

import socket
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import redis
from redis import asyncio as on_loop
from redis.asyncio import sentinel as sentinel_on_loop
from redis.asyncio.retry import Retry as RetryOnLoop
from redis.backoff import NoBackoff
from redis.exceptions import MasterDownError
from redis.retry import Retry
from redis.sentinel import Sentinel

from .sentinel_url import SentinelUrl

SENTINEL_ANSWERS_WITHIN = 1.0  # s; then the next Sentinel is asked
# Errors without a class: too few replicas for a write, and a blocked client at the moment when its primary is demoted.
NO_PRIMARY = ("NOREPLICAS", "UNBLOCKED")
_leaving: WeakSet[Any] = WeakSet()


def connect(url: str, **options: Any) -> "redis.Redis":
    """Return a client, which connects on first use. `options` are arguments of Redis-py's connections."""
    client: redis.Redis = _client(url, redis.Redis, Sentinel, Retry(NoBackoff(), 0), options)
    leave_replicas(client.connection_pool)
    return client


def connect_on_loop(url: str, **options: Any) -> "on_loop.Redis":
    """Return a client for one event loop, which connects on first use."""
    client: on_loop.Redis = _client(url, on_loop.Redis, sentinel_on_loop.Sentinel, RetryOnLoop(NoBackoff(), 0), options)
    connection: Any = client.connection_pool.connection_class

    class _Leaving(connection):  # type: ignore[misc] # the class of the URL's scheme
        async def read_response(self, *args: Any, **options: Any) -> Any:
            try:
                return await super().read_response(*args, **options)
            except redis.ResponseError as error:
                if not _is_no_primary(error):
                    raise
                await self.disconnect()
                raise redis.ConnectionError(f"it is not the primary: {error}") from error

    client.connection_pool.connection_class = _Leaving
    return client


def _client(url: str, kind: Any, manager: Any, retry: Any, options: dict[str, Any]) -> Any:
    """Return a client of the class `kind`. `manager`: the class that asks Sentinels; `retry`: its policy of retries."""
    if (sentinels := SentinelUrl.read(url)) is None:
        return kind.from_url(url, **options)
    sentinel_manager = manager(sentinels.hosts, sentinel_kwargs=sentinel_options(sentinels) | {"retry": retry})
    servers = {"db": sentinels.database, **sentinels.login, **_tls(sentinels)}
    return sentinel_manager.master_for(sentinels.service, kind, **servers, **options)


def leave_replicas(pool: Any) -> Any:
    """Make a pool's future connections close when their server is not the primary. Return the pool."""
    connection: Any = pool.connection_class

    class _Leaving(connection):  # type: ignore[misc] # the class of the URL's scheme
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            _leaving.add(self)

        def read_response(self, *args: Any, **options: Any) -> Any:
            try:
                return super().read_response(*args, **options)
            except redis.ResponseError as error:
                if not _is_no_primary(error):
                    raise
                self.disconnect()
                raise redis.ConnectionError(f"it is not the primary: {error}") from error

    pool.connection_class = _Leaving
    return pool


def cut() -> None:
    """Shut down this process's Redis connections in all threads, except those on an event loop.

    Call it when a silent server has been replaced. Otherwise each connection waits for its own timeout.
    """
    for connection in _all_leaving():
        if (connected := connection._sock) is not None:
            with suppress(OSError):  # closed in the meantime
                connected.shutdown(socket.SHUT_RDWR)


def _all_leaving() -> "list[Any]":
    while True:
        with suppress(RuntimeError):  # another thread made a connection meanwhile
            return list(_leaving)


def sentinel_options(sentinels: SentinelUrl) -> dict[str, Any]:
    """Return the arguments for connections to the Sentinels."""
    return {
        **sentinels.sentinel_login,
        **_tls(sentinels),
        "socket_timeout": SENTINEL_ANSWERS_WITHIN,
        "socket_connect_timeout": SENTINEL_ANSWERS_WITHIN,
        "retry": Retry(NoBackoff(), 0),
    }


def _is_no_primary(error: redis.ResponseError) -> bool:
    # Before release 7, the error of a script contains the error of its command.
    no_class = str(error).startswith(NO_PRIMARY) or "-READONLY" in str(error)
    return isinstance(error, redis.ReadOnlyError | MasterDownError) or no_class


def _tls(sentinels: SentinelUrl) -> dict[str, Any]:
    return {"ssl": True, **sentinels.tls} if sentinels.tls else {}
