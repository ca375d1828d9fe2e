"""Where the workers keep what answers have taught them: by model, of one endpoint.

The ledger's is `tamis_worker.ledger.dialects`; the one here is for a process alone. Both keep the same contract.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from .lesson import Learned
from .rung import START, is_below

LEASE = 30.0  # s that one call may find out alone; an endpoint that takes longer makes others wait no longer
CLIMB_AFTER = 24 * 3600.0  # s until a rung below the start is tried for being too low


@dataclass(frozen=True, slots=True)
class Leased:
    """What is known, and whether the call may find out more: no other one does so now."""

    learned: Learned
    granted: bool


class DialectStore(Protocol):
    """Raises `LedgerUnavailable` where it cannot be reached."""

    async def look(self, model: str) -> Learned | None:
        """What is known of a model; None: nothing."""

    async def lease(self, model: str, holder: str) -> Leased:
        """Ask to be the one call that finds out.

        Granted where nobody else holds the lease, and there is something to find out: the rung is not proven, or it is
        due to be tried again.
        """

    async def exchange(self, model: str, seen: Learned, then: Learned) -> Learned:
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
    learned: Learned
    changed_at: float
    holder: str | None = None
    until: float = 0.0


@dataclass
class MemoryDialects:
    """Kept by one process; lost with it. Times are of `clock`, in seconds."""

    clock: Callable[[], float] = time.monotonic
    lease_for: float = LEASE
    rows: dict[str, _Row] = field(default_factory=dict)

    async def look(self, model: str) -> Learned | None:
        """See `DialectStore`."""
        row = self.rows.get(model)
        return None if row is None else self._now(row)

    async def lease(self, model: str, holder: str) -> Leased:
        """See `DialectStore`."""
        now = self.clock()
        row = self.rows.setdefault(model, _Row(Learned(), now))
        learned = self._now(row)
        free = row.holder is None or row.until <= now or row.holder == holder
        granted = free and (learned.due or not learned.proven)
        if granted:
            row.holder, row.until = holder, now + self.lease_for
        return Leased(learned, granted)

    async def exchange(self, model: str, seen: Learned, then: Learned) -> Learned:
        """See `DialectStore`."""
        row = self.rows.setdefault(model, _Row(seen, self.clock()))
        if row.learned == seen:
            row.learned, row.changed_at = replace(then, due=False), self.clock()
        return self._now(row)

    async def release(self, model: str, holder: str) -> None:
        """See `DialectStore`."""
        row = self.rows.get(model)
        if row is not None and row.holder == holder:
            row.holder = None

    def _now(self, row: _Row) -> Learned:
        old = self.clock() - row.changed_at >= CLIMB_AFTER
        return replace(row.learned, due=old and is_below(row.learned.rung, START))
