"""Backpressure: no work begins if the ledger or the broker could not accept its result.

The parts of a worker that use the ledger or the broker report success and failure here. While either server is in
trouble, no item is claimed. While the ledger is in trouble, no model call begins either, because a paid answer could
not be stored. Calls in flight finish, and their answers are kept. Trouble ends when every part that reported a failure
has reported success. The log shows the beginning and the end of trouble.

A probe writes to Redis every second, because a full or read-only Redis still answers pings.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeout

from tamis_producer.config.redis_clients import connect_on_loop, cut
from tamis_producer.config.sentinel_url import is_redis
from tamis_producer.transport.broker import place, what_is_wrong
from tamis_schemas.batches import wire

# All times are in seconds.
LOOK_EVERY = 1.0
ANSWER_WITHIN = 3.0
KEPT = 60  # of the probe's key

AWAY = (RedisError, OSError, TimeoutError)


class RequiredServer(StrEnum):
    """A server that every worker needs."""

    LEDGER = "ledger"
    BROKER = "broker"


NEEDED_FOR = {
    RequiredServer.LEDGER: "no item or call begins until results can be written",
    RequiredServer.BROKER: "no item begins until the broker works again",
}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trouble:
    """A failure of a server, for which a worker waits."""

    server: RequiredServer
    reason: str  # one line, without secrets
    since: float  # by `time.monotonic`


class Backpressure:
    """The state of the ledger and the broker, as one worker process sees it.

    Use the object on the event loop only. The property `trouble` may be read from any thread.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failing: dict[RequiredServer, set[str]] = {server: set() for server in RequiredServer}
        self._troubles: dict[RequiredServer, Trouble] = {}
        self._over = {server: asyncio.Event() for server in RequiredServer}
        for event in self._over.values():
            event.set()

    @property
    def trouble(self) -> Trouble | None:
        """The trouble of the ledger or, if the ledger works, the trouble of the broker. None if both work."""
        return self._troubles.get(RequiredServer.LEDGER) or self._troubles.get(RequiredServer.BROKER)

    @property
    def calls_wait(self) -> bool:
        """True if no model call may begin now, because the ledger is in trouble."""
        return RequiredServer.LEDGER in self._troubles

    def in_trouble(self, server: RequiredServer) -> bool:
        """Return whether this server is in trouble."""
        return server in self._troubles

    async def clear(self) -> None:
        """Wait until the ledger and the broker work, so that items may be claimed."""
        while self._troubles:
            await self._over[next(iter(self._troubles))].wait()

    async def clear_for_calls(self) -> None:
        """Wait until the ledger accepts results, so that model calls may begin."""
        while self.calls_wait:
            await self._over[RequiredServer.LEDGER].wait()

    def failed(self, server: RequiredServer, source: str, reason: object) -> None:
        """Record that a part of the worker (`source`) could not use a server. The part retries, then calls `worked`."""
        self._failing[server].add(source)
        if server not in self._troubles:
            trouble = Trouble(server, str(reason), self._clock())
            self._troubles[server] = trouble
            self._over[server].clear()
            log.warning("%s: %s", NEEDED_FOR[server], trouble.reason)

    def worked(self, server: RequiredServer, source: str) -> None:
        """Record that a part of the worker (`source`) could use a server."""
        failing = self._failing[server]
        if source not in failing:
            return
        failing.remove(source)
        if not failing:
            trouble = self._troubles.pop(server)
            self._over[server].set()
            log.warning("the %s works again after %.0f s", server, self._clock() - trouble.since)


class BrokerProbe:
    """The probe that writes a small key to each Redis server."""

    def __init__(self, urls: Iterable[str], backpressure: Backpressure) -> None:
        """Select the Redis servers among `urls`. The first URL is the broker's.

        URLs of several databases on one server count as one server.
        """
        self._backpressure = backpressure
        self._urls: dict[str, str] = {}
        self._silent: set[str] = set()
        self._broker: str | None = None  # the broker's place; None: the broker is not Redis
        for number, url in enumerate(urls):
            if is_redis(url):
                self._urls.setdefault(place(url), url)
                self._broker = place(url) if number == 0 else self._broker

    async def run(self) -> None:
        """Write the key to each server every `LOOK_EVERY` seconds, until this coroutine is cancelled."""
        clients = {
            address: connect_on_loop(
                url,
                socket_timeout=ANSWER_WITHIN,
                socket_connect_timeout=ANSWER_WITHIN,
                retry=Retry(NoBackoff(), 0),  # the next probe is the next try
            )
            for address, url in self._urls.items()
        }
        try:
            while True:
                for address, client in clients.items():
                    await self._look(address, client)
                await asyncio.sleep(LOOK_EVERY)
        finally:
            for client in clients.values():
                with suppress(*AWAY):
                    await client.aclose()

    def noticed(self, error: Exception) -> None:
        """Record an error with which the broker refused a request of another part of the worker.

        The trouble lasts until a probe succeeds.
        """
        if self._broker is not None:
            self._failed(self._broker, error)

    async def _look(self, address: str, client: "Redis") -> None:
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                await client.set(wire.PROBE_KEY, "1", ex=KEPT)
        except AWAY as error:
            self._failed(address, error)
            if isinstance(error, TimeoutError | RedisTimeout):
                self._silent.add(address)
        else:
            if address in self._silent:  # another server may answer now
                self._silent.remove(address)
                cut()
            self._backpressure.worked(RequiredServer.BROKER, address)

    def _failed(self, address: str, error: Exception) -> None:
        self._backpressure.failed(RequiredServer.BROKER, address, f"Redis at {address} {what_is_wrong(error)}")
