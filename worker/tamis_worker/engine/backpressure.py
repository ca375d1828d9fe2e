"""Backpressure: nothing is begun that the servers could not take the end of.

Whoever speaks to the ledger or the broker again and again says here how it went. While one of them is in trouble no
item is claimed, and while the ledger is, no call is begun: an answer is paid for, so there must be somewhere to put it.
Calls in flight are finished, and their answers kept until they can be written. It is over when everybody who met
trouble has got through again. The log gets one line at its beginning and one at its end.

A probe asks every second whether Redis takes what is written to it, because a full or read-only one answers pings.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from tamis_producer.config.settings import REDIS_SCHEMES
from tamis_producer.transport.broker import place, what_is_wrong
from tamis_schemas.batches import wire

# All times are in seconds.
LOOK_EVERY = 1.0
ANSWER_WITHIN = 3.0
KEPT = 60  # of what is written

AWAY = (RedisError, OSError, TimeoutError)


class RequiredServer(StrEnum):
    """The servers that a worker cannot work without."""

    LEDGER = "ledger"
    BROKER = "broker"


NEEDED_FOR = {
    RequiredServer.LEDGER: "no item and no call is begun until results can be written",
    RequiredServer.BROKER: "no item is begun until the broker serves again",
}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trouble:
    """The reason why a worker holds back."""

    server: RequiredServer
    reason: str  # one line, without secrets
    since: float  # by `time.monotonic`


class Backpressure:
    """The state of the servers as one worker process meets it; on its loop, but `trouble` may be read on any thread."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failing: dict[RequiredServer, set[str]] = {server: set() for server in RequiredServer}
        self._troubles: dict[RequiredServer, Trouble] = {}
        self._over = {server: asyncio.Event() for server in RequiredServer}
        for event in self._over.values():
            event.set()

    @property
    def trouble(self) -> Trouble | None:
        """The present trouble, that of the ledger first; None where there is none."""
        return self._troubles.get(RequiredServer.LEDGER) or self._troubles.get(RequiredServer.BROKER)

    @property
    def calls_wait(self) -> bool:
        """Whether no call may be begun now."""
        return RequiredServer.LEDGER in self._troubles

    def in_trouble(self, server: RequiredServer) -> bool:
        """Whether this server is in trouble."""
        return server in self._troubles

    async def clear(self) -> None:
        """Return when an item may be claimed; at once where nothing is wrong."""
        while self._troubles:
            await self._over[next(iter(self._troubles))].wait()

    async def clear_for_calls(self) -> None:
        """Return when a call may be begun; at once where the ledger takes results."""
        while self.calls_wait:
            await self._over[RequiredServer.LEDGER].wait()

    def failed(self, server: RequiredServer, source: str, reason: object) -> None:
        """Note that somebody, who will try again, could not get through to a server."""
        self._failing[server].add(source)
        if server not in self._troubles:
            trouble = Trouble(server, str(reason), self._clock())
            self._troubles[server] = trouble
            self._over[server].clear()
            log.warning("%s: %s", NEEDED_FOR[server], trouble.reason)

    def worked(self, server: RequiredServer, source: str) -> None:
        """Note that somebody got through to a server."""
        failing = self._failing[server]
        if source not in failing:
            return
        failing.remove(source)
        if not failing:
            trouble = self._troubles.pop(server)
            self._over[server].set()
            log.warning("the %s works again after %.0f s", server, self._clock() - trouble.since)


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
            self._backpressure.worked(RequiredServer.BROKER, where)

    def _failed(self, where: str, error: Exception) -> None:
        self._backpressure.failed(RequiredServer.BROKER, where, f"Redis at {where} {what_is_wrong(error)}")
