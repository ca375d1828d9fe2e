"""The store in which workers keep the state of each model's rung, of one endpoint.

The ledger's is `tamis_worker.ledger.dialects`; the one here is for a process alone. Both keep the same contract.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from .chat import START, is_below
from .dialect import RungState

LEASE = 30.0  # s that one call may find out alone; an endpoint that takes longer makes others wait no longer
CLIMB_AFTER = 24 * 3600.0  # s until a rung below the start is tried for being too low


@dataclass(frozen=True, slots=True)
class Leased:
    """The state of a rung, and whether the call may find out more: no other one does so now."""

    state: RungState
    granted: bool


class DialectStore(Protocol):
    """Raises `LedgerUnavailable` where it cannot be reached."""

    async def look(self, model: str) -> RungState | None:
        """The state of a model's rung; None: nothing is known."""

    async def lease(self, model: str, holder: str) -> Leased:
        """Ask to be the one call that finds out.

        Granted where nobody else holds the lease, and there is something to find out: the rung is not proven, or it is
        due to be tried again.
        """

    async def exchange(self, model: str, seen: RungState, then: RungState) -> RungState:
        """Put `then` in the place of what was seen, if that is still there; what is there now.

        The day until the rung is tried again begins anew.
        """

    async def release(self, model: str, holder: str) -> None:
        """Give the lease up, if this holder has it."""


def endpoint_name(base_url: str) -> str:
    """An endpoint's name in the ledger: its base URL without user, password and query, which may be secrets."""
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
    """Kept by one process; lost with it. Times are of `clock`, in seconds."""

    clock: Callable[[], float] = time.monotonic
    lease_for: float = LEASE
    rows: dict[str, _Row] = field(default_factory=dict)

    async def look(self, model: str) -> RungState | None:
        """See `DialectStore`."""
        row = self.rows.get(model)
        return None if row is None else self._now(row)

    async def lease(self, model: str, holder: str) -> Leased:
        """See `DialectStore`."""
        now = self.clock()
        row = self.rows.setdefault(model, _Row(RungState(), now))
        state = self._now(row)
        free = row.holder is None or row.until <= now or row.holder == holder
        granted = free and (state.due or not state.proven)
        if granted:
            row.holder, row.until = holder, now + self.lease_for
        return Leased(state, granted)

    async def exchange(self, model: str, seen: RungState, then: RungState) -> RungState:
        """See `DialectStore`."""
        row = self.rows.setdefault(model, _Row(seen, self.clock()))
        if row.state == seen:
            row.state, row.changed_at = replace(then, due=False), self.clock()
        return self._now(row)

    async def release(self, model: str, holder: str) -> None:
        """See `DialectStore`."""
        row = self.rows.get(model)
        if row is not None and row.holder == holder:
            row.holder = None

    def _now(self, row: _Row) -> RungState:
        old = self.clock() - row.changed_at >= CLIMB_AFTER
        return replace(row.state, due=old and is_below(row.state.rung, START))
