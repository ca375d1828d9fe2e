"""The store of the request formats of an endpoint's models.

The store in `tamis_worker.ledger.dialects` uses the ledger. The store in this file uses the memory of one process. Both
implement `DialectStore`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from .chat import START, is_below
from .dialect import RungState

LEASE = 30.0  # s that one call may try a format alone; other calls wait no longer, even for a slow endpoint
CLIMB_AFTER = 24 * 3600.0  # s until a model with a less binding format is asked in the first format again


@dataclass(frozen=True, slots=True)
class Leased:
    """The reply to a request for a lease: the state of a model's request format, and whether the lease was granted."""

    state: RungState
    granted: bool


class DialectStore(Protocol):
    """The interface of a store of request formats. Methods raise `LedgerUnavailable` if the store does not answer."""

    async def look(self, model: str) -> RungState | None:
        """Return a model's stored request format, and whether it is proven; None if nothing is stored."""

    async def lease(self, model: str, holder: str) -> Leased:
        """Request the lease on a model's request format: the right of one call, `holder`, to try the format.

        The lease is granted only if no other call holds it, and there is something to try: the format is not yet
        proven, or the start format is due for another try.
        """

    async def exchange(self, model: str, seen: RungState, then: RungState) -> RungState:
        """Store the state `then` if the stored state is still `seen`. Return the state that is stored afterwards.

        The start format is tried again a day after the last replacement.
        """

    async def release(self, model: str, holder: str) -> None:
        """Release the lease if `holder` holds it."""


def endpoint_name(base_url: str) -> str:
    """Return an endpoint's name in the ledger: its base URL without the secret parts (user, password, query)."""
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2].lower()
    return urlunsplit((parts.scheme.lower(), host, parts.path.rstrip("/"), "", ""))


@dataclass(slots=True)
class _Row:
    state: RungState
    changed_at: float
    holder: str | None = None
    until: float = 0.0


@dataclass
class MemoryDialects:
    """A store of request formats in the memory of one process. `clock` returns the time in seconds."""

    clock: Callable[[], float] = time.monotonic
    lease_for: float = LEASE
    rows: dict[str, _Row] = field(default_factory=dict)

    async def look(self, model: str) -> RungState | None:
        """Return a model's stored request format, and whether it is proven; None if nothing is stored."""
        row = self.rows.get(model)
        return None if row is None else self._now(row)

    async def lease(self, model: str, holder: str) -> Leased:
        """Request the lease on a model's request format: the right of one call, `holder`, to try the format."""
        now = self.clock()
        row = self.rows.setdefault(model, _Row(RungState(), now))
        state = self._now(row)
        free = row.holder is None or row.until <= now or row.holder == holder
        granted = free and (state.due or not state.proven)
        if granted:
            row.holder, row.until = holder, now + self.lease_for
        return Leased(state, granted)

    async def exchange(self, model: str, seen: RungState, then: RungState) -> RungState:
        """Store the state `then` if the stored state is still `seen`. Return the state that is stored afterwards."""
        row = self.rows.setdefault(model, _Row(seen, self.clock()))
        if row.state == seen:
            row.state, row.changed_at = replace(then, due=False), self.clock()
        return self._now(row)

    async def release(self, model: str, holder: str) -> None:
        """Release the lease if `holder` holds it."""
        row = self.rows.get(model)
        if row is not None and row.holder == holder:
            row.holder = None

    def _now(self, row: _Row) -> RungState:
        old = self.clock() - row.changed_at >= CLIMB_AFTER
        return replace(row.state, due=old and is_below(row.state.rung, START))
