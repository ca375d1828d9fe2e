"""Celery's connections to Redis, which close if their server is not the primary. New ones reach the primary."""

from typing import Any

import kombu
from celery.app.amqp import AMQP
from kombu.transport import redis

from ..config.redis_clients import leave_replicas


class FailoverChannel(redis.Channel):  # type: ignore[misc] # kombu ships no types
    """A channel to one Redis server. Its connections close when the server is not the primary."""

    def _get_pool(self, asynchronous: bool = False) -> Any:
        return leave_replicas(super()._get_pool(asynchronous))


class FailoverSentinelChannel(redis.SentinelChannel):  # type: ignore[misc]
    """A channel to the primary that Sentinels name. Its connections close when the server is no longer the primary."""

    def _get_pool(self, asynchronous: bool = False) -> Any:
        return leave_replicas(super()._get_pool(asynchronous))


class FailoverTransport(redis.Transport):  # type: ignore[misc]
    """The transport to one Redis server. Its channels disconnect from a server that became a replica."""

    Channel = FailoverChannel


class FailoverSentinelTransport(redis.SentinelTransport):  # type: ignore[misc]
    """The transport to the primary that Sentinels name. Its channels disconnect from a server that became a replica."""

    Channel = FailoverSentinelChannel


TRANSPORTS = {"redis": FailoverTransport, "rediss": FailoverTransport, "sentinel": FailoverSentinelTransport}


class FailoverConnection(kombu.Connection):  # type: ignore[misc]
    """A connection that uses the transport in `TRANSPORTS` for its URL's scheme, which Celery's tools read too."""

    def get_transport_cls(self) -> Any:
        return TRANSPORTS.get(self.transport_cls) or super().get_transport_cls()


class FailoverAMQP(AMQP):  # type: ignore[misc]
    """The part of Celery that makes connections, here with `FailoverConnection`."""

    Connection = BrokerConnection = FailoverConnection
