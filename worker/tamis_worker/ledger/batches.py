"""What every item of a batch shares: its operation and its model. Neither ever changes, so it is read once."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import Operation, parse_operation
from tamis_schemas.ledger import batches

from .connection import transaction

REMEMBERED = 200  # batches


@dataclass(frozen=True)
class BatchTerms:
    """What to ask, and whom."""

    operation: Operation
    model: str | None  # None: the worker's own
    use_cache: bool = True


class TermsOfBatches:
    """Looks terms up by batch and remembers the last ones."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._known: dict[UUID, BatchTerms] = {}

    async def of(self, batch_id: UUID) -> BatchTerms:
        """The terms of a batch that is in the ledger. Raises `LedgerUnavailable`, `InvalidParameters`."""
        if (known := self._known.get(batch_id)) is not None:
            return known
        async with transaction(self._engine) as connection:
            row = (
                await connection.execute(
                    select(batches.c.params, batches.c.model, batches.c.use_cache).where(batches.c.id == batch_id)
                )
            ).one()
        terms = BatchTerms(parse_operation(row.params), row.model, row.use_cache)
        if len(self._known) >= REMEMBERED:
            self._known.pop(next(iter(self._known)))
        self._known[batch_id] = terms
        return terms
