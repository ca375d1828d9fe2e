"""Whether Redis takes what is written to it: asked every second, because a full or read-only one answers pings."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from tamis_producer.config.settings import REDIS_SCHEMES
from tamis_producer.transport.broker import place, what_is_wrong
from tamis_schemas.batches import wire

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
        self._broker: str | None = None  # its place, where it is Redis
        for number, url in enumerate(urls):
            if urlsplit(url).scheme in REDIS_SCHEMES:
                self._urls.setdefault(place(url), url)
                self._broker = place(url) if number == 0 else self._broker

    async def run(self) -> None:
        """Ask until cancelled."""
        clients = {
            where: Redis.from_url(
                url,
                socket_timeout=ANSWER_WITHIN,
                socket_connect_timeout=ANSWER_WITHIN,
                retry=Retry(NoBackoff(), 0),  # the next look is the next try
            )
            for where, url in self._urls.items()
        }
        try:
            while True:
                for where, client in clients.items():
                    await self._look(where, client)
                await asyncio.sleep(LOOK_EVERY)
        finally:
            for client in clients.values():
                with suppress(*AWAY):
                    await client.aclose()

    def noticed(self, error: Exception) -> None:
        """Somebody else was refused something by the broker: it is in trouble until it is asked again."""
        if self._broker is not None:
            self._failed(self._broker, error)

    async def _look(self, where: str, client: "Redis") -> None:
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                await client.set(wire.PROBE_KEY, "1", ex=KEPT)
        except AWAY as error:
            self._failed(where, error)
        else:
            self._backpressure.worked(Server.BROKER, where)

    def _failed(self, where: str, error: Exception) -> None:
        self._backpressure.failed(Server.BROKER, where, f"Redis at {where} {what_is_wrong(error)}")
