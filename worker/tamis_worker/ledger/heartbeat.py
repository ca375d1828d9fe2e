"""The lease of a worker: as long as it is renewed, the worker's claims are valid."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from .connection import transaction

_RENEW = text("""
INSERT INTO workers (id, lease_until) VALUES (:worker, now() + make_interval(secs => :lease))
ON CONFLICT (id) DO UPDATE SET lease_until = EXCLUDED.lease_until
""")
_END = text("DELETE FROM workers WHERE id = :worker")


async def renew(engine: AsyncEngine, *, worker: str, lease: float) -> None:
    """Hold the lease for another `lease` seconds by the database's clock. Raises `LedgerUnavailable`."""
    async with transaction(engine) as connection:
        await connection.execute(_RENEW, {"worker": worker, "lease": lease})


async def end(engine: AsyncEngine, *, worker: str) -> None:
    """Give the lease up: what the worker may still hold can be claimed by others at once."""
    async with transaction(engine) as connection:
        await connection.execute(_END, {"worker": worker})
