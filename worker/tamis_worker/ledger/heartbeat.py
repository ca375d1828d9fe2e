"""The lease of a worker: as long as it is renewed, the worker's claims are valid. And how the worker is.

A lease that is over proves a death only to somebody who would have seen the worker live. While the ledger is away
nobody can renew, and whoever came back first would take all others for dead, and pay for their items once more. So a
worker judges others only after it has itself renewed for a whole lease without a gap of more than two thirds of one:
every worker that lives has renewed in that time, or had two thirds of a lease to do so before the gap began.
"""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_producer.ledger.worker_view import WorkerReport

from .connection import transaction

# Ages become times by the database's clock.
_RENEW = text("""
INSERT INTO workers (id, lease_until, host, pid, concurrency, in_flight, version, state, state_since, reason,
                     progress_at, judges_from, judges_until)
VALUES (:id, now() + make_interval(secs => :lease), :host, :pid, :concurrency, :in_flight, :version, :state,
        now() - make_interval(secs => :state_for), :reason, now() - make_interval(secs => :idle_for),
        now() + make_interval(secs => :lease), now() + make_interval(secs => :gap))
ON CONFLICT (id) DO UPDATE SET
    lease_until = EXCLUDED.lease_until, in_flight = EXCLUDED.in_flight, state = EXCLUDED.state,
    state_since = EXCLUDED.state_since, reason = EXCLUDED.reason, progress_at = EXCLUDED.progress_at,
    judges_from = CASE WHEN workers.judges_until > now() THEN workers.judges_from ELSE EXCLUDED.judges_from END,
    judges_until = EXCLUDED.judges_until
""")
GAP = 2 / 3  # of a lease; with three beats in one, no worker that lives has less than this left when a gap begins

_END = text("DELETE FROM workers WHERE id = :worker")


async def renew(engine: AsyncEngine, report: WorkerReport, *, lease: float) -> None:
    """Hold the lease for another `lease` seconds by the database's clock. Raises `LedgerUnavailable`."""
    async with transaction(engine) as connection:
        await connection.execute(
            _RENEW, report.model_dump(exclude={"running_for"}) | {"lease": lease, "gap": GAP * lease}
        )


async def end(engine: AsyncEngine, *, worker: str) -> None:
    """Give the lease up: what the worker may still hold can be claimed by others at once."""
    async with transaction(engine) as connection:
        await connection.execute(_END, {"worker": worker})
