"""Updates: the batches whose searches a later one brings up to date."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, select

from tamis_schemas.ledger import batches, payloads


def earlier_batches(connection: Connection, batch_id: UUID) -> list[UUID]:
    """Return a batch, and before it those that it brings up to date, the latest first; purged ones end the chain."""
    chain: list[UUID] = []
    following: UUID | None = batch_id
    while following is not None and following not in chain:
        row = connection.execute(select(batches.c.id, batches.c.updates).where(batches.c.id == following)).first()
        if row is None:
            break
        chain.append(row.id)
        following = row.updates
    return chain


def read_known_records(connection: Connection, batch_id: UUID) -> Sequence[dict[str, Any]]:
    """Return the records of a batch and of those that it brings up to date, copies too."""
    chain = earlier_batches(connection, batch_id)
    statement = (
        select(payloads.c.payload).where(payloads.c.batch_id.in_(chain)).order_by(payloads.c.batch_id, payloads.c.idx)
    )
    return connection.execute(statement).scalars().all()
