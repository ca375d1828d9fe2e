"""A watch on the ledger's pool: whether connections still come free, seen without asking for one."""

import time
from collections.abc import Callable

from sqlalchemy import Engine, event
from sqlalchemy.pool import QueuePool

STUCK_AFTER = 60.0  # s


class PoolWatch:
    """Watches an engine's pool. It is stuck where all its connections are lent, and for a minute none changed hands."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        """`engine` has a pool of its own, with a bound."""
        assert isinstance(engine.pool, QueuePool)  # noqa: S101 - as every engine for Postgres has
        self._pool = engine.pool
        self._clock = clock
        self._moved = clock()
        event.listen(self._pool, "checkout", self._changed_hands)
        event.listen(self._pool, "checkin", self._changed_hands)

    @property
    def stuck(self) -> bool:
        """True where nobody could have had a connection for that long."""
        lent = self._pool.checkedout() >= self._pool.size() + self._pool._max_overflow
        return lent and self._clock() - self._moved >= STUCK_AFTER

    def _changed_hands(self, *_: object) -> None:
        self._moved = self._clock()
