"""Spending: the reserved and actual cost of a batch's calls, in one row per batch.

Reservations are granted under the row's lock, so all workers together never reserve more than the remaining budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import LedgerUnavailable

from .connection import transaction


@dataclass(frozen=True, slots=True)
class BudgetChange:
    """The change of a batch's spending by one call: a reservation before the call, or a settlement after it."""

    batch_id: UUID
    reserve: Decimal = Decimal(0)  # dollars to reserve
    release: Decimal = Decimal(0)  # dollars of an earlier reservation to release
    spend: Decimal = Decimal(0)  # dollars that the call cost


@dataclass(frozen=True, slots=True)
class BudgetState:
    """The reply to one change: whether its reservation was granted, and the batch's spending in dollars afterwards."""

    granted: bool
    max_cost: Decimal
    spent: Decimal
    reserved: Decimal


# Settlements come first, because they free money. Then the batch's reservations are granted in order, until one does
# not fit.
_CHANGE = text("""
WITH given AS (
    SELECT * FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:reserve AS numeric[]), CAST(:release AS numeric[]),
                         CAST(:spend AS numeric[])) WITH ORDINALITY AS g(batch_id, reserve, release, spend, n)
), asked AS (
    SELECT batch_id, n, reserve, sum(reserve) OVER (PARTITION BY batch_id ORDER BY n) AS upto FROM given
), settled AS (
    SELECT batch_id, sum(release) AS release, sum(spend) AS spend FROM given GROUP BY batch_id
), held AS (
    SELECT s.batch_id, s.reserved, s.spent, b.max_cost
    FROM spending s JOIN batches b ON b.id = s.batch_id
    WHERE s.batch_id = ANY(CAST(:batch_ids AS uuid[]))
    ORDER BY s.batch_id FOR UPDATE OF s
), granted AS (
    SELECT asked.batch_id, max(asked.n) AS last, max(asked.upto) AS reserve
    FROM asked JOIN held USING (batch_id) JOIN settled USING (batch_id)
    WHERE held.spent + settled.spend + greatest(held.reserved - settled.release, 0) + asked.upto
          <= coalesce(held.max_cost, 'infinity')
    GROUP BY asked.batch_id
), changed AS (
    UPDATE spending s
    SET spent = held.spent + settled.spend,
        reserved = greatest(held.reserved - settled.release, 0) + coalesce(granted.reserve, 0)
    FROM held JOIN settled USING (batch_id) LEFT JOIN granted USING (batch_id)
    WHERE s.batch_id = held.batch_id
    RETURNING s.batch_id, s.spent, s.reserved, held.max_cost, coalesce(granted.last, 0) AS last
)
SELECT changed.*, pg_current_xact_id()::text AS transaction FROM changed
""")

_ENDED = text("SELECT pg_xact_status(CAST(:transaction AS xid8))")


class Spending:
    """The writer of changes to batches' spending. Each change is written exactly once.

    If the reply to a commit is lost, the next call first asks the ledger whether the commit succeeded.

    Write one group of changes at a time. After `LedgerUnavailable`, the next call must pass the same group again.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        # The transaction and the states of a group whose reply to the commit is missing.
        self._doubt: tuple[str, Sequence[BudgetState]] | None = None

    async def change(self, changes: Sequence[BudgetChange]) -> Sequence[BudgetState]:
        """Write a group of changes, and return, in their order, the state of each change's batch after the group.

        Raise `LedgerUnavailable` if Postgres does not answer.
        """
        if self._doubt is not None:
            name, written = self._doubt
            ended = await self._ended(name)
            if ended == "in progress":
                raise LedgerUnavailable("a commit of spending has not ended yet")
            self._doubt = None
            if ended == "committed":
                return written
        async with transaction(self._engine) as connection:
            rows = await connection.execute(
                _CHANGE,
                {
                    "batch_ids": [change.batch_id for change in changes],
                    "reserve": [change.reserve for change in changes],
                    "release": [change.release for change in changes],
                    "spend": [change.spend for change in changes],
                },
            )
            by_batch = {row.batch_id: row for row in rows}
            states = [_state(number, by_batch[change.batch_id]) for number, change in enumerate(changes, 1)]
            # From here to the end of the block the transaction may be committed without a reply.
            self._doubt = (next(iter(by_batch.values())).transaction, states)
        self._doubt = None
        return states

    async def _ended(self, name: str) -> str:
        async with transaction(self._engine) as connection:
            return str((await connection.execute(_ENDED, {"transaction": name})).scalar_one())


def _state(number: int, row: Row[tuple[object, ...]]) -> BudgetState:
    most = Decimal("Infinity") if row.max_cost is None else row.max_cost
    return BudgetState(granted=number <= row.last, max_cost=most, spent=row.spent, reserved=row.reserved)
