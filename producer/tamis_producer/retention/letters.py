"""Dead letters that are old: no batch needs them, so they go by their age alone."""

from datetime import timedelta

from sqlalchemy import Connection, delete, func

from tamis_schemas.ledger import dead_letters


def prune_dead_letters(connection: Connection, age: timedelta) -> int:
    """Delete those that are older, which are few, and say how many."""
    return connection.execute(delete(dead_letters).where(dead_letters.c.created_at < func.now() - age)).rowcount
