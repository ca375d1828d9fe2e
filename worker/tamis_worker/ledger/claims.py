"""Claims: a worker's right to evaluate an item.

Each claim raises the item's fence number. The ledger accepts a result only with the current number. A claim is valid
while its worker's lease is valid, so one heartbeat per worker keeps all its claims alive.

`HeldClaims` is the set of items that a process is evaluating. Claiming, evaluation and the lease all use this set.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas import LedgerUnavailable

from .connection import transaction


class ItemKey(NamedTuple):
    """The key of an item in the ledger: its batch's id, and its index in the batch."""

    batch_id: UUID
    index: int  # type: ignore[assignment]  # hides the method of tuples, which a key does not need


@dataclass(frozen=True)
class Claim:
    """A granted claim (the right to evaluate an item), with the data for the evaluation."""

    key: ItemKey
    fence: int
    item_id: str
    payload: dict[str, Any]
    round: int = 1  # the present round of the batch

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a JSON row that identify the claim: batch id, index and fence number."""
        return {"batch_id": str(self.key.batch_id), "idx": self.key.index, "fence": self.fence}


@dataclass(frozen=True)
class ClaimRefusal:
    """The refusal of a claim: the item is finished, another claim on it is valid, or its batch is not running."""

    cancelled: bool  # True: the item is cancelled; False: any other reason


# Claimable are pending items, and items of a worker with an expired lease if this worker may judge others (`recovery`).
# Rows that another transaction is writing are skipped: that transaction decides. Items of paused or cancelled batches
# are not claimed. A claim taken over from a dead worker is counted, because the dead worker may have paid for a call.
# The reconciler, not this statement, limits the claims of an item.
_CLAIM = text("""
WITH wanted AS (
    SELECT i.batch_id, i.idx, b.round, i.state = 'running' AND i.worker = :worker AND w.doubted AS again,
           i.state = 'running' AS held
    FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[]), CAST(:doubted AS bool[]))
         AS w(batch_id, idx, doubted)
    JOIN item_states i USING (batch_id, idx)
    JOIN batches b ON b.id = i.batch_id AND b.state = 'running'
    WHERE (i.state = 'running' AND i.worker = :worker AND w.doubted)
        OR i.state = 'pending'
        OR (i.state = 'running' AND NOT EXISTS (
              SELECT FROM workers k
              WHERE k.id = i.worker AND (k.lease_until > now() OR NOT EXISTS (
                  SELECT FROM workers me
                  WHERE me.id = :worker AND now() BETWEEN me.judges_from AND me.judges_until))))
    ORDER BY i.batch_id, i.idx
    FOR UPDATE OF i SKIP LOCKED
)
UPDATE item_states i
SET state = 'running', fence = i.fence + 1,
    attempts = i.attempts + CASE WHEN wanted.again THEN 0 ELSE 1 END,
    lost_claims = i.lost_claims + CASE WHEN wanted.held AND NOT wanted.again THEN 1 ELSE 0 END,
    worker = :worker, claimed_at = now()
FROM wanted JOIN payloads p USING (batch_id, idx)
WHERE i.batch_id = wanted.batch_id AND i.idx = wanted.idx
RETURNING i.batch_id, i.idx, i.fence, i.item_id, p.payload, wanted.round
""")


async def claim(
    engine: AsyncEngine,
    keys: Sequence[ItemKey],
    *,
    worker: str,
    in_doubt: Collection[ItemKey] = (),
) -> Sequence[Claim | None]:
    """Claim these items, and return the claims in the order of the keys; None for a refused claim.

    A claim is refused if the item is finished, another claim on it is valid, or its batch is not running. A repeated
    key gets only one claim. `in_doubt`: keys whose last claim got no reply. If the ledger had granted that claim to
    this worker, the ledger grants a new one. Raise `LedgerUnavailable` if Postgres does not answer.
    """
    async with transaction(engine) as connection:
        rows = await connection.execute(
            _CLAIM,
            item_arrays(keys) | {"doubted": [key in in_doubt for key in keys], "worker": worker},
        )
        granted = {
            (key := ItemKey(row.batch_id, row.idx)): Claim(key, row.fence, row.item_id, row.payload, row.round)
            for row in rows
        }
    return [granted.pop(key, None) for key in keys]


_ASKED = """
SELECT i.batch_id, i.idx
FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[])) AS asked(batch_id, idx)
JOIN item_states i USING (batch_id, idx)
"""
_LOST = text(f"{_ASKED} WHERE i.state <> 'running' OR i.worker IS DISTINCT FROM :worker")
_CANCELLED = text(f"{_ASKED} WHERE i.state = 'cancelled'")


async def lost(engine: AsyncEngine, keys: Collection[ItemKey], *, worker: str) -> Collection[ItemKey]:
    """Return the items among `keys` that are no longer claimed for this worker.

    Raise `LedgerUnavailable` if Postgres does not answer.
    """
    async with transaction(engine) as connection:
        return list(item_keys(await connection.execute(_LOST, item_arrays(keys) | {"worker": worker})))


async def cancelled(engine: AsyncEngine, keys: Collection[ItemKey]) -> Collection[ItemKey]:
    """Return the items among `keys` that are cancelled. Raise `LedgerUnavailable` if Postgres does not answer."""
    if not keys:
        return ()
    async with transaction(engine) as connection:
        return item_keys(await connection.execute(_CANCELLED, item_arrays(keys)))


def item_arrays(keys: Collection[ItemKey]) -> dict[str, object]:
    """Return two parameters of an SQL statement: an array of the items' batch ids, and an array of their indexes."""
    return {"batch_ids": [key.batch_id for key in keys], "indexes": [key.index for key in keys]}


