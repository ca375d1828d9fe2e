"""Backpressure: nothing is begun that the servers could not take the end of.

Whoever speaks to the ledger or the broker again and again says here how it went. While one of them is in trouble no
item is claimed, and while the ledger is, no call is begun: an answer is paid for, so there must be somewhere to put it.
Calls in flight are finished, and their answers kept until they can be written. It is over when everybody who met
trouble has got through again. The log gets one line at its beginning and one at its end.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Server(StrEnum):
    """The servers that a worker cannot work without."""

    LEDGER = "ledger"
    BROKER = "broker"


NEEDED_FOR = {
    Server.LEDGER: "no item and no call is begun until results can be written",
    Server.BROKER: "no item is begun until the broker serves again",
}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trouble:
    """The reason why a worker holds back."""

    server: Server
    reason: str  # one line, without secrets
    since: float  # by `time.monotonic`


class Backpressure:
    """The state of the servers as one worker process meets it; on its loop, but `trouble` may be read on any thread."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failing: dict[Server, set[str]] = {server: set() for server in Server}
        self._troubles: dict[Server, Trouble] = {}
        self._over = {server: asyncio.Event() for server in Server}
        for event in self._over.values():
            event.set()

    @property
    def trouble(self) -> Trouble | None:
        """The present trouble, that of the ledger first; None where there is none."""
        return self._troubles.get(Server.LEDGER) or self._troubles.get(Server.BROKER)

    @property
    def calls_wait(self) -> bool:
        """Whether no call may be begun now."""
        return Server.LEDGER in self._troubles

    def in_trouble(self, server: Server) -> bool:
        """Whether this server is in trouble."""
        return server in self._troubles

    async def clear(self) -> None:
        """Return when an item may be claimed; at once where nothing is wrong."""
        while self._troubles:
            await self._over[next(iter(self._troubles))].wait()

    async def clear_for_calls(self) -> None:
        """Return when a call may be begun; at once where the ledger takes results."""
        while self.calls_wait:
            await self._over[Server.LEDGER].wait()

    def failed(self, server: Server, source: str, reason: object) -> None:
        """Note that somebody, who will try again, could not get through to a server."""
        self._failing[server].add(source)
        if server not in self._troubles:
            trouble = Trouble(server, str(reason), self._clock())
            self._troubles[server] = trouble
            self._over[server].clear()
            log.warning("%s: %s", NEEDED_FOR[server], trouble.reason)

    def worked(self, server: Server, source: str) -> None:
        """Note that somebody got through to a server."""
        failing = self._failing[server]
        if source not in failing:
            return
        failing.remove(source)
        if not failing:
            trouble = self._troubles.pop(server)
            self._over[server].set()
            log.warning("the %s works again after %.0f s", server, self._clock() - trouble.since)
