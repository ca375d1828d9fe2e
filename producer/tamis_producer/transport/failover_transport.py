"""Celery's connections to Redis, which leave a server that is not the primary (any more); see `redis_clients`."""

from typing import Any

import kombu
from celery.app.amqp import AMQP
from kombu.transport import redis

from ..config.redis_clients import leave_replicas


class FailoverChannel(redis.Channel):  # type: ignore[misc] # kombu ships no types
    """A channel to one server."""

    def _get_pool(self, asynchronous: bool = False) -> Any:
        return leave_replicas(super()._get_pool(asynchronous))


class FailoverSentinelChannel(redis.SentinelChannel):  # type: ignore[misc]
    """A channel to the primary that Sentinels name."""

    def _get_pool(self, asynchronous: bool = False) -> Any:
        return leave_replicas(super()._get_pool(asynchronous))


class FailoverTransport(redis.Transport):  # type: ignore[misc]
    """The transport to one server."""

    Channel = FailoverChannel


class FailoverSentinelTransport(redis.SentinelTransport):  # type: ignore[misc]
    """The transport to the primary that Sentinels name."""

    Channel = FailoverSentinelChannel


TRANSPORTS = {"redis": FailoverTransport, "rediss": FailoverTransport, "sentinel": FailoverSentinelTransport}


class FailoverConnection(kombu.Connection):  # type: ignore[misc]
    """A connection that uses the transports above. Its URL keeps Celery's scheme, because Celery's tools read it."""

    def get_transport_cls(self) -> Any:
        return TRANSPORTS.get(self.transport_cls) or super().get_transport_cls()


class FailoverAMQP(AMQP):  # type: ignore[misc]
    """Celery's part that makes connections."""

    Connection = BrokerConnection = FailoverConnection
