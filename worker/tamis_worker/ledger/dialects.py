"""The request format (`Rung`) of each model at each endpoint, stored for all workers and across restarts.

All times are by the database's clock. Each statement concerns one row, and is its own transaction.
"""

from sqlalchemy import Row, TextClause, text
from sqlalchemy.ext.asyncio import AsyncEngine

from ..llm.chat import START, Rung, is_below
from ..llm.dialect import RungState
from ..llm.dialect_store import CLIMB_AFTER, LEASE, Leased
from .connection import storable, transaction

# `due`: the format is less binding than the start format, and has not changed for a day.
_LOOK = text("""
SELECT rung, proven, unusable,
       rung = ANY(CAST(:below AS text[])) AND changed_at <= now() - make_interval(secs => :climb_after) AS due
FROM dialects WHERE endpoint = :endpoint AND model = :model
""")

# The first lease creates a model's row. Of two simultaneous requests, the second sees the first one's row.
_LEASE = text("""
INSERT INTO dialects AS d (endpoint, model, rung, probe_worker, probe_until)
VALUES (:endpoint, :model, :start, :holder, now() + make_interval(secs => :lease_for))
ON CONFLICT (endpoint, model) DO UPDATE
SET probe_worker = excluded.probe_worker, probe_until = excluded.probe_until
WHERE (d.probe_until IS NULL OR d.probe_until <= now() OR d.probe_worker = excluded.probe_worker)
  AND (NOT d.proven
       OR d.rung = ANY(CAST(:below AS text[])) AND d.changed_at <= now() - make_interval(secs => :climb_after))
RETURNING rung, proven, unusable,
          rung = ANY(CAST(:below AS text[])) AND changed_at <= now() - make_interval(secs => :climb_after) AS due
""")

_EXCHANGE = text("""
INSERT INTO dialects AS d (endpoint, model, rung, proven, unusable)
VALUES (:endpoint, :model, :rung, :proven, :unusable)
ON CONFLICT (endpoint, model) DO UPDATE
SET rung = excluded.rung, proven = excluded.proven, unusable = excluded.unusable, changed_at = now()
WHERE d.rung = :seen_rung AND d.proven = :seen_proven AND d.unusable = :seen_unusable
RETURNING rung, proven, unusable, false AS due
""")

_RELEASE = text("""
UPDATE dialects SET probe_worker = NULL, probe_until = NULL
WHERE endpoint = :endpoint AND model = :model AND probe_worker = :holder
""")


class LedgerDialects:
    """The store of request formats that all workers share. Its engine must commit each statement by itself."""

    def __init__(self, engine: AsyncEngine, endpoint: str) -> None:
        """Prepare the store of one endpoint. `endpoint`: the endpoint's name, as `endpoint_name` returns it."""
        self._engine = engine
        self._endpoint = storable(endpoint)

    async def look(self, model: str) -> RungState | None:
        """Return a model's stored request format, and whether it is proven; None if nothing is stored."""
        row = await self._row(_LOOK, model)
        return None if row is None else _state(row)

    async def lease(self, model: str, holder: str) -> Leased:
        """Request the lease on a model's request format: the right of one call, `holder`, to try the format."""
        row = await self._row(_LEASE, model, holder=holder, start=START.value, lease_for=LEASE)
        if row is not None:
            return Leased(_state(row), granted=True)
        return Leased(await self.look(model) or RungState(), granted=False)

    async def exchange(self, model: str, seen: RungState, then: RungState) -> RungState:
        """Store the state `then` if the stored state is still `seen`. Return the state that is stored afterwards."""
        row = await self._row(
            _EXCHANGE,
            model,
            rung=then.rung.value,
            proven=then.proven,
            unusable=then.unusable,
            seen_rung=seen.rung.value,
            seen_proven=seen.proven,
            seen_unusable=seen.unusable,
        )
        return await self.look(model) or then if row is None else _state(row)

    async def release(self, model: str, holder: str) -> None:
        """Release the lease if `holder` holds it."""
        async with transaction(self._engine) as connection:
            parameters = {"endpoint": self._endpoint, "model": storable(model), "holder": holder}
            await connection.execute(_RELEASE, parameters)

    async def _row(self, statement: TextClause, model: str, **parameters: object) -> Row[tuple[object, ...]] | None:
        below = [rung.value for rung in Rung if is_below(rung, START)]
        parameters |= {"endpoint": self._endpoint, "model": storable(model), "below": below, "climb_after": CLIMB_AFTER}
        async with transaction(self._engine) as connection:
            return (await connection.execute(statement, parameters)).one_or_none()


def _state(row: Row[tuple[object, ...]]) -> RungState:
    # A format that only a later release knows is read as the least binding format.
    rung = next((rung for rung in Rung if rung.value == row.rung), Rung.REMINDED)
    return RungState(rung, proven=row.proven, unusable=row.unusable, due=row.due)