def item_keys(rows: Iterable[Row[Any]]) -> set[ItemKey]:
    """Return the keys of the items in these rows. Every row must have the columns `batch_id` and `idx`."""
    return {ItemKey(row.batch_id, row.idx) for row in rows}


class HeldClaims(set[ItemKey]):
    """The claimed items that this process is evaluating. Use the set only on the worker's event loop."""

    @contextmanager
    def hold(self, key: ItemKey) -> Iterator[None]:
        """Keep an item in the set until the `with` block, which evaluates the item, ends."""
        self.add(key)
        try:
            yield
        finally:
            self.discard(key)


# The claims that the ledger lists for a worker. Claimed items are always in open shards.
_MINE = text("""
SELECT i.batch_id, i.idx, i.fence
FROM shards s JOIN batches b ON b.id = s.batch_id AND b.round = s.round
JOIN item_states i ON i.batch_id = s.batch_id AND i.idx >= s.first_idx AND i.idx < s.end_idx
WHERE s.state <> 'aggregated' AND s.dispatched_at IS NOT NULL AND i.state = 'running' AND i.worker = :worker
""")
_DISOWN = text("""
UPDATE item_states i SET worker = NULL
FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[]), CAST(:fences AS int[])) AS r(batch_id, idx, fence)
WHERE i.batch_id = r.batch_id AND i.idx = r.idx AND i.fence = r.fence AND i.state = 'running' AND i.worker = :worker
RETURNING i.batch_id, i.idx
""")


@dataclass(eq=False)
class Claims:
    """The claims of one worker.

    If the reply to `claim` is lost, the ledger may have granted the claims. A second call with the same keys gets them.
    If the ledger went back in time (a failover, a restored dump), the ledger may list claims that have ended.
    `disown_unheld` removes this worker from such claims. Otherwise no other worker could take over these items while
    this worker is alive.

    `held`: the items that the worker is evaluating.
    """

    engine: AsyncEngine
    _: KW_ONLY
    worker: str
    held: Container[ItemKey]
    _in_doubt: set[ItemKey] = field(init=False, default_factory=set)
    _unheld: Mapping[ItemKey, int] = field(init=False, default_factory=dict)  # with the fence number of the claim

    async def claim(self, keys: Sequence[ItemKey]) -> Sequence[Claim | ClaimRefusal]:
        """Claim these items, and return, in the order of the keys, a claim or a refusal for each item.

        If Postgres does not answer, the method raises `LedgerUnavailable`. Then call it again with the same keys.
        """
        try:
            granted = await claim(
                self.engine,
                keys,
                worker=self.worker,
                in_doubt={key for key in self._in_doubt if key not in self.held},
            )
            gone = await cancelled(self.engine, [key for key, new in zip(keys, granted, strict=True) if new is None])
        except LedgerUnavailable:
            self._in_doubt.update(keys)
            raise
        self._in_doubt.difference_update(keys)
        return [new or ClaimRefusal(key in gone) for key, new in zip(keys, granted, strict=True)]

    async def disown_unheld(self) -> int:
        """Remove this worker from claims that the ledger lists for it, but that it does not hold. Return their number.

        The reconciler treats such a claim like a claim of a dead worker. A claim is removed only if two successive
        calls find that it is not held: the ledger may grant a claim a moment before this worker learns of the claim.
        Raise `LedgerUnavailable` if Postgres does not answer.
        """
        async with transaction(self.engine) as connection:
            rows = (await connection.execute(_MINE, {"worker": self.worker})).all()
        fences = {ItemKey(row.batch_id, row.idx): row.fence for row in rows}
        before = self._unheld
        self._unheld = {key: n for key, n in fences.items() if key not in self.held and key not in self._in_doubt}
        again = {key: n for key, n in self._unheld.items() if before.get(key) == n}
        if not again:
            return 0
        async with transaction(self.engine) as connection:
            claims = item_arrays(again) | {"fences": list(again.values()), "worker": self.worker}
            return len((await connection.execute(_DISOWN, claims)).all())
