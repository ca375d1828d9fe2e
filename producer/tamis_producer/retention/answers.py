"""Answers that the cache has kept for too long: no batch needs them, so they go by their age alone."""

from datetime import timedelta

from sqlalchemy import Connection, Engine, delete, func, select

from tamis_schemas.ledger import llm_cache

from ..ledger import ledger_errors

SLICE = 2_000  # rows


def prune_answers(connection: Connection, age: timedelta) -> int:
    """Delete some of the answers that are older, the oldest first, and say how many; none: there are no more."""
    of = llm_cache.c
    old = select(of.key).where(of.created_at < func.now() - age).order_by(of.created_at).limit(SLICE)
    return connection.execute(delete(llm_cache).where(of.key.in_(old.with_for_update(skip_locked=True)))).rowcount


def prune_all_answers(engine: Engine, age: timedelta) -> int:
    """Delete all answers that are older, in slices, and say how many. Raises `LedgerUnavailable`."""
    total = 0
    while True:
        with ledger_errors(), engine.begin() as connection:
            deleted = prune_answers(connection, age)
        if deleted == 0:
            return total
        total += deleted
