"""Whether Redis takes what is written to it: asked every second, because a full or read-only one answers pings."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from tamis_producer.broker import what_is_wrong
from tamis_schemas import wire

from .backpressure import Backpressure, Server

# All times are in seconds.
LOOK_EVERY = 1.0
ANSWER_WITHIN = 3.0
KEPT = 60  # of what is written

AWAY = (RedisError, OSError, TimeoutError)


class BrokerProbe:
    """Writes one small key to each server, and tells the backpressure how that went."""

    def __init__(self, urls: Iterable[str], backpressure: Backpressure) -> None:
        """The first one is the broker's. Each server is asked once, whatever databases of it are in use; what is not
        Redis is not asked at all.
        """
        self._backpressure = backpressure
        self._urls: dict[str, str] = {}
        for url in urls:
            parts = urlsplit(url)
            if parts.scheme in ("redis", "rediss"):
                self._urls.setdefault(f"{parts.hostname}:{parts.port or 6379}", url)

    async def run(self) -> None:
        """Ask until cancelled."""
        clients = {
            place: Redis.from_url(
                url,
                socket_timeout=ANSWER_WITHIN,
                socket_connect_timeout=ANSWER_WITHIN,
                retry=Retry(NoBackoff(), 0),  # the next look is the next try
            )
            for place, url in self._urls.items()
        }
        try:
            while True:
                for place, client in clients.items():
                    await self._look(place, client)
                await asyncio.sleep(LOOK_EVERY)
        finally:
            for client in clients.values():
                with suppress(*AWAY):
                    await client.aclose()

    def noticed(self, error: Exception) -> None:
        """Somebody else was refused something by the broker: it is in trouble until it is asked again."""
        if self._urls:
            self._failed(next(iter(self._urls)), error)

    async def _look(self, place: str, client: "Redis") -> None:
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                await client.set(wire.PROBE_KEY, "1", ex=KEPT)
        except AWAY as error:
            self._failed(place, error)
        else:
            self._backpressure.worked(Server.BROKER, place)

    def _failed(self, place: str, error: Exception) -> None:
        self._backpressure.failed(Server.BROKER, place, f"Redis at {place} {what_is_wrong(error)}")
